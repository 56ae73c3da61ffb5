"""What became of every update, a line each."""

import json
import threading
from pathlib import Path

import pytest

from sitt_core import journal
from sitt_core.journal import Entry, SourceEntry, entries, freshness, record

PLACES = {"markdown:notes": "markdown:~/notes", "sitemap:moor.example": "sitemap:https://moor.example/sitemap.xml"}


def entry(at: float, *, corpus: str = "notes", outcome: str = "published", **source: object) -> Entry:
    made = SourceEntry(**{"place": PLACES["markdown:notes"], **source})  # type: ignore[arg-type]
    return Entry(corpus, outcome, {"markdown:notes": made}, at=at)  # type: ignore[arg-type]


def test_entries_come_back_as_they_were_newest_first(tmp_path: Path) -> None:
    """Of one corpus or of all, as many as asked for."""
    held = [entry(1.0, counts={"added": 3}), entry(2.0, corpus="other"), entry(3.0, failures=(("a.md", "404 — ошибка"),))]
    for each in held:
        record(tmp_path, each)
    assert entries(tmp_path) == held[::-1]
    assert [each.at for each in entries(tmp_path, "notes")] == [3.0, 1.0]
    assert len(entries(tmp_path, most=1)) == 1


def test_what_is_damaged_is_passed_over(tmp_path: Path) -> None:
    """Half a line, other JSON, an outcome of a later version: the others are read, and the next line is whole."""
    record(tmp_path, entry(1.0))
    with (tmp_path / journal.FILE).open("a", encoding="utf-8") as file:
        file.write(
            '[]\n{"corpus": 1}\n' + json.dumps({"corpus": "notes", "outcome": "other", "sources": {}, "at": 1}) + '\n{"corpus": "no\n'
        )
    record(tmp_path, entry(2.0))
    assert [each.at for each in entries(tmp_path)] == [2.0, 1.0]
    assert entries(tmp_path / "nowhere") == []


@pytest.mark.parametrize(
    "line",
    ["[]", "5", "[" * 100_000, json.dumps({"at": 10**400}), '{"corpus": "no'],
    ids=["a list", "a number", "endless", "too large a number", "half a line"],
)
def test_a_line_that_cannot_be_read_costs_no_other(tmp_path: Path, line: str) -> None:
    """Also one that a full disk has cut: the next begins on a line of its own. A renamed corpus keeps what can be read."""
    record(tmp_path, entry(1.0))
    with (tmp_path / journal.FILE).open("a", encoding="utf-8") as file:
        file.write(line)
    record(tmp_path, entry(2.0))
    journal.rename(tmp_path, "notes", "animals")
    assert [each.at for each in entries(tmp_path, "animals")] == [2.0, 1.0]


@pytest.mark.parametrize("spoilt", [{"at": float("inf")}, {"seconds": float("nan")}, {"recall": ["x"]}, {"exit_code": []}, {"at": 10**400}])
def test_a_value_that_no_page_could_show_is_passed_over(tmp_path: Path, spoilt: dict[str, object]) -> None:
    record(tmp_path, entry(1.0))
    (line,) = (tmp_path / journal.FILE).read_text(encoding="utf-8").splitlines()
    with (tmp_path / journal.FILE).open("a", encoding="utf-8") as file:
        file.write(json.dumps({**json.loads(line), **spoilt}) + "\n")
    assert [each.at for each in entries(tmp_path)] == [1.0]


def test_it_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At twice as many lines as are kept, the older half goes."""
    monkeypatch.setattr(journal, "KEPT", 5)
    for number in range(10):
        record(tmp_path, entry(float(number + 1)))
    assert [each.at for each in entries(tmp_path)] == [10.0, 9.0, 8.0, 7.0, 6.0]


def test_many_writers_lose_no_line(tmp_path: Path) -> None:
    """Four threads, twenty lines each."""
    threads = [
        threading.Thread(target=lambda at=at: [record(tmp_path, entry(at * 100.0 + number + 1)) for number in range(20)]) for at in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({each.at for each in entries(tmp_path, most=1000)}) == 80


def test_what_cannot_be_written_is_let_go(tmp_path: Path) -> None:
    """The update itself has ended by then."""
    (tmp_path / "file").write_text("")
    record(tmp_path / "file", entry(1.0))


def test_a_renamed_corpus_keeps_its_history(tmp_path: Path) -> None:
    record(tmp_path, entry(1.0))
    record(tmp_path, entry(2.0, corpus="other"))
    journal.rename(tmp_path, "notes", "animals")
    assert [each.at for each in entries(tmp_path, "animals")] == [1.0]
    assert [each.at for each in entries(tmp_path, "other")] == [2.0]
    journal.rename(tmp_path / "nowhere", "a", "b")


class TestFreshness:
    def test_of_a_source_that_was_read_whole_before_it_failed(self, tmp_path: Path) -> None:
        """Read at 1, tried at 3 with failures; one never read has nothing."""
        record(tmp_path, entry(1.0))
        record(tmp_path, entry(2.0, outcome="failed", problem="no answer"))
        record(tmp_path, entry(3.0, failures=(("a.md", "404"),)))
        told = freshness(tmp_path, "notes", PLACES)
        assert told["markdown:notes"] == journal.Freshness(1.0, 3.0, (("a.md", "404"),), "")
        assert told["sitemap:moor.example"] == journal.Freshness()

    def test_of_a_source_that_could_not_be_read(self, tmp_path: Path) -> None:
        """Its entry stands under its place, for its origin was not learnt; nothing that was withheld counts as read."""
        record(tmp_path, entry(1.0, withheld="the source named 3 documents"))
        place = PLACES["sitemap:moor.example"]
        record(tmp_path, Entry("notes", "published", {place: SourceEntry(place, problem="no answer")}, at=2.0))
        told = freshness(tmp_path, "notes", PLACES)
        assert told["markdown:notes"] == journal.Freshness(0.0, 1.0, (), "the source named 3 documents")
        assert told["sitemap:moor.example"] == journal.Freshness(0.0, 2.0, (), "no answer")

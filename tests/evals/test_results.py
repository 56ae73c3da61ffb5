"""A run on disk: rows that survive a kill, read the same while they come and afterwards."""

import csv
import json
import math
import resource
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals import results
from evals.results import (
    END,
    MANIFEST,
    QUESTIONS,
    ROWS,
    TABLE,
    Asked,
    Entry,
    Manifest,
    Run,
    Writer,
    columns,
    count,
    create,
    delete,
    errors,
    export_csv,
    has_rows,
    matrices,
    matrix,
    new_id,
    open_run,
    rename,
    rows,
    runs,
    writing,
)
from sitt_core.configuration import Configuration, configure
from sitt_core.errors import Busy, InvalidInput, NotFound, StoreError

IDS = ("20260101-000000-0000", "20260102-000000-0000", "20260102-000000-1111")
METRICS = ("recall@5", "recall@1000t", "recall@top_k", "evidence-mrr")
CONFIGURATIONS = (configure({"top_k": 3}), configure({"keyword": "off"}))
ENTRIES = tuple(Entry(each.key, each.slug, each.to_dict()) for each in CONFIGURATIONS)
ASKED = (
    Asked("q1", "Where is it?", "detail", "loch.md", ("loch.md",)),
    Asked("q2", "Who saw it?", "thematic", "loch.md", ("loch.md", "nfd.md"), stale="stale evidence: 'x' is not in loch.md"),
    Asked("q3", "What of a kettle?", "unanswerable", "q3", (), ("loch.md",)),
)
FIRST, SECOND = (entry.key for entry in ENTRIES)
NAN = math.nan


def a_manifest(id_: str = IDS[0], **others: Any) -> Manifest:
    held = {"name": "n", "started": 1.5, "corpus": "c", "corpus_sha256": "ab", "golden": "g", "golden_place": "field-guide"}
    return Manifest(**{"id": id_, **held, "golden_sha256": "cd", "metrics": METRICS, "configurations": ENTRIES, **others})


def a_run(folder: Path, id_: str = IDS[0], questions: tuple[Asked, ...] = ASKED, **others: Any) -> Run:
    return create(folder, a_manifest(id_, **others), questions)


def a_row(c: int, q: int, **others: Any) -> dict[str, Any]:
    return {"c": c, "q": q, "recall@5": 1.0, "why": {}, "error": "", "found": [["loch.md", 0, 9, 0.5]], **others}


ALL = [
    a_row(0, 0, **{"evidence-mrr": 0.5, "rank_dense": 3, "rank_shown": 1, "ms_total": 12.5, "lost_at": ""}),
    a_row(0, 1, **{"recall@5": 0, "recall@1000t": 1 / 3, "why": {"evidence-mrr": "stale evidence"}, "lost_at": "fusion"}),
    a_row(0, 2, **{"recall@5": None, "why": dict.fromkeys(METRICS, "no answer"), "answer": {"text": "The corpus does not say."}}),
    a_row(1, 0, **{"recall@top_k": 1.0, "evidence_rank": 7, "found": []}),
    {"c": 1, "q": 1, "error": "expected a question of at most 4,000 characters; got 5,000"},
    a_row(1, 2, **{"recall@5": None, "rank_dense": None}),
]
"""Every row of a run of three questions and two configurations."""


@contextmanager
def a_writer(run: Run) -> Iterator[Writer]:
    """A writer that ends as a kill ends it, unless it is closed."""
    writer = Writer(run)
    with closing(writer._file):
        yield writer


def filled(run: Run, *these: Mapping[str, Any], failures: Mapping[str, str] | None = None, closed: bool = True) -> Run:
    """The run with these rows, closed or as a killed process leaves it."""
    with a_writer(run) as writer:
        for row in these:
            writer.append(row)
        if closed:
            writer.close(failures=failures or {})
    return open_run(run.folder.parent, run.manifest.id)


def finished(run: Run) -> set[tuple[int, int]]:
    with a_writer(run) as writer:
        return writer.finished


@contextmanager
def held_elsewhere(run: Run) -> Iterator[None]:
    """The run's lock, held by another thread."""
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        with writing(run):
            taken.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert taken.wait(10)
        yield
    finally:
        done.set()
        thread.join()


def lines(run: Run) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run.folder / ROWS).read_text(encoding="utf-8").splitlines()]


def places(found: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [(row["c"], row["q"]) for row in found]


class TestKeeping:
    def test_what_is_created_is_opened(self, tmp_path: Path) -> None:
        """Manifest and questions come back as they were, the folder of runs is made, and nothing has been found yet."""
        manifest = a_manifest(
            skipped=("top_k=99: …",), baseline=FIRST, seed=7, code="ef", versions={"duckdb": "1.5"}, notes=("Storsj\u00f6n\u2028'",)
        )
        made = create(tmp_path / "data" / "runs", manifest, ASKED)
        assert made == Run(tmp_path / "data" / "runs" / IDS[0], manifest, ASKED, "stopped", {}, 0.0)
        assert open_run(tmp_path / "data" / "runs", IDS[0]) == made
        assert [entry.configuration for entry in made.manifest.configurations] == list(CONFIGURATIONS)
        assert (made.wanted, has_rows(made), count(made), rows(made), errors(made)) == (6, False, 0, [], {})
        assert np.isnan(matrix(made, "recall@5")).all()

    def test_a_configuration_of_another_version_is_named(self) -> None:
        """It is read only when it is asked for, so that the run's figures can still be."""
        with pytest.raises(InvalidInput, match="'flux'"):
            _ = Entry("ab", "s", {"flux": 1}).configuration

    def test_a_run_is_made_once(self, tmp_path: Path) -> None:
        """Another of the same id is refused and leaves the first alone."""
        first = a_run(tmp_path)
        with pytest.raises(StoreError, match=f"to write the run {IDS[0]}"):
            a_run(tmp_path, name="another")
        assert open_run(tmp_path, IDS[0]) == first

    def test_a_folder_that_cannot_be_made_is_a_named_error(self, tmp_path: Path) -> None:
        """Where a file stands in the way."""
        (tmp_path / "runs").write_text("a file")
        with pytest.raises(StoreError, match="Check the free space and the permissions"):
            a_run(tmp_path / "runs")

    def test_half_a_creation_is_no_run(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """On a full disk there is a named error, and what is left is not listed."""

        def full(path: Path, *_: object, **__: object) -> None:
            path.touch()
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as broken:
            broken.setattr(Path, "write_text", full)
            with pytest.raises(StoreError, match="No space left"):
                a_run(tmp_path)
        assert runs(tmp_path) == []

    @pytest.mark.parametrize(
        ("asked_for", "found"),
        [
            pytest.param(IDS[1], IDS[1], id="its id"),
            pytest.param("20260101", IDS[0], id="what only one begins with"),
            pytest.param("20260102-000000-1", IDS[2], id="all but three digits"),
            pytest.param("latest", IDS[2], id="latest"),
        ],
    )
    def test_a_run_is_opened(self, tmp_path: Path, asked_for: str, found: str) -> None:
        """By its id, by what only it begins with, or as the latest."""
        for id_ in IDS:
            a_run(tmp_path, id_)
        assert open_run(tmp_path, asked_for).manifest.id == found

    @pytest.mark.parametrize("asked_for", ["20260103", "", "000000", "../runs", "*", "LATEST", IDS[0] + "0"], ids=repr)
    def test_a_run_that_is_not_there_is_named(self, tmp_path: Path, asked_for: str) -> None:
        """With how to list those that are; nothing but the beginning of an id stands for one."""
        a_run(tmp_path)
        with pytest.raises(NotFound, match="python -m evals runs") as caught:
            open_run(tmp_path, asked_for)
        assert caught.value.got == repr(asked_for)

    @pytest.mark.parametrize("asked_for", ["2026", "20260102-000000-"])
    def test_what_several_begin_with_is_named(self, tmp_path: Path, asked_for: str) -> None:
        """With how many they are."""
        for id_ in IDS:
            a_run(tmp_path, id_)
        count_ = sum(id_.startswith(asked_for) for id_ in IDS)
        with pytest.raises(InvalidInput, match=f"'{asked_for}', with which {count_} begin"):
            open_run(tmp_path, asked_for)

    @pytest.mark.parametrize("folder", ["", "none"], ids=["empty", "not there"])
    def test_there_may_be_no_run(self, tmp_path: Path, folder: str) -> None:
        """Nothing is listed, and the latest is not there."""
        assert runs(tmp_path / folder) == []
        with pytest.raises(NotFound, match="'latest'"):
            open_run(tmp_path / folder, "latest")

    def test_runs_are_listed_the_newest_first(self, tmp_path: Path) -> None:
        """Whatever the order they were made in; other folders and files are passed over."""
        for id_ in (IDS[1], IDS[2], IDS[0]):
            a_run(tmp_path, id_)
        for stranger in ("notes", f"{IDS[0]}-copy", "20260103-000000-zzzz", "20260104-000000-0000"):
            (tmp_path / stranger).mkdir()
        for stranger in ("notes", f"{IDS[0]}-copy", "20260103-000000-zzzz"):
            (tmp_path / stranger / MANIFEST).write_text((tmp_path / IDS[0] / MANIFEST).read_text())
        (tmp_path / "20260105-000000-0000").write_text("a file")
        assert [run.manifest.id for run in runs(tmp_path)] == list(reversed(IDS))

    @pytest.mark.parametrize(
        ("name", "held"),
        [
            *((name, held) for name in (MANIFEST, QUESTIONS) for held in ("", "{", "null", "7", '"x"', "[7]")),
            *((END, held) for held in ("{", "null", "7", '"x"', '{"done": true, "seconds": "x"}')),
        ],
        ids=repr,
    )
    def test_a_damaged_run_names_itself_and_hides_no_other(self, tmp_path: Path, name: str, held: str) -> None:
        """Opened it is a named error, and in the list it is passed over."""
        for id_ in IDS[:2]:
            a_run(tmp_path, id_)
        (tmp_path / IDS[1] / name).write_text(held)
        with pytest.raises(StoreError, match=f"run {IDS[1]} to be readable"):
            open_run(tmp_path, IDS[1])
        assert [run.manifest.id for run in runs(tmp_path)] == [IDS[0]]

    @pytest.mark.parametrize(
        "change", [lambda held: held.pop("corpus"), lambda held: held.update(flux=1)], ids=["lacks a field", "has one more"]
    )
    def test_a_run_of_another_version_names_itself(self, tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> None:
        """A manifest with other fields is not guessed at."""
        path = a_run(tmp_path).folder / MANIFEST
        held = json.loads(path.read_text())
        change(held)
        path.write_text(json.dumps(held))
        with pytest.raises(StoreError, match=f"run {IDS[0]} to be readable"):
            open_run(tmp_path, IDS[0])

    def test_a_run_that_cannot_be_read_names_itself(self, tmp_path: Path) -> None:
        """A folder where the manifest should be, or no questions."""
        for id_, name in zip(IDS, (MANIFEST, QUESTIONS), strict=False):
            run = a_run(tmp_path, id_)
            (run.folder / name).unlink()
            if name == MANIFEST:
                (run.folder / name).mkdir()
            with pytest.raises(StoreError, match=f"run {id_} to be readable"):
                open_run(tmp_path, id_)

    @pytest.mark.parametrize(
        ("name", "kept"), [(" better ", "better"), ("", ""), ("x" * 300, "x" * 200), ("Storsj\u00f6n\u2028'\"", "Storsj\u00f6n\u2028'\"")]
    )
    def test_a_run_is_renamed(self, tmp_path: Path, name: str, kept: str) -> None:
        """Nothing else of it changes, and its rows stay."""
        before = filled(a_run(tmp_path), *ALL[:2])
        rename(tmp_path, "latest", name)
        after = open_run(tmp_path, IDS[0])
        assert after == replace(before, manifest=replace(before.manifest, name=kept))
        assert places(rows(after)) == [(0, 0), (0, 1)]
        assert list(after.folder.glob("*.part")) == []

    @pytest.mark.parametrize("broken", ["rename", "delete"])
    def test_what_cannot_be_changed_is_a_named_error(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
        """A disk that is full, or a folder that may not be written."""
        a_run(tmp_path)

        def refused(*_: object, **__: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "write_text", refused)
        monkeypatch.setattr(shutil, "rmtree", refused)
        with pytest.raises(StoreError, match="Permission denied"):
            rename(tmp_path, IDS[0], "x") if broken == "rename" else delete(tmp_path, IDS[0])

    @pytest.mark.parametrize("what", ["question", "name"])
    def test_a_text_that_no_encoding_holds_is_kept(self, tmp_path: Path, what: str) -> None:
        """A question with a lone surrogate is asked and fails by name; the run that holds it can be made."""
        run = a_run(tmp_path, questions=(replace(ASKED[0], text="\ud800" if what == "question" else "Who?"), *ASKED[1:]))
        if what == "name":
            rename(tmp_path, IDS[0], "\udc80")
        assert "\ud800" in open_run(tmp_path, IDS[0]).questions[0].text or open_run(tmp_path, run.manifest.id).manifest.name == "\udc80"

    def test_a_run_is_deleted(self, tmp_path: Path) -> None:
        """With all that is in its folder; the others stay, and it is not there any more."""
        for id_ in IDS:
            filled(a_run(tmp_path, id_), *ALL)
        delete(tmp_path, IDS[1])
        assert [run.manifest.id for run in runs(tmp_path)] == [IDS[2], IDS[0]]
        assert sorted(path.name for path in tmp_path.iterdir()) == [IDS[0], IDS[2]]
        for action in (lambda: delete(tmp_path, IDS[1]), lambda: rename(tmp_path, IDS[1], "x")):
            with pytest.raises(NotFound):
                action()

    def test_a_configuration_is_found_by_its_key(self, tmp_path: Path) -> None:
        """Or by what only its key begins with; else there is an error that names every key."""
        run = a_run(tmp_path)
        assert [run.place_of(key) for key in (FIRST, SECOND, FIRST[:6])] == [0, 1, 0]
        with pytest.raises(NotFound, match=f"'zz'.*{FIRST}.*{SECOND}"):
            run.place_of("zz")
        with pytest.raises(InvalidInput, match=f"'', with which 2 begin.*{FIRST}.*{SECOND}"):
            run.place_of("")

    def test_ids_sort_by_the_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An id is a time and four hex digits; a later second sorts later."""
        made = []
        for second in ("20260101-235959", "20260102-000000"):
            with monkeypatch.context() as clock:
                clock.setattr(
                    results,
                    "time",
                    SimpleNamespace(
                        strftime=lambda *_, second=second: second, time=lambda: 0.5, gmtime=lambda _: None, localtime=lambda _: None
                    ),
                )
                made.append(new_id())
        assert made == sorted(made)
        assert all(results._ID.fullmatch(id_) for id_ in (*made, new_id()))

    def test_ids_of_one_second_sort_too(self) -> None:
        """So that the latest run is the one that began last."""
        ids = []
        for _ in range(30):
            ids.append(new_id())
            sum(range(20_000))  # a fraction of a millisecond
        assert ids == sorted(ids)


class TestWriting:
    def test_rows_are_appended(self, tmp_path: Path) -> None:
        """Each is whole in the file, a line of its own, before the next begins."""
        run = a_run(tmp_path)
        with a_writer(run) as writer:
            assert writer.finished == set()
            for number, row in enumerate(ALL, start=1):
                writer.append(row)
                assert lines(run) == ALL[:number]
        assert finished(run) == {(c, q) for c in range(2) for q in range(3)}

    def test_what_is_finished_is_not_lost(self, tmp_path: Path) -> None:
        """Another writer goes on behind the rows of the first."""
        run = filled(a_run(tmp_path), *ALL[:2], closed=False)
        with a_writer(run) as writer:
            assert writer.finished == {(0, 0), (0, 1)}
            writer.append(ALL[3])
        assert lines(run) == [ALL[0], ALL[1], ALL[3]]

    def test_a_torn_line_is_cut_off_and_written_again(self, tmp_path: Path) -> None:
        """Wherever a kill tore it, within a character too; the rows before it stay as they are."""
        run = filled(a_run(tmp_path), ALL[0], closed=False)
        path = run.folder / ROWS
        whole = path.read_bytes()
        torn = json.dumps(row := a_row(1, 1, error="Storsj\u00f6n"), ensure_ascii=False).encode()
        for at in range(1, len(torn) + 1):
            path.write_bytes(whole + torn[:at])
            assert finished(run) == {(0, 0)}
            assert path.read_bytes() == whole
        assert lines(filled(run, row, closed=False)) == [ALL[0], row]

    @pytest.mark.parametrize("line", [b"\0\0\0\0", b"", b'{"c":0,', b"[]", b"7", b"{}"], ids=repr)
    def test_what_is_no_row_is_cut_off_too(self, tmp_path: Path, line: bytes) -> None:
        """What a power failure leaves behind, with all that follows it: the rows are made again."""
        run = filled(a_run(tmp_path), ALL[0], closed=False)
        path = run.folder / ROWS
        whole = path.read_bytes()
        path.write_bytes(whole + line + b"\n" + whole)
        assert finished(run) == {(0, 0)}
        assert path.read_bytes() == whole

    @pytest.mark.parametrize("value", [NAN, math.inf, -math.inf])
    def test_what_is_no_number_is_refused(self, tmp_path: Path, value: float) -> None:
        """A metric is a number or null; the file stays as it is."""
        run = a_run(tmp_path)
        with a_writer(run) as writer:
            writer.append(ALL[0])
            with pytest.raises(ValueError, match="not JSON compliant"):
                writer.append(a_row(0, 1, **{"recall@5": value}))
            writer.append(ALL[1])
        assert lines(run) == ALL[:2]

    def test_a_full_disk_is_a_named_error(self, tmp_path: Path) -> None:
        """For a row, and for the end."""
        run = a_run(tmp_path)
        writer = Writer(run)

        class Full:
            def write(self, _: str) -> None:
                raise OSError(28, "No space left on device")

            close = flush = lambda self: self.write("")

        writer._file.close()
        writer._file = Full()  # type: ignore[assignment]
        with pytest.raises(StoreError, match="No space left"):
            writer.append(ALL[0])
        with pytest.raises(StoreError, match="No space left"):
            writer.close(failures={})
        assert open_run(tmp_path, IDS[0]).state == "stopped"

    def test_rows_that_cannot_be_opened_are_a_named_error(self, tmp_path: Path) -> None:
        """A folder where the file should be."""
        run = a_run(tmp_path)
        (run.folder / ROWS).mkdir()
        with pytest.raises(StoreError, match=f"to write the run {IDS[0]}"):
            Writer(run)


class TestEnding:
    def test_a_whole_run_becomes_one_file(self, tmp_path: Path) -> None:
        """Done, with its rows in order; nothing half written is left beside it."""
        run = filled(a_run(tmp_path), *reversed(ALL))
        assert run.state == "done"
        assert (run.folder / TABLE).is_file()
        assert places(rows(run)) == places(ALL)
        assert list(run.folder.glob("*.part")) == []

    @pytest.mark.parametrize("missing", range(6))
    def test_without_one_row_it_is_not_whole(self, tmp_path: Path, missing: int) -> None:
        """Stopped, and the rows stay lines until the one that lacks is there."""
        run = filled(a_run(tmp_path), *(row for row in ALL if row is not ALL[missing]))
        assert (run.state, (run.folder / TABLE).exists(), count(run)) == ("stopped", False, 5)
        run = filled(run, ALL[missing])
        assert (run.state, (run.folder / TABLE).exists(), count(run)) == ("done", True, 6)

    def test_a_row_that_is_torn_is_not_there(self, tmp_path: Path) -> None:
        """Closing looks at the file, not at what was meant to be written."""
        run = a_run(tmp_path)
        writer = Writer(run)
        for row in ALL:
            writer.append(row)
        with (run.folder / ROWS).open("r+b") as file:
            file.truncate((run.folder / ROWS).stat().st_size - 1)
        writer.close(failures={})
        assert open_run(tmp_path, IDS[0]).state == "stopped"
        assert places(lines(run)) == places(ALL[:5])

    def test_a_failed_configuration_is_not_waited_for(self, tmp_path: Path) -> None:
        """A run is whole without its rows; the reason stays with the run."""
        run = filled(a_run(tmp_path), *ALL[3:], failures={FIRST: "no model"})
        assert (run.state, run.failures, run.wanted, count(run)) == ("done", {FIRST: "no model"}, 3, 3)
        assert np.isnan(matrix(run, "recall@5")[:, 0]).all()

    def test_every_configuration_may_fail(self, tmp_path: Path) -> None:
        """Then the run is done and holds nothing."""
        run = filled(a_run(tmp_path), failures={FIRST: "no model", SECOND: "no key"})
        assert (run.state, run.wanted, count(run), rows(run), errors(run)) == ("done", 0, 0, [], {})
        assert np.isnan(matrix(run, "recall@5")).all()

    def test_rows_of_a_failed_configuration_stand_for_no_other(self, tmp_path: Path) -> None:
        """One that failed half-way leaves rows behind, which do not make up for those that another lacks."""
        run = filled(a_run(tmp_path), *ALL[:1], *ALL[3:5], failures={FIRST: "no model"})
        assert (run.state, (run.folder / TABLE).exists()) == ("stopped", False)

    def test_what_failed_can_be_made_good(self, tmp_path: Path) -> None:
        """When it runs again with success, the rows are all there and nothing has failed."""
        run = filled(a_run(tmp_path), *ALL[3:], failures={FIRST: "no model"})
        run = filled(run, *ALL[:3])
        assert (run.state, run.failures, run.wanted, places(rows(run))) == ("done", {}, 6, places(ALL))

    @pytest.mark.parametrize("closed", [True, False], ids=["stopped", "killed"])
    def test_what_comes_after_the_whole_is_read(self, tmp_path: Path, closed: bool) -> None:
        """A run that was whole without a failed configuration, and goes on with it: the new rows count at once."""
        run = filled(a_run(tmp_path), *ALL[3:], failures={FIRST: "no model"})
        run = filled(run, ALL[0], closed=closed)
        assert places(rows(run)) == [(0, 0), *places(ALL[3:])]

    def test_the_time_of_every_go_counts(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Seconds add up over stops."""
        clock = [100.0]
        monkeypatch.setattr(results, "time", SimpleNamespace(monotonic=lambda: clock[0]))
        run = a_run(tmp_path)
        for spent, these in ((7.0, ALL[:2]), (5.5, ALL[2:])):
            writer = Writer(run)
            for row in these:
                writer.append(row)
            clock[0] += spent
            writer.close(failures={})
            run = open_run(tmp_path, IDS[0])
        assert run.seconds == 12.5

    def test_a_killed_run_is_stopped(self, tmp_path: Path) -> None:
        """Without an end it is neither running nor done, whatever rows it has."""
        run = filled(a_run(tmp_path), *ALL, closed=False)
        assert (run.state, run.seconds, count(run)) == ("stopped", 0.0, 6)


class TestLocking:
    def test_it_runs_while_somebody_writes(self, tmp_path: Path) -> None:
        """Whatever its end said before; afterwards that counts again."""
        run = filled(a_run(tmp_path), *ALL)
        with held_elsewhere(run):
            assert open_run(tmp_path, IDS[0]).state == "running"
            assert [each.state for each in runs(tmp_path)] == ["running"]
        assert open_run(tmp_path, IDS[0]).state == "done"

    def test_a_running_run_is_not_deleted(self, tmp_path: Path) -> None:
        """It is told, and everything stays; its name may change."""
        run = filled(a_run(tmp_path), ALL[0], closed=False)
        with held_elsewhere(run):
            with pytest.raises(Busy, match=f"{IDS[0]}, which is running. Stop it first"):
                delete(tmp_path, IDS[0])
            rename(tmp_path, IDS[0], "meanwhile")
        assert (open_run(tmp_path, IDS[0]).manifest.name, count(run)) == ("meanwhile", 1)
        delete(tmp_path, IDS[0])
        assert list(tmp_path.iterdir()) == []

    def test_a_second_writer_is_told(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It waits a little, then hears of the other; after it the run is free."""
        monkeypatch.setattr(results, "LOCK_SECONDS", 0.0)
        run = a_run(tmp_path)
        with held_elsewhere(run), pytest.raises(Busy, match=f"run {IDS[0]} for itself; got another process"), writing(run):
            pass
        with writing(run):
            assert open_run(tmp_path, IDS[0]).state == "running"

    def test_a_writer_that_fails_lets_go(self, tmp_path: Path) -> None:
        """What went wrong goes on, and the run is stopped."""
        run = a_run(tmp_path)
        with pytest.raises(ZeroDivisionError), writing(run):
            _ = 1 / 0
        assert open_run(tmp_path, IDS[0]).state == "stopped"

    def test_the_lock_of_a_killed_process_is_gone(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It dies with its process: the run is stopped and can go on."""
        monkeypatch.setattr(results, "LOCK_SECONDS", 0.0)
        run = a_run(tmp_path)
        code = "import sys\nfrom filelock import FileLock\nlock = FileLock(sys.argv[1])\nlock.acquire()\nprint('held', flush=True)\nsys.stdin.read()"
        command = [sys.executable, "-c", code, str(run.folder / "running.lock")]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            assert open_run(tmp_path, IDS[0]).state == "running"
            with pytest.raises(Busy), writing(run):
                pass
            process.kill()
        assert open_run(tmp_path, IDS[0]).state == "stopped"
        with writing(run):
            pass

    def test_a_lock_that_cannot_be_made_is_a_named_error(self, tmp_path: Path) -> None:
        """A folder where its file should be."""
        run = a_run(tmp_path)
        (run.folder / "running.lock").mkdir()
        with pytest.raises(StoreError, match=f"to write the run {IDS[0]}"), writing(run):
            pass


HOSTILE = st.text(max_size=12) | st.sampled_from(
    ["\x00", "\u2028", "'", '"', "\\", "\r\n", "null", "{}", "\U0001f47e", "=1+1", "\x1f", "NaN"]
)
VALUES = st.none() | st.integers(0, 1) | st.floats(0, 1)
ANY_ROW = st.fixed_dictionaries(
    {"c": st.integers(0, 1), "q": st.integers(0, 2), **dict.fromkeys(METRICS, VALUES)},
    optional={
        "why": st.dictionaries(HOSTILE, HOSTILE, max_size=2),
        "error": HOSTILE,
        "rank_fusion": st.none() | st.integers(1, 10**6),
        "lost_at": HOSTILE,
        "ms_total": st.floats(0, 1e6),
        "found": st.lists(st.tuples(HOSTILE, st.integers(0, 10**7), st.integers(0, 10**7), st.floats(-10, 1e3)).map(list), max_size=3),
        "answer": st.none() | st.dictionaries(HOSTILE, HOSTILE | st.lists(HOSTILE, max_size=2), max_size=2),
    },
)


@pytest.fixture(params=["lines", "file"], scope="module")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with all its rows, once as it runs and once when it is done; to be read only."""
    made = filled(a_run(tmp_path_factory.mktemp(request.param)), *ALL, closed=request.param == "file")
    assert (made.folder / TABLE).exists() == (request.param == "file")
    return made


class TestReading:
    def test_a_metric_is_a_matrix(self, run: Run) -> None:
        """Questions by configurations, NaN where there is no value, whole numbers as such numbers."""
        read = matrices(run, [*METRICS, "rank_dense", "evidence_rank", "ms_total"])
        expected = {
            "recall@5": [[1, 1], [0, NAN], [NAN, NAN]],
            "recall@1000t": [[NAN, NAN], [1 / 3, NAN], [NAN, NAN]],
            "recall@top_k": [[NAN, 1], [NAN, NAN], [NAN, NAN]],
            "evidence-mrr": [[0.5, NAN], [NAN, NAN], [NAN, NAN]],
            "rank_dense": [[3, NAN], [NAN, NAN], [NAN, NAN]],
            "evidence_rank": [[NAN, 7], [NAN, NAN], [NAN, NAN]],
            "ms_total": [[12.5, NAN], [NAN, NAN], [NAN, NAN]],
        }
        assert list(read) == list(expected)
        for name, values in expected.items():
            assert read[name].dtype == np.float64
            np.testing.assert_array_equal(read[name], values)
            np.testing.assert_array_equal(matrix(run, name), values)
        assert matrices(run, []) == {}

    @pytest.mark.parametrize("names", [["recall@6"], ["recall@5", "Recall@5", "x"], ["recall@5; DROP"], ['recall@5"'], [""]], ids=str)
    def test_an_unknown_column_is_named(self, run: Run, tmp_path: Path, names: list[str]) -> None:
        """With the metrics that the run has, whether it has rows or not."""
        for each in (run, a_run(tmp_path)):
            with pytest.raises(InvalidInput, match=", ".join(METRICS)) as caught:
                matrices(each, names)
            assert caught.value.got == ", ".join(repr(name) for name in names if name != "recall@5")

    @pytest.mark.parametrize("name", ["error", "why", "found", "answer", "lost_at"])
    def test_a_column_without_numbers_is_named(self, run: Run, name: str) -> None:
        """It has no matrix."""
        with pytest.raises(InvalidInput, match=f"{', '.join(METRICS)}; got '{name}'"):
            matrix(run, name)

    def test_rows_are_whole(self, run: Run) -> None:
        """In the order of configurations and questions, every column there, what was JSON parsed, what was left out null."""
        read = rows(run)
        assert places(read) == places(ALL)
        for row, written in zip(read, ALL, strict=True):
            assert list(row) == list(columns(METRICS))
            assert row == dict.fromkeys(columns(METRICS)) | written

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            pytest.param({"configuration": 1}, [(1, 0), (1, 1), (1, 2)], id="configuration"),
            pytest.param({"question": 2}, [(0, 2), (1, 2)], id="question"),
            pytest.param({"configuration": 0, "question": 1}, [(0, 1)], id="both"),
            pytest.param({"configuration": 0, "question": 0}, [(0, 0)], id="the first of both"),
            pytest.param({"configuration": 7}, [], id="no such"),
        ],
    )
    def test_rows_are_chosen(self, run: Run, wanted: dict[str, int], found: list[tuple[int, int]]) -> None:
        """By the place of the configuration, of the question, or both."""
        assert places(rows(run, **wanted)) == found

    def test_rows_and_errors_are_counted(self, run: Run) -> None:
        """A row without an error, whether null or empty, is none."""
        assert (has_rows(run), count(run)) == (True, 6)
        assert errors(run) == {1: 1}

    @settings(max_examples=8)
    @given(st.lists(ANY_ROW, max_size=6, unique_by=lambda row: (row["c"], row["q"])))
    def test_lines_and_file_are_read_alike(self, tmp_path_factory: pytest.TempPathFactory, these: list[dict[str, Any]]) -> None:
        """Whatever the texts and numbers are: rows as they were written, and the same matrices, before and after."""
        folder = tmp_path_factory.getbasetemp() / "alike"
        shutil.rmtree(folder, ignore_errors=True)
        run = filled(a_run(folder), *these, closed=False)
        written = sorted((dict.fromkeys(columns(METRICS)) | row for row in these), key=lambda row: (row["c"], row["q"]))
        for row in written:
            row.update({name: row[name] or None for name in ("why", "found", "answer") if row[name] in (None, "")})
        before, values = rows(run), matrices(run, METRICS)
        assert before == written
        results._compact(run)
        assert rows(run) == before
        for name, after in matrices(run, METRICS).items():
            np.testing.assert_array_equal(after, values[name])
        expected = np.full((3, 2), NAN)
        for row in these:
            expected[row["q"], row["c"]] = NAN if row["recall@5"] is None else row["recall@5"]
        np.testing.assert_array_equal(values["recall@5"], expected)

    @pytest.mark.parametrize("at", [1, 6, 12, 20, 60, -1])
    def test_half_a_line_is_not_read(self, tmp_path: Path, at: int) -> None:
        """A row that is just being written is passed over by every reader, and changes no other row."""
        run = filled(a_run(tmp_path), *ALL[:2], closed=False)
        with (run.folder / ROWS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(ALL[3], separators=(",", ":"))[:at])
        assert (count(run), places(rows(run)), errors(run)) == (2, places(ALL[:2]), {})
        np.testing.assert_array_equal(matrix(run, "recall@5"), [[1, NAN], [0, NAN], [NAN, NAN]])
        assert export_csv(run, tmp_path / "half.csv") == 2

    def test_half_a_first_line_is_no_row(self, tmp_path: Path) -> None:
        """Nor is an empty file: there is no value anywhere."""
        run = a_run(tmp_path)
        for held in ("", '{"c":0,"q":0,"rec'):
            (run.folder / ROWS).write_text(held)
            assert np.isnan(matrix(run, "recall@5")).all()

    def test_it_is_read_while_it_is_written(self, tmp_path: Path) -> None:
        """Every row counts as soon as it has been appended."""
        run = a_run(tmp_path)
        with a_writer(run) as writer:
            for number, row in enumerate(ALL, start=1):
                writer.append(row)
                assert places(rows(run)) == places(ALL[:number])

    @pytest.mark.parametrize("read", [lambda run: matrix(run, "recall@5"), rows, count, errors], ids=["matrix", "rows", "count", "errors"])
    def test_a_damaged_file_is_a_named_error(self, tmp_path: Path, read: Callable[[Run], object]) -> None:
        """It names the run and what to do."""
        run = filled(a_run(tmp_path), *ALL)
        (run.folder / TABLE).write_bytes(b"PAR1 no more")
        with pytest.raises(StoreError, match=f"to read the rows of run {IDS[0]}.*Run it again, or resume it"):
            read(run)

    def test_a_path_is_no_pattern(self, tmp_path: Path) -> None:
        """Quotation marks and spaces in the folder's name are part of it."""
        run = filled(a_run(tmp_path / 'it\'s a "run" %s'), *ALL)
        assert count(run) == 6

    def test_columns_are_the_metrics_and_the_trace(self) -> None:
        """Every metric under its name, @ and hyphens and all."""
        named = columns(METRICS)
        assert [name for name, type_ in named.items() if type_ == "DOUBLE" and not name.startswith("ms_")] == list(METRICS)
        assert {name for name in named if name.startswith("rank_")} == {"rank_dense", "rank_keyword", "rank_fusion", "rank_shown"}
        assert {name for name in named if name.startswith("ms_")} == {f"ms_{stage}" for stage in results.STAGES}


def exported(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class TestExporting:
    def test_every_row_is_a_line(self, tmp_path: Path) -> None:
        """With configuration and question spelled out, undefined values empty and their reasons as JSON; how many is returned."""
        run = filled(a_run(tmp_path), *ALL)
        assert export_csv(run, tmp_path / "run.csv") == 6
        first, second, *_, fifth, _ = read = exported(tmp_path / "run.csv")
        assert len(read) == 6
        assert [row["question"] for row in read] == ["q1", "q2", "q3"] * 2
        assert [row["key"] for row in read] == [FIRST] * 3 + [SECOND] * 3
        assert {name: first[name] for name in ("configuration", "kind", "text", "expected")} == {
            "configuration": ENTRIES[0].slug,
            "kind": "detail",
            "text": "Where is it?",
            "expected": "loch.md",
        }
        assert [first[name] for name in (*METRICS, "rank_dense", "ms_total", "lost_at")] == ["1.0", "", "", "0.5", "3", "12.5", ""]
        assert (second["expected"], json.loads(second["why"])) == ("loch.md nfd.md", {"evidence-mrr": "stale evidence"})
        assert float(second["recall@1000t"]) == 1 / 3
        assert fifth["error"] == ALL[4]["error"]
        assert not {"c", "q", "found", "answer"} & set(first)
        assert sorted(path.name for path in tmp_path.iterdir()) == [IDS[0], "run.csv"]

    @settings(max_examples=12)
    @given(st.lists(HOSTILE.filter(bool), min_size=3, max_size=3), HOSTILE)
    def test_hostile_texts_stay_in_their_cells(self, tmp_path_factory: pytest.TempPathFactory, texts: list[str], error: str) -> None:
        """Commas, quotation marks, line ends and control characters are read back as they were."""
        folder = tmp_path_factory.getbasetemp() / "hostile"
        shutil.rmtree(folder, ignore_errors=True)
        questions = tuple(replace(asked, text=text) for asked, text in zip(ASKED, texts, strict=True))
        run = filled(a_run(folder, questions=questions), *(a_row(1, q, error=error, why={error: error}) for q in range(3)), closed=False)
        assert export_csv(run, folder / "run.csv") == 3
        read = exported(folder / "run.csv")
        assert [row["text"] for row in read] == texts
        assert [row["error"] for row in read] == [error] * 3
        assert [json.loads(row["why"]) for row in read] == [{error: error}] * 3

    @pytest.mark.parametrize("text", ['a, b; "c"', "one\ntwo\r\nthree", "\rcarriage", '""', "'", "=HYPERLINK(1)", "a\tb", "\u2028", " x "])
    def test_one_text_is_one_cell(self, tmp_path: Path, text: str) -> None:
        """The same for any reader of the format."""
        run = filled(a_run(tmp_path, questions=(replace(ASKED[0], text=text), *ASKED[1:])), ALL[0], closed=False)
        export_csv(run, tmp_path / "run.csv")
        (row,) = exported(tmp_path / "run.csv")
        assert (row["text"], row["expected"], row["recall@5"]) == (text, "loch.md", "1.0")

    def test_a_run_without_rows_is_a_heading(self, tmp_path: Path) -> None:
        """And replaces what stood there."""
        (tmp_path / "run.csv").write_text("old")
        assert export_csv(a_run(tmp_path), tmp_path / "run.csv") == 0
        (heading,) = (tmp_path / "run.csv").read_text(encoding="utf-8").splitlines()
        assert heading.startswith(
            "configuration,key,question,kind,text,expected,recall@5,recall@1000t,recall@top_k,evidence-mrr,why,error,"
        )

    @pytest.mark.parametrize(
        "breaks",
        [
            pytest.param(lambda run: (run.folder / TABLE).write_bytes(b"PAR1"), id="rows that cannot be read"),
            pytest.param(lambda run: (run.folder.parent / "out.csv").mkdir(), id="a folder in the way"),
            pytest.param(lambda run: (run.folder.parent / "out").rmdir(), id="a folder that is gone"),
        ],
    )
    def test_it_is_whole_or_not_there(self, tmp_path: Path, breaks: Callable[[Run], object]) -> None:
        """What stands there stays when the rows cannot be read; a place that cannot be written is named."""
        run = filled(a_run(tmp_path), *ALL)
        (tmp_path / "out").mkdir()
        breaks(run)
        path = tmp_path / "out.csv" if (tmp_path / "out.csv").is_dir() else tmp_path / "out" / "run.csv"
        if path.parent.is_dir() and not path.exists():
            path.write_text("old")
        with pytest.raises(StoreError, match=r"to write|to read the rows"):
            export_csv(run, path)
        assert not path.is_file() or path.read_text() == "old"

    def test_nothing_half_is_left_behind(self, tmp_path: Path) -> None:
        """When it fails, there is no file more than before."""
        run = filled(a_run(tmp_path), *ALL)
        (run.folder / TABLE).write_bytes(b"PAR1")
        with pytest.raises(StoreError):
            export_csv(run, tmp_path / "run.csv")
        assert [path.name for path in tmp_path.iterdir()] == [IDS[0]]


@pytest.mark.parametrize("most", [0, 400], ids=["nothing can be written", "half of it can"])
def test_a_table_that_cannot_be_written_is_a_named_error(tmp_path: Path, most: int) -> None:
    """On a full disk, here a limit on the size of files: nothing half written is left, and later the run can end."""
    run = a_run(tmp_path)
    with a_writer(run) as writer:
        for row in ALL:
            writer.append(row)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
        try:
            with pytest.raises(StoreError, match=rf"to write the run {IDS[0]}.*the free space"):
                writer.close(failures={})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert sorted(path.name for path in run.folder.iterdir()) == sorted([MANIFEST, QUESTIONS, ROWS])
    assert open_run(tmp_path, IDS[0]).state == "stopped"
    assert places(rows(run)) == [(row["c"], row["q"]) for row in ALL]
    assert (filled(run).state, places(rows(run))) == ("done", [(row["c"], row["q"]) for row in ALL])


def test_answers_that_broke_off_are_taken_out(tmp_path: Path) -> None:
    """Whoever goes on makes them again; other errors stay, and so does a text that only looks like such a row."""
    broken = [a_row(0, 1, error="answer: it broke off"), a_row(1, 0, error="answer: silence", answer={"text": ""})]
    kept = [a_row(0, 0), a_row(0, 2, error="too long"), a_row(1, 1, answer={"text": '{"error":"answer: no"}'})]
    run = filled(a_run(tmp_path), kept[0], broken[0], kept[1], broken[1], kept[2])
    assert results.unfinished(run) == [1, 2]
    assert finished(run) == {(0, 0), (0, 2), (1, 1)}
    assert places(rows(run)) == [(0, 0), (0, 2), (1, 1)]
    assert list(run.folder.glob("*.part")) == []


def test_what_cannot_be_taken_out_stays(tmp_path: Path) -> None:
    """On a full disk the run is as it was."""
    run = filled(a_run(tmp_path), a_row(0, 0), a_row(0, 1, error="answer: it broke off"))
    before, limits = (run.folder / ROWS).read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(StoreError, match="File too large"):
            Writer(run)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (run.folder / ROWS).read_bytes() == before
    assert list(run.folder.glob("*.part")) == []


def test_why_scores_are_missing_is_counted(tmp_path: Path) -> None:
    """By configuration: errors, and of each metric why it is undefined, the most frequent reason first."""
    run = filled(a_run(tmp_path), *ALL)
    assert results.reasons(a_run(tmp_path, IDS[1])) == [results.Reasons({}, {})] * 2
    first, second = results.reasons(run)
    assert (first.errors, second.errors) == ({}, {"expected a question of at most 4,000 characters; got 5,000": 1})
    assert first.undefined["evidence-mrr"] == {"stale evidence": 1, "no answer": 1}
    assert first.undefined["recall@5"] == {"no answer": 1}
    assert second.undefined == {}


def test_keys_are_listed_by_what_tells_them_apart(tmp_path: Path) -> None:
    """Two configurations whose short names are the same are told by the field that differs."""
    both = [configure({"fusion.candidates": candidates}) for candidates in (50, 100)]
    assert both[0].slug == both[1].slug
    run = a_run(tmp_path, configurations=tuple(Entry(each.key, each.slug, each.to_dict()) for each in both))
    with pytest.raises(NotFound, match=rf"{both[0].key} \([^)]*50\), {both[1].key} \([^)]*100\)"):
        run.place_of("zz")


def test_other_metrics_are_other_columns(tmp_path: Path) -> None:
    """A run has the metrics of its manifest; what a row holds beyond them is not read."""
    run = a_run(tmp_path, metrics=("document-ndcg@10", "cited-sentences"), configurations=(Entry("k", "s", Configuration().to_dict()),))
    run = filled(run, *({"c": 0, "q": q, "document-ndcg@10": q / 2, "recall@5": 1.0} for q in range(3)))
    assert run.state == "done"
    np.testing.assert_array_equal(matrix(run, "document-ndcg@10"), [[0], [0.5], [1]])
    assert np.isnan(matrix(run, "cited-sentences")).all()
    assert "recall@5" not in rows(run)[0]
    with pytest.raises(InvalidInput, match="document-ndcg@10, cited-sentences; got 'recall@5'"):
        matrix(run, "recall@5")

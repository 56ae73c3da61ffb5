"""update from several sources, with its checks before publishing, its exit codes, and the line that is written down of it."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import typer.testing

from evals import editing
from evals.golden import Question, Quote
from sitt_core import build, ingest, jobs, journal
from sitt_core.plan import Plan, Update
from sitt_core.settings import Settings, load_settings
from sitt_core.store.layout import UPDATE_LOCK, current_generation, write_lock
from sitt_core.surfaces import updating
from sitt_core.surfaces.updating import Wish
from sitt_core.types import Listing
from tests.fakes.command_line import Run, as_json, environment, files, named

TALES = {
    "adder": "The adder sleeps under the old bridge until April.",
    "badger": "The badger digs its sett into the railway bank.",
    "curlew": "The curlew calls over the mud at low tide.",
    "dormouse": "The dormouse weaves a nest of honeysuckle bark.",
    "eel": "The eel swims to the far sea to spawn once.",
    "fox": "The fox buries eggs below the hazel hedge.",
}


def write(folder: Path, tales: dict[str, str] = TALES) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in tales.items():
        (folder / f"{name}.md").write_text(f"# {name.title()}\n\n{text}\n\n## Diet\n\nNobody knows what it eats.\n", encoding="utf-8")
    return folder


@pytest.fixture
def animals(tmp_path: Path) -> Path:
    return write(tmp_path / "animals")


@pytest.fixture
def corpus(run: Run, animals: Path) -> Run:
    """`run`, with a corpus of the animals."""
    assert run("update", "--source", f"markdown:{animals}", "--corpus", "zoo", "--yes").exit_code == 0
    return run


def settings(data_dir: Path) -> Settings:
    return load_settings(environment(data_dir))


def ask_about(data_dir: Path, *names: str) -> None:
    """An open golden question about each of those, resting on its sentence."""
    questions = [
        Question(
            f"q-{name}", f"What does the {name} do?", "detail", grades={f"{name}.md": 1}, evidence=((Quote(f"{name}.md", TALES[name]),),)
        )
        for name in names
    ]
    editing.add_questions(settings(data_dir), "zoo", questions)


def last(data_dir: Path) -> journal.Entry:
    return journal.entries(data_dir, "zoo")[0]


class TestSeveralSources:
    def test_all_that_the_corpus_remembers(self, corpus: Run, animals: Path, tmp_path: Path, data_dir: Path) -> None:
        """Without --source every source is read, and what they bring is published once."""
        birds = write(tmp_path / "birds", {"gannet": "The gannet dives from thirty metres."})
        as_json(corpus("update", "--source", f"markdown:{birds}", "--corpus", "zoo", "--yes", "--json"))
        write(birds, {"heron": "The heron stands in the weir."})
        write(animals, {"ibex": "The ibex licks salt from the dam."})
        told = as_json(corpus("update", "--corpus", "zoo", "--yes", "--json"))
        assert [(each["plan"]["origin"], each["plan"]["added"]) for each in told["updates"]] == [
            ("markdown:animals", ["ibex.md"]),
            ("markdown:birds", ["heron.md"]),
        ]
        assert told["generation"] == "000003"
        assert {origin: part.counts["listed"] for origin, part in last(data_dir).sources.items()} == {
            "markdown:animals": 7,
            "markdown:birds": 2,
        }

    def test_one_that_cannot_be_read_keeps_the_others_from_nothing(
        self, corpus: Run, animals: Path, tmp_path: Path, data_dir: Path
    ) -> None:
        """Its documents stay, the other source's are published, and the exit code is 3; it stands in JSON, words and journal."""
        birds = write(tmp_path / "birds", {"gannet": "The gannet dives from thirty metres."})
        as_json(corpus("update", "--source", f"markdown:{birds}", "--corpus", "zoo", "--yes", "--json"))
        birds.rename(tmp_path / "away")
        write(animals, {"ibex": "The ibex licks salt from the dam."})
        result = corpus("update", "--corpus", "zoo", "--yes", "--json")
        told = json.loads(result.stdout)
        assert (result.exit_code, told["error"]["kind"], told["generation"]) == (3, "PartlyApplied", "000003")
        assert [each["place"] for each in told["unread"]] == [f"markdown:{birds}"]
        ids = [document["id"] for document in as_json(corpus("documents", "--corpus", "zoo", "--json"))["documents"]]
        assert {"ibex.md", "gannet.md"} <= set(ids)
        assert "1 sources that could not be read" in result.stderr
        entry = last(data_dir)
        assert (entry.outcome, entry.exit_code, bool(entry.sources[f"markdown:{birds}"].problem)) == ("published", 3, True)
        places = {"markdown:animals": f"markdown:{animals}", "markdown:birds": f"markdown:{birds}"}
        told_of = journal.freshness(data_dir, "zoo", places)
        assert 0 < told_of["markdown:birds"].read_at < told_of["markdown:animals"].read_at
        assert told_of["markdown:birds"].problem

    def test_none_that_can_be_read(self, corpus: Run, animals: Path, tmp_path: Path, data_dir: Path) -> None:
        """Then it has failed, as it says and writes down; nothing changes."""
        animals.rename(tmp_path / "away")
        named(corpus("update", "--corpus", "zoo", "--yes"), "SourceError")
        assert (last(data_dir).outcome, last(data_dir).exit_code) == ("failed", 1)
        assert current_generation(data_dir / "store" / "zoo") == "000001"

    def test_what_is_remembered_and_cannot_be_read_is_told_of_each(
        self, corpus: Run, animals: Path, tmp_path: Path, data_dir: Path
    ) -> None:
        """Each source's own reason is in the failure; the journal, and so its freshness, knows that each was tried."""
        birds = write(tmp_path / "birds", {"gannet": "The gannet dives from thirty metres."})
        as_json(corpus("update", "--source", f"markdown:{birds}", "--corpus", "zoo", "--yes", "--json"))
        places = {"markdown:animals": f"markdown:{animals}", "markdown:birds": f"markdown:{birds}"}
        for folder in (animals, birds):
            folder.rename(folder.with_name(f"{folder.name}-away"))
        line = named(corpus("update", "--corpus", "zoo", "--yes"), "SourceError")
        assert all(f"{folder}', which does not exist" in line for folder in (animals, birds))
        told = journal.freshness(data_dir, "zoo", places)
        assert all(each.tried_at > each.read_at > 0 and "does not exist" in each.problem for each in told.values())

    def test_what_is_remembered_and_lacks_a_setting_is_written_down(self, corpus: Run, data_dir: Path) -> None:
        """Named by hand it is wrongly asked for; under cron a source that is not read any more must show."""
        corpus_dir = data_dir / "store" / "zoo"
        opened = build.Workshop(settings(data_dir)).corpus("zoo")
        recipe = build.Workshop(settings(data_dir)).recipe(settings(data_dir).defaults, language="english")
        wiki = Update(Listing("wikipedia:titles", (), ()), "wikipedia:titles=Eel", Plan("wikipedia:titles", (), (), (), (), ()))
        ingest.apply_update(corpus_dir, opened, [wiki], recipe=recipe, report=lambda *_: None)
        count = len(journal.entries(data_dir))
        named(corpus("update", "--source", "wikipedia:titles=Eel", "--corpus", "zoo", "--yes"), "InvalidInput")
        assert len(journal.entries(data_dir)) == count
        assert corpus("update", "--corpus", "zoo", "--yes").exit_code == 3
        assert "SITT_CONTACT" in last(data_dir).sources["wikipedia:titles=Eel"].problem

    def test_a_password_in_an_address_goes_nowhere(self, corpus: Run, animals: Path, data_dir: Path) -> None:
        """Neither into what is said nor into what is written down."""
        sources = ["--source", f"markdown:{animals}", "--source", "sitemap:https://me:hunter2@example.org/sitemap.xml"]
        result = corpus("update", *sources, "--corpus", "zoo", "--yes", "--json")
        assert result.exit_code == 3
        assert "example.org" in result.output
        assert "hunter2" not in result.output
        assert "hunter2" not in (data_dir / journal.FILE).read_text(encoding="utf-8")

    def test_two_places_that_are_one_source(self, corpus: Run, animals: Path, tmp_path: Path, data_dir: Path) -> None:
        """Two folders of one name, or one with other options: the later would take the place of the other. Twice the same is once."""
        other = write(tmp_path / "elsewhere" / "animals", {"heron": "The heron stands in the weir."})
        for places in ([animals, other], [other, f"{other}?exclude=a*"]):
            sources = [word for place in places for word in ("--source", f"markdown:{place}")]
            line = named(corpus("update", *sources, "--corpus", "new", "--yes"), "InvalidInput")
            assert "markdown:animals once" in line
        assert not (data_dir / "store" / "new").exists()
        twice = ["--source", f"markdown:{other}", "--source", f"markdown:{other}/"]
        assert len(as_json(corpus("update", *twice, "--corpus", "new", "--yes", "--json"))["updates"]) == 1

    def test_one_that_is_forgotten(self, corpus: Run, animals: Path, tmp_path: Path) -> None:
        """Its documents are retired and it is not read again; named anew it is one of the sources as before. The last one stays."""
        birds = write(tmp_path / "birds", {"gannet": "The gannet dives from thirty metres."})
        as_json(corpus("update", "--source", f"markdown:{birds}", "--corpus", "zoo", "--yes", "--json"))
        assert "markdown:animals, markdown:birds" in named(corpus("forget", "birds", "--corpus", "zoo"), "NotFound")
        assert as_json(corpus("forget", "markdown:birds", "--corpus", "zoo", "--json"))["forgotten"] == ["markdown:birds"]
        told = as_json(corpus("update", "--corpus", "zoo", "--yes", "--json"))
        assert [each["place"] for each in told["updates"]] == [f"markdown:{animals}"]
        retired = as_json(corpus("documents", "--corpus", "zoo", "--retired", "--json"))["documents"]
        assert [each["id"] for each in retired] == ["gannet.md"]
        assert "delete zoo" in named(corpus("forget", "markdown:animals", "--corpus", "zoo"), "InvalidInput")
        told = as_json(corpus("update", "--source", f"markdown:{birds}", "--corpus", "zoo", "--yes", "--json"))
        assert told["updates"][0]["plan"]["added"] == ["gannet.md"]

    def test_a_corpus_that_remembers_none(self, run: Run, data_dir: Path) -> None:
        """A named error that lists what can be named; nothing is written."""
        assert "field-guide, markdown:PATH" in named(run("update", "--corpus", "zoo", "--yes"), "InvalidInput")
        assert files(data_dir) == set()


class TestWithheld:
    def test_a_listing_that_is_much_shorter(self, corpus: Run, animals: Path, data_dir: Path) -> None:
        """4 of 6 remove nothing; what is new is published, the exit code is 3, and it says which number lets them go."""
        for name in ("adder", "badger"):
            (animals / f"{name}.md").unlink()
        (animals / "fox.md").write_text("# Fox\n\nThe fox sleeps.\n", encoding="utf-8")
        result = corpus("update", "--corpus", "zoo", "--yes")
        assert result.exit_code == 3
        assert "Nothing is removed, though 2 documents are missing: the source named 4 documents, less than 80% of the 6" in result.stdout
        assert "missing: adder.md" in result.stdout
        assert "--allow-removals 2" in result.stderr
        assert current_generation(data_dir / "store" / "zoo") == "000002"
        assert last(data_dir).sources["markdown:animals"].withheld.startswith("the source named 4 documents")
        again = corpus("update", "--corpus", "zoo", "--yes", "--json")
        assert (again.exit_code, json.loads(again.stdout)["built"]) == (3, None)
        assert last(data_dir).outcome == "unchanged"
        told = as_json(corpus("update", "--corpus", "zoo", "--yes", "--json", "--allow-removals", "2", "--max-recall-drop", "1"))
        assert told["updates"][0]["plan"]["removed"] == ["adder.md", "badger.md"]


class TestPreflight:
    def test_a_fall_is_refused(self, corpus: Run, animals: Path, data_dir: Path) -> None:
        """One of four questions loses its evidence: .25 is more than .05. Nothing is published, exit code 4, figures in JSON and journal.

        With a larger --max-recall-drop it is published, from cached vectors.
        """
        ask_about(data_dir, "adder", "badger", "curlew", "eel")
        (animals / "eel.md").write_text("# Eel\n\nNothing is known of it.\n", encoding="utf-8")
        dry = as_json(corpus("update", "--corpus", "zoo", "--dry-run", "--json"))
        assert [(each["id"], each["lost"]) for each in dry["touched"]["touches"]] == [("q-eel", True)]
        assert {each["how"] for each in dry["updates"][0]["sections"]["eel.md"]} == {"changed", "removed"}
        before = files(data_dir / "store")
        result = corpus("update", "--corpus", "zoo", "--yes", "--json")
        told = json.loads(result.stdout)
        assert (result.exit_code, told["error"]["kind"], told["built"]) == (4, "RecallFell", None)
        assert told["preflight"]["all"] == {"questions": 4, "before": 1.0, "after": 0.75}
        assert (told["preflight"]["touched"]["questions"], told["preflight"]["touched"]["after"]) == (1, 0.0)
        assert [each["id"] for each in told["preflight"]["turned"]] == ["q-eel"]
        assert current_generation(data_dir / "store" / "zoo") == "000001"
        assert {path for path in files(data_dir / "store") - before if "vectors" not in path} == set()
        assert (last(data_dir).outcome, last(data_dir).exit_code, last(data_dir).recall) == ("refused", 4, (1.0, 0.75))
        told = as_json(corpus("update", "--corpus", "zoo", "--yes", "--json", "--max-recall-drop", "0.25"))
        assert (told["generation"], told["built"]["embedded"]) == ("000002", 0)

    def test_a_person_is_asked_again(self, corpus: Run, animals: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """At a terminal the plan asks, and then the fall does; no to either publishes nothing, and only the second is written down."""
        monkeypatch.setattr(typer.testing._NamedTextIOWrapper, "isatty", lambda _: True, raising=False)
        ask_about(data_dir, "adder", "badger", "curlew", "eel")
        (animals / "eel.md").write_text("# Eel\n\nNothing is known of it.\n", encoding="utf-8")
        count = len(journal.entries(data_dir))
        assert corpus("update", "--corpus", "zoo", answer="n\n").exit_code == 1
        assert len(journal.entries(data_dir)) == count
        refused = corpus("update", "--corpus", "zoo", answer="y\nn\n")
        assert refused.exit_code == 4
        assert re.search(r"Recall@5 on all open questions \(4\): 1\.0+ before, 0?\.750? after\.", refused.stdout)
        assert "Less is found. Publish anyway?" in refused.stdout
        assert current_generation(data_dir / "store" / "zoo") == "000001"
        assert corpus("update", "--corpus", "zoo", answer="y\ny\n").exit_code == 0
        assert current_generation(data_dir / "store" / "zoo") == "000002"

    def test_an_answer_that_never_comes(self, corpus: Run, animals: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ctrl-C, or the end of what is typed, at the second question: cancelled, written down, nothing published."""
        monkeypatch.setattr(typer.testing._NamedTextIOWrapper, "isatty", lambda _: True, raising=False)
        ask_about(data_dir, "adder", "eel")
        (animals / "eel.md").write_text("# Eel\n\nNothing is known of it.\n", encoding="utf-8")
        result = corpus("update", "--corpus", "zoo", answer="y\n")
        assert (result.exit_code, "Cancelled: " in result.stderr) == (1, True)
        assert (last(data_dir).outcome, last(data_dir).recall) == ("cancelled", (1.0, 0.5))
        assert current_generation(data_dir / "store" / "zoo") == "000001"

    def test_a_new_language_is_asked_about_too(self, corpus: Run, data_dir: Path) -> None:
        """No document changes, and yet a generation would be published."""
        assert "--yes" in named(corpus("update", "--corpus", "zoo", "--language", "german"), "InvalidInput")
        assert current_generation(data_dir / "store" / "zoo") == "000001"
        assert as_json(corpus("update", "--corpus", "zoo", "--language", "german", "--yes", "--json"))["generation"] == "000002"

    @pytest.mark.parametrize("drop", ["-0.1", "1.1", "nan"])
    def test_a_drop_that_is_none(self, run: Run, drop: str) -> None:
        named(run("update", "--source", "field-guide", f"--max-recall-drop={drop}"), "InvalidInput")


class TestTerminal:
    def test_what_a_source_is_called_moves_no_cursor(self, corpus: Run, animals: Path) -> None:
        """Colours, line ends and marks of direction in a name are shown by their escapes, in JSON as JSON has them."""
        name = "a\x1b[31m\nfailed: \u202eno.md"
        (animals / name).write_text("# Name\n\nIts name is odd.", encoding="utf-8")
        corpus("update", "--corpus", "zoo", "--yes")
        (animals / name).write_text("# Name\n\nIts name is very odd.", encoding="utf-8")
        told = corpus("update", "--corpus", "zoo", "--dry-run", "--diff").stdout
        assert "  changed: a\\x1b[31m\\nfailed: \\u202eno.md" in told
        assert not {"\x1b", "\u202e"} & set(told)
        assert as_json(corpus("update", "--corpus", "zoo", "--dry-run", "--json"))["updates"][0]["plan"]["changed"] == [name]

    def test_ctrl_c_is_one_json_document_too(self, corpus: Run, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """While a source is read: Cancelled, exit code 1, written down."""

        def interrupted(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(build, "read_source", interrupted)
        result = corpus("update", "--corpus", "zoo", "--yes", "--json")
        assert (result.exit_code, json.loads(result.stdout)["error"]["kind"]) == (1, "Cancelled")
        assert last(data_dir).outcome == "cancelled"


class TestScheduled:
    def test_it_is_quiet_and_one_line_is_written_down(self, corpus: Run, animals: Path, data_dir: Path) -> None:
        """Nothing on standard error, one JSON document on standard output, one line of the journal; with nothing to do as well."""
        write(animals, {"ibex": "The ibex licks salt from the dam."})
        for outcome in ("published", "unchanged"):
            count = len(journal.entries(data_dir))
            result = corpus("update", "--corpus", "zoo", "--yes", "--json")
            as_json(result)
            assert result.stderr == ""
            assert len(journal.entries(data_dir)) == count + 1
            assert (last(data_dir).outcome, last(data_dir).exit_code) == (outcome, 0)

    def test_the_second_is_told_about_the_first_before_it_reads(self, corpus: Run, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whoever holds the corpus's lock is named, and the source is not asked."""
        monkeypatch.setattr(build, "read_source", lambda *_, **__: pytest.fail("the source was read"))
        with write_lock(data_dir / "store" / "zoo", UPDATE_LOCK):
            line = named(corpus("update", "--corpus", "zoo", "--yes", "--json"), "Busy")
        assert f"process {os.getpid()}" in line

    def test_status_says_how_fresh_each_source_is(self, corpus: Run, animals: Path, data_dir: Path) -> None:
        """Read as a whole, then with a failure, then not at all."""
        place = re.escape(f"source markdown:animals (markdown:{animals}), read ")
        assert re.search(place + r"2\d{3}-\d\d-\d\d \d\d:\d\d$", corpus("status").stdout, re.MULTILINE)
        (animals / "broken.md").write_bytes(b"\x00\x00")
        corpus("update", "--corpus", "zoo", "--yes")
        assert re.search(place + r".*; 1 documents failed$", corpus("status").stdout, re.MULTILINE)
        (described,) = as_json(corpus("status", "--json"))["corpora"]
        assert described["freshness"]["markdown:animals"]["failures"][0][0] == "broken.md"
        (data_dir / journal.FILE).unlink()
        assert re.search(r"source markdown:animals \(.*animals\)$", corpus("status").stdout, re.MULTILINE)

    def test_a_corpus_that_is_renamed_keeps_its_history(self, corpus: Run, data_dir: Path) -> None:
        assert corpus("rename", "zoo", "park").exit_code == 0
        assert journal.entries(data_dir, "park")[0].outcome == "published"


class TestChecked:
    def test_what_was_checked_is_what_is_published(self, corpus: Run, animals: Path, data_dir: Path) -> None:
        """A check keeps what it found in its job's folder; the update takes that, though the source has changed since."""
        write(animals, {"ibex": "The ibex licks salt from the dam."})
        job = self.job(data_dir)
        assert corpus("update", "--corpus", "zoo", "--dry-run", "--json", "--job", str(job)).exit_code == 0
        digest = jobs.left(job, "plan")["digest"]
        write(animals, {"ibex": "The ibex eats snow.", "jackdaw": "The jackdaw steals spoons."})
        told = as_json(corpus("update", "--corpus", "zoo", "--yes", "--json", "--checked", str(job), "--confirmed", digest))
        assert told["updates"][0]["plan"]["added"] == ["ibex.md"]
        found = as_json(corpus("search", "salt dam", "--corpus", "zoo", "--json"))["hits"]
        assert found[0]["document"] == "ibex.md"

    @pytest.mark.usefixtures("corpus")
    def test_what_was_found_comes_back_whole(self, data_dir: Path, animals: Path) -> None:
        """Documents with spans and attribution, failures, notices, why it is not whole, and what could not be read."""
        (animals / "broken.md").write_bytes(b"\x00\x00")
        workshop = build.Workshop(settings(data_dir))
        opened = workshop.corpus("zoo")
        wish = Wish("zoo", (f"markdown:{animals}", "markdown:/no/such/folder"), (workshop.settings.defaults,))
        found = updating.read_sources(workshop, opened, wish, lambda *_: None)
        job = self.job(data_dir)
        updating.keep_found(job, found, "zoo")
        assert updating.kept_found(job, opened, wish) == found
        assert len(found.unread) == 1
        assert len(found.updates[0].plan.failed) == 1

    def test_a_check_that_is_gone(self, corpus: Run, data_dir: Path) -> None:
        """A job's folder without what a check leaves is a named error."""
        job = self.job(data_dir)
        assert "Check for changes again" in named(corpus("update", "--corpus", "zoo", "--yes", "--checked", str(job)), "NotFound")

    @pytest.mark.parametrize(
        ("file", "content"),
        [("check.json", b"[]"), ("check.json", b"{}"), ("check.json", b"[" * 100_000), ("listing-0/corpus.duckdb", b"damaged")],
        ids=["a list", "an empty object", "endless", "a damaged store"],
    )
    def test_a_check_that_is_damaged(self, corpus: Run, data_dir: Path, file: str, content: bytes) -> None:
        """As one that is gone: a named error that asks for another."""
        job = self.job(data_dir)
        corpus("update", "--corpus", "zoo", "--dry-run", "--job", str(job))
        (job / file).write_bytes(content)
        assert "Check for changes again" in named(corpus("update", "--corpus", "zoo", "--yes", "--checked", str(job)), "NotFound")

    def test_a_check_of_another_corpus(self, corpus: Run, data_dir: Path) -> None:
        """It is not published into this one."""
        job = self.job(data_dir)
        corpus("update", "--corpus", "zoo", "--dry-run", "--job", str(job))
        assert "a check of park" in named(corpus("update", "--corpus", "park", "--yes", "--checked", str(job)), "NotFound")

    @staticmethod
    def job(data_dir: Path) -> Path:
        folder = data_dir / "jobs" / "20260101-000000-abcdef"
        folder.mkdir(parents=True)
        return folder


def test_a_job_that_published_although_something_failed_is_done(corpus: Run, animals: Path, data_dir: Path) -> None:
    """Its state is done, and its message says what stayed as it was; one that is refused has failed."""
    (animals / "broken.md").write_bytes(b"\x00\x00")
    arguments: list[str] = ["update", "--corpus", "zoo", "--yes"]
    started: Any = jobs.start(data_dir / "jobs", arguments, title="t", key="k", environment={**environment(data_dir)})
    jobs._children[started_pid(data_dir, started.id)].wait(timeout=120)
    job = jobs.read(data_dir / "jobs" / started.id)
    assert (job.state, "broken.md" in job.message) == ("done", True)


def started_pid(data_dir: Path, job_id: str) -> int:
    return int(json.loads((data_dir / "jobs" / job_id / "job.json").read_text())["pid"])


def test_questions_that_cannot_be_read_keep_it_from_being_published(corpus: Run, animals: Path, data_dir: Path) -> None:
    """Nobody knows what would be lost: exit code 4, and published once that is accepted."""
    file = editing.own_file(settings(data_dir), "zoo")
    file.parent.mkdir(parents=True)
    file.write_text("- 7", encoding="utf-8")
    write(animals, {"ibex": "The ibex licks salt from the dam."})
    result = corpus("update", "--corpus", "zoo", "--yes", "--json")
    assert (result.exit_code, json.loads(result.stdout)["preflight"]["unreadable"]) == (4, True)
    assert "the open questions, to be asked before and after" in result.stderr
    assert current_generation(data_dir / "store" / "zoo") == "000001"
    assert as_json(corpus("update", "--corpus", "zoo", "--yes", "--json", "--max-recall-drop", "1"))["generation"] == "000002"

import json
import re
from pathlib import Path

import pytest
import typer.testing

from sitt_core import jobs
from sitt_core.configuration import configure
from sitt_core.store.layout import write_lock
from tests.fakes.command_line import Run, as_json, files, named
from tests.fakes.embedder import HashEmbedder

COMMANDS = ("corpora", "documents", "restore", "retire", "forget", "generations", "rollback", "rename", "delete", "purge", "jobs")
FIXED = ("--set", "chunking.strategy=fixed")


@pytest.fixture
def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typer.testing._NamedTextIOWrapper, "isatty", lambda _: True, raising=False)


def update(run: Run, notes: Path, *options: str) -> dict[str, object]:
    found: dict[str, object] = as_json(run("update", "--source", f"markdown:{notes}", "--corpus", "notes", "--yes", "--json", *options))
    return found


def ids(run: Run, *options: str) -> list[str]:
    return [document["id"] for document in as_json(run("documents", "--corpus", "notes", "--json", *options))["documents"]]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(run: Run, command: str) -> None:
    """--help says what it does; all of them speak JSON."""
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "--json" in result.stdout
    assert "--job" not in result.stdout.replace("--json", "")
    assert command in run("--help").stdout


class TestUpdates:
    def test_a_diff(self, run: Run, notes: Path) -> None:
        """With --dry-run --diff the lines that would change are shown, in words and as JSON, and nothing is written."""
        update(run, notes)
        (notes / "lake.md").write_text(
            "---\ncategory: aquatic\nregion: Europe\nlicense: CC0\n---\n# Lake\n\nTwo serpents live in the lake."
        )
        command = ("update", "--source", f"markdown:{notes}", "--corpus", "notes", "--dry-run", "--diff")
        assert "+Two serpents live in the lake." in as_json(run(*command, "--json"))["updates"][0]["diffs"]["lake.md"]
        assert "  -A serpent lives in the lake.\n  +Two serpents live in the lake." in run(*command).stdout
        assert len(as_json(run("generations", "--corpus", "notes", "--json"))["generations"]) == 1

    def test_many_removals(self, run: Run, notes: Path) -> None:
        """A dry run says which number is needed; without it the update is refused by name; with it they are retired."""
        for number in range(9):
            (notes / f"more-{number}.md").write_text(f"# More\n\nTale {number}.")
        update(run, notes)
        (notes / "lake.md").unlink()
        (notes / "wood.md").unlink()
        command = ("update", "--source", f"markdown:{notes}", "--corpus", "notes")
        assert "publishing needs --allow-removals 2" in run(*command, "--dry-run").stdout
        assert "--allow-removals 2" in named(run(*command, "--yes", "--json"), "InvalidInput")
        assert "--allow-removals 2" in named(run(*command, "--yes", "--json", "--allow-removals", "1"), "InvalidInput")
        assert len(ids(run)) == 12
        update(run, notes, "--allow-removals", "2")
        assert (len(ids(run)), ids(run, "--retired")) == (10, ["lake.md", "wood.md"])

    def test_an_unreadable_or_empty_folder_removes_nothing(self, run: Run, notes: Path) -> None:
        """Whatever is allowed: an empty folder and a missing one are named errors."""
        update(run, notes)
        for file in notes.iterdir():
            file.unlink()
        command = ("update", "--source", f"markdown:{notes}", "--corpus", "notes", "--yes", "--allow-removals", "99")
        named(run(*command), "SourceError")
        notes.rmdir()
        named(run(*command), "SourceError")
        assert len(ids(run)) == 3

    def test_only_what_was_confirmed(self, run: Run, notes: Path) -> None:
        """An update with the digest of a dry run publishes that plan; once the source has changed again it changes nothing."""
        update(run, notes)
        command = ("update", "--source", f"markdown:{notes}", "--corpus", "notes", "--json")
        (notes / "new.md").write_text("# New\n\nNew.")
        digest = as_json(run(*command, "--dry-run"))["digest"]
        (notes / "newer.md").write_text("# Newer\n\nNewer.")
        result = run(*command, "--yes", "--confirmed", digest)
        assert "Look at the changes again" in named(result, "Busy")
        assert len(ids(run)) == 3
        (notes / "newer.md").unlink()
        assert as_json(run(*command, "--yes", "--confirmed", digest))["updates"][0]["plan"]["added"] == ["new.md"]

    def test_a_folder_that_has_moved_is_remembered(self, run: Run, notes: Path, tmp_path: Path) -> None:
        """After --moved the new place is the known one though no document changed."""
        update(run, notes)
        notes.rename(tmp_path / "elsewhere")
        (tmp_path / "elsewhere" / "notes").mkdir()
        for file in (tmp_path / "elsewhere").glob("*.md"):
            file.rename(file.parent / "notes" / file.name)
        update(run, tmp_path / "elsewhere" / "notes", "--moved")
        assert update(run, tmp_path / "elsewhere" / "notes")["built"] is None

    def test_carried_indexes(self, run: Run, notes: Path, embedder: HashEmbedder) -> None:
        """--index takes an index along, by key or all; others need building, which status says with their slug until index builds them."""
        update(run, notes)
        keys = [
            as_json(run("index", "--corpus", "notes", "--json", "--set", f"chunking.strategy={name}"))["index_key"]
            for name in ("fixed", "sentence")
        ]
        (notes / "new.md").write_text("# New\n\nNew.")
        built = update(run, notes, "--index", keys[0])["built"]
        assert [each["index_key"] for each in built["carried"]] == [keys[0]]  # type: ignore[index]
        (corpus,) = as_json(run("status", "--json"))["corpora"]
        assert {index["index_key"] for index in corpus["indexes"]} == {configure({}).index_key, keys[0]}
        assert [each["index_key"] for each in corpus["needs_building"]] == [keys[1]]
        assert re.search(rf"index {keys[1]} sentence-1024\S*: needs building", run("status").stdout)
        (notes / "newer.md").write_text("# Newer\n\nNewer.")
        update(run, notes, "--index", "all")
        assert as_json(run("status", "--json"))["corpora"][0]["needs_building"] == []
        assert len(embedder.embedded) == len(set(embedder.embedded))

    def test_an_unknown_index(self, made: Run) -> None:
        """A key that the corpus has not is named with those it has, before the source is read."""
        line = named(made("update", "--source", "markdown:/no/such", "--corpus", "notes", "--yes", "--index", "abc"), "NotFound")
        assert configure({}).index_key in line


class TestStatus:
    def test_an_index_is_named(self, made: Run) -> None:
        """By its slug, with its chunks, size and configuration."""
        (index,) = as_json(made("status", "--json"))["corpora"][0]["indexes"]
        assert index["slug"] == configure({}).slug
        assert index["configuration"] == configure({}).to_dict()
        assert index["chunks"] == 3
        assert re.search(r"index [0-9a-f]{12} structural-500·minilm·hybrid·k5: 3 chunks, ", made("status").stdout)


class TestDocuments:
    def test_listed(self, made: Run) -> None:
        """Each with its attribution, revision, time and size; --retired lists the others."""
        found = as_json(made("documents", "--corpus", "notes", "--json"))["documents"]
        assert [document["id"] for document in found] == ["lake.md", "sky.md", "wood.md"]
        assert found[0].keys() == {
            "id", "title", "category", "region", "origin", "source", "revision", "fetched_at", "characters", "restored"
        }  # fmt: skip
        assert found[0]["source"]["license"] == "CC0"
        assert found[0]["fetched_at"] and found[0]["revision"]
        assert "3 documents in notes" in made("documents", "--corpus", "notes").stdout
        assert "0 retired documents" in made("documents", "--corpus", "notes", "--retired").stdout

    def test_restored_and_retired(self, run: Run, notes: Path) -> None:
        """A restored document stays through updates and is marked; retire is the way back."""
        update(run, notes)
        (notes / "lake.md").unlink()
        update(run, notes)
        restored = as_json(run("restore", "lake.md", "--corpus", "notes", "--json"))
        assert (restored["restored"], restored["generation"], restored["built"]["embedded"]) == (["lake.md"], "000003", 0)
        assert update(run, notes)["updates"][0]["plan"]["kept"] == ["lake.md"]  # type: ignore[index]
        assert "kept: lake.md" in run("update", "--source", f"markdown:{notes}", "--corpus", "notes", "--dry-run").stdout
        assert as_json(run("search", "serpent", "--corpus", "notes", "--json"))["hits"][0]["document"] == "lake.md"
        assert "restored" in run("documents", "--corpus", "notes").stdout
        assert "1 retired; notes is at generation 000004" in run("retire", "lake.md", "--corpus", "notes").stdout
        assert ids(run, "--retired") == ["lake.md"]
        named(run("restore", "sky.md", "--corpus", "notes"), "NotFound")


class TestCorpora:
    def test_listed(self, made: Run, data_dir: Path) -> None:
        """All of them, with what is wrong with one that cannot be read."""
        (data_dir / "store" / "broken").mkdir()
        (data_dir / "store" / "broken" / "CURRENT").write_text("garbage")
        broken, notes = as_json(made("corpora", "--json"))["corpora"]
        assert notes == {"name": "notes", "generation": "000001", "documents": 3}
        assert broken["error"]["kind"] == "StoreError"
        assert "notes: generation 000001, 3 documents" in made("corpora").stdout

    def test_none(self, run: Run, data_dir: Path) -> None:
        """It names the command that makes one."""
        assert as_json(run("corpora", "--json")) == {"corpora": []}
        assert "update --source" in run("corpora").stdout
        assert not data_dir.exists()

    def test_generations_and_rollback(self, run: Run, notes: Path) -> None:
        """Back, forward, and what is served then; the current one is marked."""
        update(run, notes)
        (notes / "lake.md").unlink()
        update(run, notes)
        assert as_json(run("rollback", "--corpus", "notes", "--json")) == {"corpus": "notes", "generation": "000001"}
        assert len(ids(run)) == 3
        assert "* 000001: 3 documents, 0 retired" in run("generations", "--corpus", "notes").stdout
        assert "000002" in run("rollback", "000002", "--corpus", "notes").stdout
        listed = as_json(run("generations", "--corpus", "notes", "--json"))["generations"]
        assert [(each["name"], each["current"], each["documents"], each["retired"]) for each in listed] == [
            ("000001", False, 3, 0),
            ("000002", True, 2, 1),
        ]
        named(run("rollback", "000007", "--corpus", "notes"), "NotFound")

    def test_renamed(self, made: Run) -> None:
        """It answers under the new name only."""
        assert as_json(made("rename", "notes", "tales", "--json")) == {"renamed": "notes", "to": "tales"}
        assert as_json(made("search", "serpent", "--corpus", "tales", "--json"))["hits"]
        named(made("search", "serpent", "--corpus", "notes"), "NotFound")
        named(made("rename", "notes", "x"), "NotFound")
        named(made("rename", "tales", "T"), "InvalidInput")

    @pytest.mark.parametrize("form", [(), ("--json",)], ids=["words", "JSON"])
    def test_a_deletion_that_nobody_can_confirm(self, made: Run, data_dir: Path, form: tuple[str, ...]) -> None:
        """Without a terminal, or with --json, --yes is needed."""
        before = files(data_dir)
        assert "--yes" in named(made("delete", "notes", *form), "InvalidInput")
        assert files(data_dir) == before

    @pytest.mark.parametrize(("typed", "gone"), [("notes\n", True), ("Notes\n", False), ("y\n", False), ("\n", False)])
    @pytest.mark.usefixtures("at_a_terminal")
    def test_the_name_is_typed(self, made: Run, typed: str, gone: bool) -> None:
        """At a terminal only the corpus's own name removes it."""
        result = made("delete", "notes", answer=typed)
        assert result.exit_code == (0 if gone else 1)
        assert as_json(made("corpora", "--json"))["corpora"] == (
            [] if gone else [{"name": "notes", "generation": "000001", "documents": 3}]
        )

    def test_deleted(self, made: Run, data_dir: Path) -> None:
        """With --yes at once; an unknown name is a named error before anything is asked."""
        named(made("delete", "nope"), "NotFound")
        found = as_json(made("delete", "notes", "--yes", "--json"))
        assert found["deleted"] == "notes"
        assert found["freed"] > 0
        assert files(data_dir) == set()

    def test_purged(self, run: Run, notes: Path, data_dir: Path) -> None:
        """A dry run says what would go and removes nothing; with --yes it is gone, and then there is nothing left to purge."""
        update(run, notes)
        (notes / "lake.md").unlink()
        update(run, notes)
        before = files(data_dir)
        planned = as_json(run("purge", "--corpus", "notes", "--dry-run", "--json"))
        assert (planned["purge"]["retired"], planned["purge"]["generations"], planned["done"]) == (["lake.md"], ["000001"], False)
        assert re.search(
            r"notes: 1 retired documents, 1 earlier generations; about ", run("purge", "--corpus", "notes", "--dry-run").stdout
        )
        named(run("purge", "--corpus", "notes"), "InvalidInput")
        assert files(data_dir) == before
        assert as_json(run("purge", "--corpus", "notes", "--yes", "--json"))["generation"] == "000003"
        assert (ids(run, "--retired"), ids(run)) == ([], ["sky.md", "wood.md"])
        assert as_json(run("search", "giant", "--corpus", "notes", "--json"))["hits"]
        assert "holds nothing to purge" in run("purge", "--corpus", "notes").stdout

    def test_purged_by_age(self, run: Run, notes: Path) -> None:
        """What has just been retired is younger than an hour; an age that is none is a named error."""
        update(run, notes)
        (notes / "lake.md").unlink()
        update(run, notes)
        told = run("purge", "--corpus", "notes", "--older-than", "1h", "--yes")
        assert "holds nothing to purge that is older than " in told.stdout
        assert as_json(run("purge", "--corpus", "notes", "--older-than", "0d", "--yes", "--json"))["purge"]["retired"] == ["lake.md"]
        for age in ("", "30", "d", "-1d", "1y", "1.5d"):
            if age:
                assert "12h, 30d or 8w" in named(run("purge", "--corpus", "notes", f"--older-than={age}"), "InvalidInput")

    @pytest.mark.parametrize(
        "command",
        [
            ("rollback", "000001", "--corpus", "notes"),
            ("rename", "notes", "x"),
            ("delete", "notes", "--yes"),
            ("purge", "--corpus", "notes", "--yes"),
        ],
        ids=str,
    )
    def test_busy(self, run: Run, notes: Path, data_dir: Path, command: tuple[str, ...]) -> None:
        """While somebody writes the corpus each is a named error."""
        update(run, notes)
        (notes / "lake.md").unlink()
        update(run, notes)
        with write_lock(data_dir / "store" / "notes", "update"):
            named(run(*command), "Busy")
        assert run(*command).exit_code == 0


class TestJobs:
    def test_listed_and_cancelled(self, run: Run, data_dir: Path) -> None:
        """Newest first with state and progress; cancel leaves the request; an unknown id is a named error."""
        assert as_json(run("jobs", "--json")) == {"jobs": []}
        assert "No job" in run("jobs").stdout
        for name in ("20260101-000000-a", "20260102-000000-b"):
            folder = data_dir / "jobs" / name
            folder.mkdir(parents=True)
            (folder / "job.json").write_text(json.dumps({"title": "Build it", "key": "k", "pid": 0, "started": 0.0}))
            (folder / "progress.jsonl").write_text('[1.0, "embed", 3, 9]\n')
        found = as_json(run("jobs", "--json"))["jobs"]
        assert [(job["id"][-1], job["state"], job["progress"]) for job in found] == [
            ("b", "died", "embed 3 of 9"),
            ("a", "died", "embed 3 of 9"),
        ]
        assert "job 20260102-000000-b: Build it, died; embed 3 of 9" in run("jobs").stdout
        assert as_json(run("jobs", "cancel", "20260101-000000-a", "--json")) == {"id": "20260101-000000-a", "state": "died"}
        assert (data_dir / "jobs" / "20260101-000000-a" / "cancel").exists()
        named(run("jobs", "cancel", "nope"), "NotFound")

    def test_one_writer_is_told_about_the_other(self, made: Run, notes: Path, data_dir: Path) -> None:
        """While a job updates the corpus, an update at the terminal names it, how far it is, and how to stop it."""
        folder = data_dir / "jobs" / "20260101-000000-a"
        folder.mkdir(parents=True)
        (folder / "job.json").write_text(json.dumps({"title": "Update notes", "key": "k", "pid": 0, "started": 0.0}))
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("os.nice", lambda _: 0)
            with jobs.running(folder) as report, write_lock(data_dir / "store" / "notes", "update"):
                report("embed", 128, 1204)
                (notes / "new.md").write_text("# New\n\nNew.")
                line = named(made("rename", "notes", "x"), "Busy")
        assert "the job 20260101-000000-a that is writing it now (Update notes: embed 128 of 1,204)" in line
        assert "jobs cancel 20260101-000000-a" in line

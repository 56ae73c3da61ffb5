import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
import typer.testing

from sitt_core import build, jobs
from sitt_core.configuration import FIELDS, configure
from sitt_core.errors import Cancelled, ModelError
from sitt_core.settings import KEYS
from sitt_core.store.layout import index_file
from sitt_core.surfaces import cli
from tests.fakes import corpora
from tests.fakes.command_line import Run, as_json, environment, files, named
from tests.fakes.embedder import HashEmbedder
from tests.fakes.site import FakeSite, article

ROOT = Path(__file__).parents[3]
COMMANDS = ("update", "index", "search", "status", "doctor")


def test_update_says_what_it_planned_and_built(run: Run, notes: Path) -> None:
    """JSON of update: the plan by document id and what was built; afterwards there is nothing to do."""
    command = ("update", "--source", f"markdown:{notes}", "--corpus", "notes", "--yes", "--json")
    first = as_json(run(*command))
    (told,) = first["updates"]
    assert told["plan"] == {
        "origin": "markdown:notes",
        "added": ["lake.md", "sky.md", "wood.md"],
        "changed": [],
        "removed": [],
        "unchanged": [],
        "failed": [],
        "kept": [],
        "elsewhere": [],
        "withheld": [],
        "why_withheld": "",
        "free_removals": 1,
        "digest": first["digest"],
    }
    assert first.keys() == {"updates", "unread", "digest", "touched", "preflight", "built", "generation"}
    assert first["built"].keys() == {"index_key", "chunks", "embedded", "windowed", "seconds", "carried", "oversized"}
    assert (first["built"]["index_key"], first["built"]["chunks"], first["built"]["embedded"]) == (configure({}).index_key, 3, 3)
    second = as_json(run(*command))
    plan = second["updates"][0]["plan"]
    assert (second["built"], plan["unchanged"], plan["added"]) == (None, ["lake.md", "sky.md", "wood.md"], [])


def test_update_in_words(run: Run, notes: Path) -> None:
    """Without --json it prints counts, what changed, what failed and what was built; progress goes to standard error."""
    command = ("update", "--source", f"markdown:{notes}", "--corpus", "notes", "--yes")
    first = run(*command)
    assert "notes from markdown:notes: 3 added, 0 changed, 0 removed, 0 unchanged, 0 failed" in first.stdout
    assert "3 chunks, 3 texts embedded" in first.stdout
    assert "embed 3 of 3" in first.stderr
    (notes / "lake.md").unlink()
    (notes / "wood.md").write_text("# Wood\n\nTwo giants.")
    (notes / "sky.md").write_text("---\ntitle: [\n---\n")
    second = run(*command)
    assert second.exit_code == 3
    assert "  removed: lake.md" in second.stdout
    assert "  changed: wood.md" in second.stdout
    assert re.search(r"  failed: sky\.md: expected YAML", second.stdout)


def test_search_says_everything(made: Run) -> None:
    """JSON of search: question, configuration, hits with their attribution, and the trace."""
    found = as_json(made("search", "a serpent in the lake", "--corpus", "notes", "--json", "--set", "top_k=2"))
    assert found.keys() == {"question", "configuration", "hits", "trace"}
    assert found["configuration"] == configure({"top_k": 2}).to_dict()
    assert len(found["hits"]) == 2
    hit = found["hits"][0]
    assert hit.keys() == {
        "rank", "document", "title", "heading_path", "start", "end", "text", "score", "ranks", "scores", "source", "also_in"
    }  # fmt: skip
    assert (hit["rank"], hit["document"], hit["title"], hit["heading_path"]) == (1, "lake.md", "Lake", ["Lake"])
    assert hit["source"] == {"title": "Lake", "url": "notes/lake.md", "license": "CC0"}
    assert hit["ranks"] == {"dense": 1, "keyword": 1, "fused": 1}
    assert found["trace"].keys() == {"ms", "stages", "notices"}
    assert [stage["name"] for stage in found["trace"]["stages"]] == ["embed", "dense", "keyword", "fusion", "passages"]
    assert all(stage.keys() == {"name", "started_ms", "ms", "in", "out", "note", "ranking"} for stage in found["trace"]["stages"])


def test_search_in_words(made: Run) -> None:
    """Each passage with its heading, ranks, text and attribution, then notices and times."""
    result = made("search", "a serpent in the lake", "--corpus", "notes")
    assert result.exit_code == 0
    assert re.search(r"^1\. Lake › Lake  \[dense #1, keyword #1, fused #1; score 0\.0328\]$", result.stdout, re.MULTILINE)
    assert "— Lake, notes/lake.md, CC0" in result.stdout
    assert "note: Top K is 5, but only 3 chunks can be searched: they are all here." in result.stdout
    assert "structural-500·minilm·hybrid·k5" in result.stdout


def test_a_terminal_may_be_very_narrow(made: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of one column gets its answer all the same."""
    monkeypatch.setenv("COLUMNS", "1")
    assert "serpent" in made("search", "a serpent in the lake", "--corpus", "notes").stdout


def test_search_filters(made: Run) -> None:
    """--category, --region and --from narrow the result and may be repeated."""
    for options, expected in {
        ("--category", "aquatic"): {"lake.md"},
        ("--category", "aquatic", "--category", "hominid"): {"lake.md", "wood.md"},
        ("--region", "Asia"): {"wood.md"},
        ("--category", "aquatic", "--region", "Asia"): set(),
        ("--from", "markdown:notes"): {"lake.md", "wood.md", "sky.md"},
    }.items():
        found = as_json(made("search", "tale", "--corpus", "notes", "--json", *options))
        assert {hit["document"] for hit in found["hits"]} == expected


def test_a_question_may_begin_with_a_dash(made: Run) -> None:
    """After -- everything is the question."""
    assert as_json(made("search", "--corpus", "notes", "--json", "--", "-serpent"))["question"] == "-serpent"


def test_status_lists_what_is_there(made: Run) -> None:
    """JSON of status: corpora with documents, categories, sources and indexes; jobs; what cannot be read."""
    found = as_json(made("status", "--json"))
    assert found.keys() == {"corpora", "broken", "jobs"}
    (corpus,) = found["corpora"]
    assert corpus["sources"].keys() == {"markdown:notes"}
    (index,) = corpus["indexes"]
    assert index["index_key"] == configure({}).index_key
    facts = {name: corpus[name] for name in ("name", "generation", "language", "documents", "categories")}
    assert facts == {
        "name": "notes",
        "generation": "000001",
        "language": "english",
        "documents": 3,
        "categories": {"aquatic": 1, "hominid": 1},
    }
    assert "notes: generation 000001, 3 documents, english" in made("status").stdout
    assert as_json(made("status", "--corpus", "notes", "--json"))["corpora"] == found["corpora"]


def test_status_of_nothing(run: Run, data_dir: Path) -> None:
    """Before anything was made it says so, names the command that makes something, and makes nothing itself."""
    assert as_json(run("status", "--json")) == {"corpora": [], "broken": [], "jobs": []}
    assert "python -m sitt_core update --source field-guide --yes" in run("status").stdout
    assert files(data_dir) == set()


def test_status_while_an_index_is_being_built(made: Run, data_dir: Path) -> None:
    """A half-built file beside the indexes is not counted."""
    key = configure({}).index_key
    (data_dir / "store" / "notes" / "000001" / f".building-{key}.2.duckdb").write_bytes(b"half")
    assert [index["index_key"] for index in as_json(made("status", "--json"))["corpora"][0]["indexes"]] == [key]


def test_status_with_a_broken_corpus_shows_the_others(made: Run, data_dir: Path) -> None:
    """The one that cannot be read is named with its error, and the exit code is 1."""
    (data_dir / "store" / "broken").mkdir()
    (data_dir / "store" / "broken" / "CURRENT").write_text("garbage")
    result = made("status", "--json")
    assert (result.exit_code, result.stderr) == (1, "Cannot be read: broken\n")
    found = json.loads(result.stdout)
    assert [corpus["name"] for corpus in found["corpora"]] == ["notes"]
    assert (found["broken"][0]["name"], found["broken"][0]["error"]["kind"]) == ("broken", "StoreError")
    assert "broken: expected broken/CURRENT" in made("status").stdout
    named(made("status", "--corpus", "broken"), "StoreError")


def test_index_builds_once(made: Run) -> None:
    """JSON of index: its key and what was built, or null when it was there; --rebuild builds it all the same."""
    command = ("index", "--corpus", "notes", "--json", "--set", "chunking.strategy=sentence")
    key = configure({"chunking.strategy": "sentence"}).index_key
    first = as_json(made(*command))
    assert (first["index_key"], first["built"]["chunks"]) == (key, 3)
    assert as_json(made(*command)) == {"index_key": key, "built": None}
    assert as_json(made(*command, "--rebuild"))["built"]["embedded"] == 0
    assert "--rebuild" in made(*command[:3], "--set", "chunking.strategy=sentence").stdout


def test_index_estimates(made: Run, data_dir: Path) -> None:
    """With --dry-run it says what it would take and writes nothing."""
    before = files(data_dir)
    command = ("index", "--corpus", "notes", "--dry-run", "--set", "chunking.header=off")
    found = as_json(made(*command, "--json"))
    assert found.keys() == {"index_key", "chunks", "cached", "sentences", "seconds"}
    assert (found["index_key"], found["chunks"]) == (configure({"chunking.header": "off"}).index_key, 3)
    assert re.search(r"^3 chunks, \d vectors cached, about ", made(*command).stdout)
    assert files(data_dir) == before


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["words", "JSON"])
def test_a_dry_run_writes_nothing(run: Run, notes: Path, data_dir: Path, embedder: HashEmbedder, form: tuple[str, ...]) -> None:
    """It shows the plan, and there is no data folder afterwards, nothing embedded, nothing asked."""
    result = run("update", "--source", f"markdown:{notes}", "--corpus", "notes", "--dry-run", *form)
    assert result.exit_code == 0
    assert "lake.md" in result.stdout or "3 added" in result.stdout
    assert not data_dir.exists()
    assert embedder.embedded == []


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["words", "JSON"])
def test_an_update_that_nobody_can_confirm_is_refused(run: Run, notes: Path, data_dir: Path, form: tuple[str, ...]) -> None:
    """Without a terminal, or with --json, --yes is needed."""
    line = named(run("update", "--source", f"markdown:{notes}", "--corpus", "notes", *form), "InvalidInput")
    assert "--yes" in line
    assert files(data_dir) == set()


@pytest.mark.parametrize(
    ("answer", "published"), [("y\n", True), ("n\n", False), ("\n", False), ("", False)], ids=["y", "n", "blank", "end"]
)
def test_at_a_terminal_update_asks(
    run: Run, notes: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch, answer: str, published: bool
) -> None:
    """Only a yes publishes; anything else ends with exit code 1 and leaves nothing."""
    monkeypatch.setattr(typer.testing._NamedTextIOWrapper, "isatty", lambda _: True, raising=False)
    result = run("update", "--source", f"markdown:{notes}", "--corpus", "notes", answer=answer)
    assert "Publish this?" in result.output
    assert result.exit_code == (0 if published else 1)
    assert bool(files(data_dir)) == published


def test_update_builds_an_index_that_is_missing(made: Run, notes: Path) -> None:
    """An unchanged source with another indexing configuration gets its index, in the same generation."""
    made("update", "--source", f"markdown:{notes}", "--corpus", "notes", "--moved", "--yes")
    command = ("update", "--source", f"markdown:{notes}", "--corpus", "notes", "--json", "--set", "chunking.strategy=fixed")
    assert as_json(made(*command))["built"]["index_key"] == configure({"chunking.strategy": "fixed"}).index_key
    (corpus,) = as_json(made("status", "--json"))["corpora"]
    assert (corpus["generation"], len(corpus["indexes"])) == ("000002", 2)


def test_a_language_is_set_kept_and_changed(run: Run, notes: Path) -> None:
    """A corpus keeps its language through updates, and another one rebuilds it though no document changed."""
    command = ("update", "--source", f"markdown:{notes}", "--corpus", "notes", "--yes", "--json")
    for options, expected, built in (
        (("--language", "german"), "german", True),
        ((), "german", False),
        (("--language", "german"), "german", False),
        (("--language", "none"), "none", True),
    ):
        assert bool(as_json(run(*command, *options))["built"]) == built
        assert as_json(run("status", "--json"))["corpora"][0]["language"] == expected
    assert as_json(run("search", "serpent", "--corpus", "notes", "--json"))["hits"]


ALLOWED = {field.name: re.escape(field.allowed) for field in FIELDS}

BAD_SETTINGS = {
    "unknown field": ("top=3", r"one of the fields chunking\.strategy.*got 'top'"),
    "unknown value": ("dense=faiss", rf"dense to be {ALLOWED['dense']}; got 'faiss'"),
    "case": ("dense=OFF", rf"dense to be {ALLOWED['dense']}"),
    "K below 1": ("top_k=0", r"top_k to be a whole number from 1 to 100; got '0'"),
    "negative": ("top_k=-1", r"from 1 to 100"),
    "no number": ("top_k=five", r"from 1 to 100"),
    "a fraction": ("top_k=2.5", r"from 1 to 100"),
    "a huge number": ("top_k=" + "9" * 5000, r"from 1 to 100"),
    "K above the candidates": ("top_k=51", r"top_k of at most fusion\.candidates \(50\)"),
    "no value": ("top_k", r"--set FIELD=VALUE; got 'top_k'"),
    "empty value": ("top_k=", r"from 1 to 100; got ''"),
    "no name": ("=5", r"one of the fields .*got ''"),
    "nothing": ("", r"--set FIELD=VALUE; got ''"),
    "two signs": ("chunking.strategy=fixed=1", rf"chunking\.strategy to be {ALLOWED['chunking.strategy']}; got 'fixed=1'"),
    "no text": ("top_k=\udcff", r"got '\\udcff'"),
    "control characters": ("top_k=\x1b[2J\n", r"got '\\x1b\[2J'"),
}


@pytest.mark.parametrize("pair", [pytest.param(case, id=name) for name, case in BAD_SETTINGS.items()])
@pytest.mark.parametrize("command", ["update", "index", "search"])
def test_a_bad_setting_is_named_by_every_command(run: Run, notes: Path, data_dir: Path, command: str, pair: tuple[str, str]) -> None:
    """Update, index and search refuse it with the allowed values, before they look at anything, in words and in JSON."""
    rest = {"update": ("--source", f"markdown:{notes}", "--yes"), "index": (), "search": ("Who?",)}[command]
    setting, pattern = pair
    line = named(run(command, *rest, "--set", setting), "InvalidInput")
    assert re.search(pattern, line)
    assert len(line) < 500
    result = run(command, *rest, "--set", setting, "--json")
    named(result, "InvalidInput")
    assert json.loads(result.stdout)["error"].keys() == {"kind", "message", "expected", "got", "remedy"}
    assert files(data_dir) == set()


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(("chunking.strategy=fixed", "chunking.overlap=256"), id="overlap = size"),
        pytest.param(("chunking.strategy=fixed", "chunking.size=10"), id="the strategy's overlap above the size"),
        pytest.param(("fusion.candidates=3",), id="candidates below K"),
    ],
)
def test_settings_that_contradict_each_other_are_named(run: Run, settings: tuple[str, ...]) -> None:
    """Fields are checked together too."""
    named(run("search", "Who?", *(part for setting in settings for part in ("--set", setting))), "InvalidInput")


def test_settings_are_applied_in_order_without_their_white_space(made: Run) -> None:
    """The last of several values counts, and a new strategy brings its own size."""
    made("index", "--corpus", "notes", "--set", "chunking.strategy=fixed")
    found = as_json(
        made(
            "search", "lake", "--corpus", "notes", "--json", "--set", "top_k=1", "--set", " top_k = 3 ", "--set", "chunking.strategy=fixed"
        )
    )
    assert found["configuration"] == configure({"top_k": 3, "chunking.strategy": "fixed"}).to_dict()


@pytest.mark.parametrize(
    "command", [("status",), ("search", "Who?"), ("index",), ("doctor",), ("update", "--source", "field-guide")], ids=str
)
@pytest.mark.parametrize(("variable", "value"), [("SITT_TOP_K", "0"), ("SITT_DENSE", "maybe"), ("SITT_PORT", "http"), ("SITT_TOP_K", "60")])
def test_a_bad_variable_is_named_by_every_command(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], variable: str, value: str
) -> None:
    """The error names the variable and where it may stand."""
    monkeypatch.setenv(variable, value)
    line = named(run(*command), "InvalidInput")
    assert variable in line
    assert ".env" in line


@pytest.mark.parametrize(
    ("question", "said"),
    [
        pytest.param("", "nothing but white space", id="empty"),
        pytest.param(" \t\n", "nothing but white space", id="blank"),
        pytest.param("?!", "only punctuation", id="punctuation"),
        pytest.param("a" * 4001, "4,001 characters", id="too long"),
        pytest.param("a\x00b", "a NUL character", id="NUL"),
        pytest.param("a\udcff", "a lone surrogate", id="no text"),
    ],
)
def test_a_question_that_cannot_be_asked_is_named_before_anything_is_loaded(
    run: Run, monkeypatch: pytest.MonkeyPatch, question: str, said: str
) -> None:
    """No model, no corpus: the question alone decides."""
    monkeypatch.setitem(build.EMBEDDERS, "minilm", lambda **_: pytest.fail("the model was loaded"))
    assert said in named(run("search", question), "InvalidInput")


BAD_INPUTS = {
    "search, corpus name": (("search", "Who?", "--corpus", "../x"), "InvalidInput", "a corpus name"),
    "search, no such corpus": (("search", "Who?", "--corpus", "atlas"), "NotFound", r"there are: notes.*python -m sitt_core update"),
    "search, unknown category": (("search", "Who?", "--corpus", "notes", "--category", "x"), "InvalidInput", "aquatic, hominid; got 'x'"),
    "search, unknown region": (("search", "Who?", "--corpus", "notes", "--region", "x"), "InvalidInput", "Asia, Europe; got 'x'"),
    "search, unknown source": (("search", "Who?", "--corpus", "notes", "--from", "'; DROP"), "InvalidInput", "markdown:notes; got .*DROP"),
    "search, neither retriever": (
        ("search", "Who?", "--corpus", "notes", "--set", "dense=off", "--set", "keyword=off"),
        "InvalidInput",
        "dense or keyword to be on",
    ),
    "search, no such index": (("search", "Who?", "--corpus", "notes", "--set", "chunking.size=77"), "IndexMissing", "sitt_core index"),
    "index, no such corpus": (("index", "--corpus", "atlas"), "NotFound", "there are: notes"),
    "status, no such corpus": (("status", "--corpus", "atlas"), "NotFound", "there are: notes"),
    "status, no text": (("status", "--corpus", "\udcff"), "InvalidInput", r"got '\\udcff'"),
    "status, corpus name": (("status", "--corpus", "A B"), "InvalidInput", "a corpus name"),
    "update, corpus name": (("update", "--source", "field-guide", "--corpus", "A", "--yes"), "InvalidInput", "a corpus name"),
    "update, unknown source": (("update", "--source", "wiki", "--yes"), "InvalidInput", r"markdown:PATH, beir:PATH.*; got 'wiki'"),
    "update, no such folder": (("update", "--source", "markdown:/no/such", "--yes"), "SourceError", "does not exist"),
    "update, nobody's home": (("update", "--source", "markdown:~no-such-user/x", "--yes"), "InvalidInput", "the path of a folder"),
    "update, language": (("update", "--source", "field-guide", "--language", "latin", "--dry-run"), "InvalidInput", "english, danish"),
}


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in BAD_INPUTS.items()])
def test_every_bad_input_is_named(made: Run, data_dir: Path, case: tuple[tuple[str, ...], str, str]) -> None:
    """Exit code 1, one line that says what was expected, what came and what to do, and nothing is written."""
    arguments, kind, pattern = case
    before = files(data_dir)
    assert re.search(pattern, named(made(*arguments), kind))
    result = made(*arguments, "--json")
    named(result, kind)
    error = json.loads(result.stdout)["error"]
    assert error["kind"] == kind
    assert error["expected"] and error["got"] and error["remedy"]
    assert files(data_dir) == before


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("nonsense",), id="unknown command"),
        pytest.param(("search",), id="no question"),
        pytest.param(("search", "a", "b"), id="two questions"),
        pytest.param(("status", "--nonsense"), id="unknown option"),
        pytest.param(("search", "Who?", "--set"), id="an option without its value"),
        pytest.param(("index", "--job", "/no/such/folder"), id="no such job"),
    ],
)
def test_wrong_usage_is_exit_code_2(run: Run, arguments: tuple[str, ...]) -> None:
    """What the command line itself cannot make sense of is usage, said on standard error."""
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Error:" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(run: Run, command: str) -> None:
    """--help says what it does and which options it takes; every field of the configuration is in it where --set is."""
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "--json" in result.stdout
    if command in ("update", "index", "search"):
        assert all(field.name in result.stdout for field in FIELDS)
        assert "--corpus" in result.stdout
    assert "--job" not in result.stdout
    assert command in run("--help").stdout


@pytest.mark.parametrize("changes", [{"chunking.size": 77}, {"chunking.strategy": "fixed", "chunking.header": "off"}], ids=str)
def test_the_command_that_a_missing_index_names_works(made: Run, changes: dict[str, object]) -> None:
    """What the error tells to run, with the same --set options, makes the search work."""
    options = [part for name, value in changes.items() for part in ("--set", f"{name}={value}")]
    line = named(made("search", "serpent", "--corpus", "notes", *options), "IndexMissing")
    told = re.search(r"python -m sitt_core (index --corpus [a-z-]+) with the same --set options", line)
    assert told
    assert made(*shlex.split(told[1]), *options).exit_code == 0
    assert as_json(made("search", "serpent", "--corpus", "notes", "--json", *options))["hits"]


def test_the_command_that_an_outdated_index_names_works(made: Run, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index of another embedder is refused, and the rebuild that the error names mends it."""
    other = HashEmbedder(seed=9)
    monkeypatch.setitem(build.EMBEDDERS, "minilm", lambda **_: other)
    line = named(made("search", "serpent", "--corpus", "notes"), "FingerprintError")
    assert "fake 9 (8)" in line
    assert "fake 0 (8)" in line
    told = re.search(r"python -m sitt_core (index --corpus notes --rebuild) with", line)
    assert told
    assert made(*shlex.split(told[1])).exit_code == 0
    assert as_json(made("search", "serpent", "--corpus", "notes", "--json"))["hits"]


def test_a_spoilt_index_is_mended_as_its_error_says(made: Run, data_dir: Path) -> None:
    """Search names the file and the rebuild; the rebuild works."""
    path = index_file(data_dir / "store" / "notes" / "000001", configure({}).index_key)
    assert path is not None
    path.write_bytes(path.read_bytes()[:5000])
    assert path.name in named(made("search", "serpent", "--corpus", "notes"), "StoreError")
    assert made("index", "--corpus", "notes", "--rebuild").exit_code == 0
    assert as_json(made("search", "serpent", "--corpus", "notes", "--json"))["hits"]


def test_a_source_without_a_readable_document_makes_no_corpus(run: Run, tmp_path: Path, data_dir: Path) -> None:
    """A first update of which nothing would remain is a SourceError with the reason, not an empty corpus."""
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "a.md").write_bytes(b"\x00")
    assert "NUL bytes in a.md" in named(run("update", "--source", f"markdown:{tmp_path / 'bad'}", "--yes"), "SourceError")
    assert files(data_dir) == set()


def test_an_embedder_that_is_down_is_named(run: Run, notes: Path, embedder: HashEmbedder, data_dir: Path) -> None:
    """A failed build says what failed and publishes nothing; when the embedder is up again the same command works."""
    embedder.down_after = 0
    command = ("update", "--source", f"markdown:{notes}", "--corpus", "notes", "--yes")
    result = run(*command)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == "ModelError: expected the embedder to answer; got no answer. Start it."
    assert as_json(run("status", "--json"))["corpora"] == []
    embedder.down_after = None
    assert run(*command).exit_code == 0


@pytest.mark.parametrize(
    "command", [("search", "Who?"), ("index",), ("status",), ("update", "--source", "field-guide", "--yes"), ("doctor",)], ids=str
)
def test_a_file_where_the_data_folder_should_be(run: Run, data_dir: Path, command: tuple[str, ...]) -> None:
    """No command ends in a traceback because of it."""
    data_dir.write_text("")
    result = run(*command)
    assert isinstance(result.exception, SystemExit | None)
    assert result.exit_code == 1
    assert "Traceback" not in result.output


def test_a_job_leaves_progress_and_result(made: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --job progress goes to the job's folder, nobody is asked, and the result says done."""
    monkeypatch.setattr(os, "nice", lambda _: 0)
    folder = a_job(tmp_path)
    assert made("index", "--corpus", "notes", "--set", "chunking.strategy=fixed", "--job", str(folder)).exit_code == 0
    job = jobs.read(folder)
    assert (job.state, job.stage, job.done, job.total) == ("done", "write", 1, 1)


def test_a_job_that_fails_says_why(run: Run, notes: Path, embedder: HashEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result holds the error's own words, whether a module or the model failed."""
    monkeypatch.setattr(os, "nice", lambda _: 0)
    embedder.down_after = 0
    folder = a_job(tmp_path)
    assert run("update", "--source", f"markdown:{notes}", "--job", str(folder)).exit_code == 1
    job = jobs.read(folder)
    assert (job.state, job.message) == ("failed", "expected the embedder to answer; got no answer. Start it.")


def test_a_cancelled_job_stops(run: Run, notes: Path, tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cancel file ends it at its next step with a named outcome, and nothing is published."""
    monkeypatch.setattr(os, "nice", lambda _: 0)
    folder = a_job(tmp_path)
    (folder / "cancel").touch()
    named(run("update", "--source", f"markdown:{notes}", "--corpus", "notes", "--job", str(folder)), Cancelled.__name__)
    assert jobs.read(folder).state == "cancelled"
    assert as_json(run("status", "--json"))["corpora"] == []


def a_job(tmp_path: Path) -> Path:
    folder = tmp_path / "job"
    folder.mkdir()
    facts = {"title": "A job", "key": "k", "pid": os.getpid(), "started": 0.0}
    (folder / "job.json").write_text(json.dumps(facts))
    return folder


def test_stopping_with_control_c_is_a_named_outcome(run: Run, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line and exit code 1."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(build, "read_source", interrupted)
    result = run("update", "--source", f"markdown:{notes}")
    assert (result.exit_code, result.stderr) == (1, "Cancelled: stopped by you; what was finished is kept.\n")


def test_doctor_reports_every_check(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON of doctor: name, state, detail and remedy of each; a failed one makes the exit code 1 and is named on standard error."""

    def missing(**_: object) -> HashEmbedder:
        raise ModelError(expected="weights", got="none", remedy="Install them.")

    monkeypatch.setitem(build.EMBEDDERS, "minilm", missing)
    result = run("doctor", "--json")
    assert (result.exit_code, result.stderr) == (1, "1 of 9 checks failed: embedder\n")
    checks = json.loads(result.stdout)["checks"]
    assert all(check.keys() == {"name", "state", "detail", "remedy"} for check in checks)
    assert [check["remedy"] for check in checks if check["state"] == "failed"] == ["Install them."]
    assert "Install them." in run("doctor").stdout


def process(data_dir: Path, *arguments: str | bytes, **variables: str) -> subprocess.CompletedProcess[str]:
    """`python -m sitt_core` as a user runs it."""
    return subprocess.run(
        [sys.executable, "-m", "sitt_core", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment(data_dir), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def test_from_a_folder_to_an_answer(tmp_path: Path, notes: Path) -> None:
    """With the real embedder in processes of their own: update, status, search, and a second search in plain ASCII."""
    data_dir = tmp_path / "data"
    updated = process(data_dir, "update", "--source", f"markdown:{notes}", "--corpus", "notes", "--yes", "--json")
    assert updated.returncode == 0, updated.stderr
    assert json.loads(updated.stdout)["built"]["chunks"] == 3
    found = process(data_dir, "search", "Which animal swims?", "--corpus", "notes", "--json")
    assert (found.returncode, found.stderr) == (0, "")
    assert json.loads(found.stdout)["hits"][0]["document"] == "lake.md"
    plain = process(data_dir, "search", "serpent", "--corpus", "notes", "--set", "dense=off", PYTHONIOENCODING="ascii")
    assert (plain.returncode, plain.stderr) == (0, "")
    assert "Lake \\u203a Lake" in plain.stdout
    (notes / "sky.md").write_text("# Sky\n\nÉ 😀", encoding="utf-8")
    assert process(data_dir, "update", "--source", f"markdown:{notes}", "--corpus", "notes", "--yes").returncode == 0
    for encoding in ("ascii", "latin-1"):
        escaped = process(data_dir, "search", "sky", "--corpus", "notes", "--set", "dense=off", "--json", PYTHONIOENCODING=encoding)
        assert json.loads(escaped.stdout)["hits"][0]["text"] == "# Sky\n\nÉ 😀", encoding


def test_bytes_that_are_no_text_are_a_named_failure(tmp_path: Path) -> None:
    """A question or a folder in no encoding is refused in one line."""
    (folder := tmp_path / os.fsdecode(b"n\xff")).mkdir()
    (folder / "a.md").write_text("# A\n\nText.")
    for arguments in (
        ("search", b"\xff\xfe"),
        ("update", "--yes", "--source", b"markdown:" + os.fsencode(folder)),
    ):
        done = process(tmp_path / "data", *arguments)
        assert (done.returncode, done.stdout) == (1, "")
        assert re.fullmatch(r"InvalidInput: .*\n", done.stderr)


def test_an_unforeseen_exception_shows_no_secret(tmp_path: Path) -> None:
    """A traceback has neither keys nor local variables in it."""
    secret = "sk-very-secret-0123456789"
    code = (
        "import sys\nfrom sitt_core import build\nfrom sitt_core.surfaces import cli\n"
        "def broken(spec, corpus, **more):\n    import os\n    key = os.environ['ANTHROPIC_API_KEY']\n    raise RuntimeError('unforeseen')\n"
        "build.read_source = broken\nsys.argv = ['sitt_core', 'update', '--source', 'field-guide']\ncli.main()\n"
    )
    variables = {**os.environ, **environment(tmp_path / "data"), "ANTHROPIC_API_KEY": secret}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=variables, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "RuntimeError: unforeseen" in done.stderr
    assert secret not in done.stdout + done.stderr


def test_interrupted_while_it_loads(tmp_path: Path) -> None:
    """Ctrl-C before the first command has begun ends it without a traceback."""
    code = """
import runpy, sys

class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "sitt_core.surfaces.cli":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
runpy.run_module("sitt_core", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_json_without_a_standard_output(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed standard output is no error of its own: the exit code still tells."""
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(typer.Exit):
        cli.status_(corpus="nowhere", as_json_=True)


def test_no_command_shows_a_key(made: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """With keys set, no output of any command holds one."""
    for name in KEYS:
        monkeypatch.setenv(name, "sk-very-secret-0123456789")
    for command in (("status",), ("doctor",), ("search", "lake", "--corpus", "notes"), ("index", "--corpus", "notes")):
        for form in ((), ("--json",)):
            assert "very-secret" not in made(*command, *form).output


def test_two_corpora_stand_side_by_side(made: Run, data_dir: Path) -> None:
    """What is asked of one never comes from the other."""
    corpora.publish(data_dir / "store")
    assert [corpus["name"] for corpus in as_json(made("status", "--json"))["corpora"]] == ["notes", "tales"]
    found = as_json(made("search", "giant", "--corpus", "tales", "--json", "--set", "dense=off"))
    assert {hit["document"] for hit in found["hits"]} == {"forest.md", "ice.md"}


def test_another_folder_of_the_same_name_is_not_the_same_source(run: Run, tmp_path: Path) -> None:
    """It would retire the first folder's documents: refused by name, unless the folder is said to have moved."""
    for place, name in (("one", "a.md"), ("two", "b.md")):
        (tmp_path / place / "notes").mkdir(parents=True)
        (tmp_path / place / "notes" / name).write_text("# Note\n\nA lake.\n", encoding="utf-8")
    update = ("update", "--corpus", "notes", "--yes", "--source")
    assert run(*update, f"markdown:{tmp_path / 'one' / 'notes'}").exit_code == 0
    refused = run(*update, f"markdown:{tmp_path / 'two' / 'notes'}")
    assert refused.exit_code == 1
    assert "--moved" in refused.stderr
    assert "--corpus NAME" in refused.stderr
    assert run(*update, f"markdown:{tmp_path / 'two' / 'notes'}", "--moved").exit_code == 0


def test_an_update_with_unreadable_documents_publishes_the_others_and_says_so(run: Run, tmp_path: Path) -> None:
    """W7: what could be read is published, what could not is listed, and the exit code is 3."""
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "good.md").write_text("# Good\n\nA lake.\n", encoding="utf-8")
    (folder / "bad.md").write_bytes(b"\x00\x00\x00")
    done = run("update", "--corpus", "mixed", "--yes", "--source", f"markdown:{folder}")
    assert done.exit_code == 3
    assert "failed: bad.md" in done.stdout
    assert re.search(r"1 documents that could not be read \(bad\.md: .*\); all others are published", done.stderr)
    assert run("search", "lake", "--corpus", "mixed").exit_code == 0
    again = run("update", "--corpus", "mixed", "--yes", "--source", f"markdown:{folder}", "--json")
    answer = json.loads(again.stdout)
    plan = answer["updates"][0]["plan"]
    assert (plan["unchanged"], answer["built"], answer["error"]["kind"], again.exit_code) == (["good.md"], None, "PartlyApplied", 3)


def test_status_and_doctor_take_a_configuration_and_a_corpus(made: Run) -> None:
    """status says whether the configuration's index is built, doctor opens it; one that is missing is told."""
    (there,) = as_json(made("status", "--corpus", "notes", "--json"))["corpora"]
    assert there["asked"]["built"] is True
    fixed = ("--corpus", "notes", "--set", "chunking.strategy=fixed")
    assert as_json(made("status", *fixed, "--json"))["corpora"][0]["asked"]["built"] is False
    assert "needs building" in made("status", *fixed).stdout
    checks = {check["name"]: check for check in json.loads(made("doctor", "--corpus", "notes", "--json").stdout)["checks"]}
    assert checks["corpus notes"]["state"] == "ok"
    checks = {check["name"]: check for check in json.loads(made("doctor", *fixed, "--json").stdout)["checks"]}
    assert checks["corpus notes"]["state"] == "note"


def test_a_site_becomes_a_corpus(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a reader should know of the whole is told with the plan; a site that has not changed is asked, and stays as it is."""
    for name, value in (("ALLOW_PRIVATE", "yes"), ("CONTACT", "somebody@example.org"), ("FETCH_INTERVAL", "0")):
        monkeypatch.setenv(f"SITT_{name}", value)
    with FakeSite() as site:
        site.page("/keeper", article("The keeper", "The keeper of the lake lives in a hut, and has seen it in the evening."))
        site.page("/serpent", article("The serpent", "A serpent was seen in the lake at dawn by three men in a boat."))
        site.put("/sitemap.xml", site.sitemap("/keeper", "/serpent", "http://other.invalid/page"))
        command = ("update", "--source", f"sitemap:{site.url}/sitemap.xml", "--corpus", "site", "--yes")
        (told,) = as_json(run(*command, "--json"))["updates"]
        assert [id_.rpartition("/")[2] for id_ in told["plan"]["added"]] == ["keeper", "serpent"]
        assert any("other" in notice for notice in told["notices"])
        printed = run(*command).stdout
        assert "2 unchanged" in printed
        assert told["notices"][0] in printed

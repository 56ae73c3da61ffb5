"""`python -m evals`: runs from the command line, what it prints, JSON, exit codes, stopping and going on, and golden sets."""

import csv
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from evals.golden import question_entry
from sitt_core.settings import ROOT
from sitt_core.surfaces.cli import app as core
from sitt_core.surfaces.cli_evals import app, spread
from tests.fakes import lab
from tests.fakes.command_line import as_json, environment, named
from tests.fakes.corpora import TALES

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A store with the tales, and the golden set beside it."""
    base = tmp_path_factory.mktemp("lab")
    (base / "notes").mkdir()
    for name, category, region, text in TALES:
        (base / "notes" / f"{name}.md").write_text(f"---\ncategory: {category}\nregion: {region}\n---\n{text}")
    (base / "tales.yaml").write_text(yaml.safe_dump([question_entry(question) for question in lab.GOLDEN.questions], allow_unicode=True))
    made = {**environment(base / "data"), "SITT_EMBEDDER": "hash", "TALES": str(base / "tales.yaml")}
    updated = CliRunner().invoke(core, ["update", "--source", f"markdown:{base / 'notes'}", "--corpus", "tales", "--yes"], env=made)
    assert updated.exit_code == 0, updated.output
    return made


@pytest.fixture
def evals(variables: dict[str, str]) -> Run:
    """The command line on that store."""
    return lambda *arguments: CliRunner().invoke(app, spread(arguments), env=variables)


@pytest.fixture
def run(evals: Run, variables: dict[str, str]) -> Run:
    """`evals run` on the tales."""
    return lambda *arguments: evals("run", "--questions", variables["TALES"], "--corpus", "tales", *arguments)


def test_a_line_for_every_question_and_a_summary(run: Run) -> None:
    """PASS, FAIL with its top five, their scores and what was expected, unanswerable ones apart, then the table."""
    result = run("--set", "dense=off", "--set", "top_k=1")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "6 questions × 1 configurations on tales: 6 rows"
    assert any(line.startswith("PASS  neck") and line.endswith("rank 1") for line in lines)
    assert sum(line.startswith("  –   ") for line in lines) == 2
    assert "recall@5" in result.stdout


def test_a_fail_shows_what_came_instead(run: Run, tmp_path: Path, variables: dict[str, str]) -> None:
    """Up to five passages with their scores and places, and which documents were expected."""
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(yaml.safe_dump([{"id": "odd", "kind": "detail", "text": "Which bird crossed the sky?", "documents": ["mine.md"]}]))
    result = run("--questions", str(wrong), "--set", "dense=off", "--metrics", "recall@top_k")
    (failed,) = [at for at, line in enumerate(result.stdout.splitlines()) if line.startswith("FAIL  odd")]
    told = result.stdout.splitlines()[failed:]
    assert "expected mine.md; no retriever handed it over" in told[1]
    assert told[2].split()[:1] == ["1."]
    assert "sky.md [0:" in told[2]


def test_json_is_one_document_of_the_promised_shape(run: Run) -> None:
    """Run, questions, and for every configuration key, slug, fields, metrics with n of m, latencies."""
    told = as_json(run("--grid", "dense=exact,off", "keyword=bm25s,off", "--json"))
    assert (told["questions"], told["state"], len(told["results"]), len(told["skipped"])) == (6, "done", 3, 1)
    for each in told["results"]:
        assert {"key", "slug", "configuration", "metrics", "latency_ms"} <= each.keys()
        assert each["metrics"]["recall@5"].keys() >= {"mean", "n", "of"}
        assert (each["metrics"]["recall@5"]["n"], each["metrics"]["recall@5"]["of"]) == (4, 4)
        assert (each["metrics"]["coverage@5"]["n"], each["metrics"]["coverage@5"]["of"]) == (3, 4)
        assert each["latency_ms"]["total"]["p95"] >= each["latency_ms"]["total"]["p50"]
    assert {each["configuration"]["dense"] for each in told["results"]} == {"exact", "off"}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        pytest.param(["--split", "sealed"], 2, "confirm", id="sealed questions are confirm's"),
        pytest.param(["--split", "test"], 2, "open", id="a split that is none"),
        pytest.param(["--grid", "dense=off", "keyword=off"], 2, "skipped", id="nothing that can run"),
        pytest.param(["--grid", "chunkin=whole"], 1, "one of the fields", id="unknown field"),
        pytest.param(["--grid", "keyword=bm26"], 1, "bm25s | rank-bm25 | off", id="unknown value"),
        pytest.param(["--metrics", "recal@5"], 1, "a metric", id="unknown metric"),
        pytest.param(["--kinds", "detial"], 1, "kinds of tales", id="unknown kind"),
        pytest.param(["--preset", "mine"], 1, "default, reproduction", id="unknown preset"),
        pytest.param(["--questions", "/nowhere.yaml"], 1, "a golden set", id="no such set"),
        pytest.param(["--corpus", "nowhere"], 1, "a corpus", id="no such corpus"),
        pytest.param(["--resume", "1999"], 1, "the id of a run", id="no such run"),
        pytest.param(["--baseline", "zzz"], 1, "the key of one configuration", id="no such baseline"),
        pytest.param(["--dataset", "mteb:x"], 1, "beir:PATH", id="no such dataset"),
    ],
)
def test_what_cannot_run_is_named(run: Run, arguments: list[str], code: int, said: str) -> None:
    """One line with what was expected, and no traceback; 2 for wrong usage and for a grid of which nothing can run."""
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert said in result.stderr
    assert "Traceback" not in result.output


def test_a_dry_run_says_what_it_takes_and_writes_nothing(run: Run, evals: Run) -> None:
    """Questions, configurations, indexes to build with their time, answers with their cost."""
    before = as_json(evals("runs", "--json"))
    told = as_json(
        run("--grid", "chunking.strategy=structural,fixed", "keyword=bm25s,bm25s", "--metrics", "answers", "--dry-run", "--json")
    )
    assert (told["questions"], len(told["configurations"]), told["duplicates"], told["answers"], told["dollars"]) == (6, 2, 2, 12, 0.0)
    assert [each["chunks"] > 0 for each in told["indexes_to_build"]] == [True]
    assert as_json(evals("runs", "--json")) == before


def test_what_costs_money_is_asked_first(run: Run) -> None:
    """Where nobody can be asked, a paid model needs --yes; nothing has been started by then."""
    result = run("--set", "answer.provider=openai", "--metrics", "answers")
    assert "at most $" in result.stdout
    assert "--yes" in named(result, "InvalidInput")


def test_runs_show_export_and_compare(run: Run, evals: Run, tmp_path: Path) -> None:
    """A run is listed, shown again, exported with every row, and two of its configurations are read side by side."""
    told = as_json(run("--grid", "keyword=bm25s,off", "--metrics", "recall@5", "recall@top_k", "answers", "--name", "both ways", "--json"))
    listed = as_json(evals("runs", "--json"))["runs"]
    assert next((each["name"], each["rows"], each["state"]) for each in listed if each["run"] == told["run"]) == ("both ways", 12, "done")
    assert "both ways" in evals("runs").stdout
    assert as_json(evals("show", told["run"], "--json"))["results"] == told["results"]
    file = tmp_path / "rows.csv"
    assert evals("export", told["run"], "--csv", "--output", str(file)).exit_code == 0
    rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 12
    assert {row["recall@5"] for row in rows if row["question"] == "neck"} == {"1.0"}
    one, other = (each["key"] for each in told["results"])
    pairs = as_json(evals("compare", f"{told['run']}:{one}", f"latest:{other}", "--answers", "--json"))["questions"]
    assert len(pairs) == 6
    assert all(side["answer"]["text"] for pair in pairs for side in pair["sides"])
    text = evals("compare", f"{told['run']}:{one}", f"{told['run']}:{other}", "--answers").stdout
    assert "A structural" in text
    assert "B structural" in text


def test_compare_says_when_there_is_nothing_to_compare(run: Run, evals: Run) -> None:
    """A key that is none, a run without answers."""
    told = as_json(run("--grid", "keyword=bm25s,off", "--json"))
    assert "a configuration of run" in named(evals("compare", f"{told['run']}:zz", f"{told['run']}:zz"), "NotFound")
    assert "RUN:KEY" in named(evals("compare", told["run"], told["run"]), "InvalidInput")
    pair = [f"{told['run']}:{each['key']}" for each in told["results"]]
    assert "--metrics answers" in named(evals("compare", *pair, "--answers"), "InvalidInput")
    assert evals("compare", *pair).exit_code == 0


def test_check_finds_what_is_wrong(evals: Run, variables: dict[str, str]) -> None:
    """The stale question of the tales is found, with exit code 1; counts and sealed shares by kind are told."""
    result = evals("questions", "check", "--questions", variables["TALES"], "--corpus", "tales", "--json")
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert [(each["question"], each["kind"]) for each in told["findings"]] == [("gone", "stale")]
    assert told["kinds"]["unanswerable"] == 2
    assert "stale      gone" in evals("questions", "check", "--questions", variables["TALES"], "--corpus", "tales").stdout


def test_check_tells_nothing_of_what_is_sealed(evals: Run, variables: dict[str, str], tmp_path: Path) -> None:
    """That something is wrong with a sealed question is told; its words, documents and evidence are not."""
    hidden = [
        {"id": "s1", "kind": "detail", "split": "sealed", "text": "What sleeps in the secret orchard?", "documents": ["gone.md"],
         "evidence": [[{"document": "gone.md", "quote": "a secret quotation"}]]},
        {"id": "o1", "kind": "detail", "text": "What sleeps in the secret orchard?", "documents": ["lake.md"]},
    ]  # fmt: skip
    file = tmp_path / "hidden.yaml"
    file.write_text(yaml.safe_dump(hidden))
    for form in (("--json",), ()):
        result = evals("questions", "check", "--questions", str(file), "--corpus", "tales", *form)
        assert (result.exit_code, "s1" in result.stdout) == (1, True)
        assert not any(word in result.stdout for word in ("secret", "gone.md"))


def test_an_export_is_a_beir_folder_that_can_be_run(evals: Run, variables: dict[str, str], tmp_path: Path) -> None:
    """Written, read back as a corpus of its own, and scored; the sealed question stays at home."""
    folder = tmp_path / "tales-out"
    assert evals("questions", "export", str(folder), "--questions", variables["TALES"], "--corpus", "tales").exit_code == 0
    told = as_json(evals("run", "--dataset", f"beir:{folder}", "--split", "test", "--metrics", "document-ndcg@10", "--json"))
    assert told["corpus"] == "tales-out"
    assert told["results"][0]["metrics"]["document-ndcg@10"]["n"] == 4
    assert "orchard" not in (folder / "queries.jsonl").read_text()
    again = as_json(evals("run", "--dataset", f"beir:{folder}", "--metrics", "document-ndcg@10", "--json"))
    assert again["results"][0]["metrics"] == told["results"][0]["metrics"]


def test_killed_in_the_middle_a_run_is_found_and_goes_on(variables: dict[str, str], tmp_path: Path) -> None:
    """kill -9 while rows are written: the run is listed as stopped, and --resume makes exactly the rows that were missing."""
    many = tmp_path / "many.yaml"
    entries = [{"id": f"q{at}", "kind": "detail", "text": f"lake number {at}", "documents": ["lake.md"]} for at in range(1000)]
    many.write_text(yaml.safe_dump(entries))
    command = [sys.executable, "-m", "evals", "run", "--questions", str(many), "--corpus", "tales", "--grid", "keyword=bm25s,off"]
    whole = {**os.environ, **variables}
    process = subprocess.Popen(command, cwd=ROOT, env=whole, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("PASS  q7 "):
            process.send_signal(signal.SIGKILL)
            break
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    listed = as_json(CliRunner().invoke(app, ["runs", "--json"], env=variables))["runs"][0]
    assert (listed["state"], 8 <= listed["rows"] < 2000) == ("stopped", True)
    resumed = as_json(CliRunner().invoke(app, ["run", "--resume", "latest", "--json"], env=variables))
    assert (resumed["run"], resumed["state"]) == (listed["run"], "done")
    done = as_json(CliRunner().invoke(app, ["runs", "--json"], env=variables))["runs"][0]
    assert done["rows"] == 2000


@pytest.mark.parametrize(
    ("typed", "spelled"),
    [
        pytest.param(["--grid", "a=1", "b=2", "--json"], ["--grid", "a=1", "--grid", "b=2", "--json"], id="several values"),
        pytest.param(["--grid", "a=1", "--grid", "b=2"], ["--grid", "a=1", "--grid", "b=2"], id="spelled out already"),
        pytest.param(["--name", "x", "y"], ["--name", "x", "y"], id="other options take one"),
        pytest.param(
            ["--kinds", "a", "b", "--metrics", "c", "d"],
            ["--kinds", "a", "--kinds", "b", "--metrics", "c", "--metrics", "d"],
            id="two lists",
        ),
    ],
)
def test_lists_of_values(typed: list[str], spelled: list[str]) -> None:
    """Options that take lists take them after one name."""
    assert spread(typed) == spelled


def test_a_gate_and_its_baseline(run: Run, evals: Run) -> None:
    """A baseline is named, listed and held against: the same passes with exit code 0, a fall stops with 1."""
    told = as_json(run("--grid", "top_k=5,1", "--json"))
    keys = {each["configuration"]["top_k"]: each["key"] for each in told["results"]}
    assert "main is" in evals("baseline", "set", "main", f"{told['run']}:{keys[5]}").stdout
    assert as_json(evals("baseline", "list", "--json"))["baselines"]["main"]["key"] == keys[5]
    same = evals("gate", told["run"], "--baseline", "main", "--config", keys[5], "--metric", "recall@top_k")
    assert (same.exit_code, "PASS" in same.stdout) == (0, True)
    one = as_json(run("--set", "keyword=off", "--set", "dense=exact", "--set", "top_k=1", "--json"))
    worse = evals("gate", one["run"], "--baseline", "main", "--metric", "recall@top_k", "--max-drop", "0")
    before, after = (figures["metrics"]["recall@top_k"]["mean"] for figures in (told["results"][0], one["results"][0]))
    assert after < before
    assert (worse.exit_code, "FAIL  recall@top_k fell by" in worse.stdout) == (1, True)
    fewer = as_json(run("--kinds", "detail", "--json"))
    assert "the same choice of questions" in named(evals("gate", fewer["run"], "--baseline", "main"), "InvalidInput")
    assert evals("gate", fewer["run"], "--baseline", "main", "--common").exit_code == 0
    assert "the name of a baseline" in named(evals("gate", told["run"], "--baseline", "mian", "--config", keys[5]), "NotFound")


def test_compare_says_what_the_difference_is(run: Run, evals: Run) -> None:
    """The difference with its questions; below twenty no verdict is given."""
    told = as_json(run("--grid", "keyword=bm25s,off", "--json"))
    one, other = (f"{told['run']}:{each['key']}" for each in told["results"])
    made = as_json(evals("compare", one, other, "--json"))
    assert (made["verdict"], len(made["questions"]), made["shares"]["n"]) == ("too few", 4, 4)
    assert "A minus B" in evals("compare", one, other, "--metric", "document-ndcg@10").stdout


def test_confirm_asks_first_and_counts(run: Run, evals: Run, variables: dict[str, str]) -> None:
    """Without --yes nobody is asked and nothing counted; with it the use is logged beside the set."""
    told = as_json(run("--grid", "keyword=bm25s,off", "--json"))
    winner = f"{told['run']}:{told['results'][0]['key']}"
    log = Path(variables["TALES"]).with_suffix(".confirmations.jsonl")
    assert "--yes" in named(evals("confirm", winner, "--baseline", told["results"][1]["key"]), "InvalidInput")
    assert not log.exists()
    made = as_json(evals("confirm", winner, "--baseline", told["results"][1]["key"], "--yes", "--json"))
    assert (made["use"], made["level"], made["n"], made["confirmed"]) == (1, 0.025, 1, False)
    assert len(log.read_text().splitlines()) == 2
    assert "orchard" not in log.read_text()

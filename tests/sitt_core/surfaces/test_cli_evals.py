"""`python -m evals`: runs from the command line, what it prints, JSON, exit codes, stopping and going on, and golden sets."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from evals import results
from evals.golden import question_entry
from sitt_core.settings import ROOT
from sitt_core.surfaces.cli import app as core
from sitt_core.surfaces.cli_evals import app, spread
from tests.fakes import lab
from tests.fakes.command_line import as_json, environment, files, named
from tests.fakes.corpora import TALES
from tests.fakes.openai import FakeOpenAI, OpenAIHandler

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
    assert lines[0] == "6 questions × 1 configuration on tales: 6 rows"
    assert "PASS  neck  evidence at rank 1" in lines
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


def test_a_pass_says_what_was_found_and_at_which_rank(run: Run, tmp_path: Path) -> None:
    """The evidence where there is some that still stands in its document, else any passage of an expected document."""
    asked = [
        {"id": "with", "text": "Fishermen set traps", "evidence": [[{"document": "lake.md", "quote": "set traps of iron"}]]},
        {"id": "below", "text": "Fishermen set traps in a lake", "evidence": [[{"document": "lake.md", "quote": "A long neck rose"}]]},
        {"id": "elsewhere", "text": "Fishermen set traps", "evidence": [[{"document": "lake.md", "quote": "A long neck rose"}]]},
        {"id": "stale", "text": "Fishermen set traps", "evidence": [[{"document": "lake.md", "quote": "no such words"}]]},
        {"id": "without", "text": "Fishermen set traps"},
    ]
    ranks = tmp_path / "ranks.yaml"
    ranks.write_text(yaml.safe_dump([{**each, "kind": "detail", "documents": ["lake.md"]} for each in asked]))
    cut = ("--questions", str(ranks), "--set", "chunking.size=20", "--set", "chunking.overlap=0", "--set", "dense=off")
    told = [line for line in run(*cut, "--set", "top_k=1").stdout.splitlines() if line.startswith("PASS")]
    assert told == [
        "PASS  with  evidence at rank 1",
        "PASS  below  an expected document is shown; evidence at rank 2, below top K",
        "PASS  elsewhere  an expected document is shown; its evidence was not handed over by any retriever",
        "PASS  stale  document at rank 1",
        "PASS  without  document at rank 1",
    ]


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
        assert each["errors_by_reason"] == {}
        reasons = each["undefined_by_reason"]
        assert reasons["recall@5"] == {"the corpus does not answer this question": 2}
        assert [(reason[:5], rows) for reason, rows in reasons["coverage@5"].items()] == [("the c", 2), ("stale", 1)]
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
        pytest.param(["--kinds", "detail,thematic"], 1, "--kinds ONE OTHER", id="kinds with a comma"),
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


def test_a_baseline_that_is_none_is_told_by_what_tells_them_apart(run: Run) -> None:
    """Two configurations of one short name: the field that differs stands beside each key."""
    said = named(run("--grid", "fusion.candidates=50,100", "--baseline", "zzz"), "InvalidInput")
    assert "Candidates 50)" in said
    assert "Candidates 100)" in said


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
    assert f"A Keyword bm25s ({one}): " in text
    assert f"B Keyword off ({other}): " in text


def test_compare_says_when_there_is_nothing_to_compare(run: Run, evals: Run) -> None:
    """A key that is none, a run without answers."""
    told = as_json(run("--grid", "keyword=bm25s,off", "--json"))
    said = named(evals("compare", f"{told['run']}:zz", f"{told['run']}:zz"), "NotFound")
    assert "a configuration of run" in said
    assert [f"{each['key']} ({each['label']})" in said for each in told["results"]] == [True, True]
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
    """That something is wrong with a sealed question is told; its id, words, documents and evidence are not."""
    hidden = [
        {"id": "s1", "kind": "detail", "split": "sealed", "text": "What sleeps in the secret orchard?", "documents": ["gone.md"],
         "evidence": [[{"document": "gone.md", "quote": "a secret quotation"}]]},
        {"id": "o1", "kind": "detail", "text": "What sleeps in the secret orchard?", "documents": ["lake.md"]},
    ]  # fmt: skip
    file = tmp_path / "hidden.yaml"
    file.write_text(yaml.safe_dump(hidden))
    for form in (("--json",), ()):
        result = evals("questions", "check", "--questions", str(file), "--corpus", "tales", *form)
        assert (result.exit_code, "sealed detail 1" in result.stdout) == (1, True)
        assert not any(word in result.stdout for word in ("s1", "secret", "gone.md"))
    told = json.loads(evals("questions", "check", "--questions", str(file), "--corpus", "tales", "--sealed", "--json").stdout)
    stale = [each for each in told["findings"] if each["question"] == "s1" and "gone.md" in each["message"]]
    assert stale, "who keeps the set can mend it"


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
    """kill -9 while rows are written: the run is listed as stopped, and --resume leaves the rows of one that nobody stopped."""
    many = tmp_path / "many.yaml"
    entries = [{"id": f"q{at}", "kind": "detail", "text": f"lake number {at}", "documents": ["lake.md"]} for at in range(1000)]
    many.write_text(yaml.safe_dump(entries))
    asked = ["run", "--questions", str(many), "--corpus", "tales", "--grid", "keyword=bm25s,off"]
    whole_run = as_json(CliRunner().invoke(app, spread([*asked, "--json"]), env=variables))["run"]
    command = [sys.executable, "-m", "evals", *asked]
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
    unbroken, broken = (timeless(variables, run_id) for run_id in (whole_run, listed["run"]))
    assert len(broken) == 2000
    assert broken == unbroken


def timeless(variables: Mapping[str, str], run_id: str) -> list[dict[str, Any]]:
    """A run's rows without what a clock said."""
    rows = results.rows(results.open_run(Path(variables["SITT_DATA_DIR"]) / "runs", run_id))
    return [{name: value for name, value in row.items() if not name.startswith("ms_")} for row in rows]


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
    assert [f"{side['run']}:{side['key']}" for side in made["sides"]] == [one, other]
    said = evals("compare", one, other, "--metric", "document-ndcg@10").stdout
    assert "over 4 questions: too few questions to say which is better" in said
    assert f"A Keyword bm25s ({told['results'][0]['key']})\n" in said


def test_across_runs_compare_names_the_runs(run: Run, evals: Run) -> None:
    """Two runs of one configuration each would be called alike: their ids tell them apart."""
    first, second = (as_json(run("--kinds", "detail", "--json")) for _ in range(2))
    key = first["results"][0]["key"]
    said = evals("compare", first["run"], second["run"]).stdout
    assert f"A {first['results'][0]['slug']} ({first['run']}:{key})" in said
    assert f"B {first['results'][0]['slug']} ({second['run']}:{key})" in said


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


class MoodyHandler(OpenAIHandler):
    """Misbehaves in the service's mood as often as it is told to, whatever the model."""

    service: "Moody"

    def answer(self, body: Mapping[str, Any], mode: str) -> None:
        moody, self.service.times = self.service.times > 0, self.service.times - 1
        super().answer(body, self.service.mood if moody else mode)


class Moody(FakeOpenAI):
    """A service that is well again after `times` requests."""

    handler = MoodyHandler
    mood, times = "error", 0


@pytest.fixture
def service() -> Iterator[Moody]:
    with Moody() as made:
        yield made


@pytest.fixture
def paid(variables: dict[str, str], service: Moody) -> dict[str, str]:
    """The variables with which a model on loopback answers, at a price that nobody knows."""
    return {**variables, "OPENAI_BASE_URL": service.url, "OPENAI_API_KEY": "sk-nobodys"}


ANSWERED = ("--metrics", "recall@5", "answers", "--set", "answer.provider=openai", "--set", "answer.model=fake", "--yes")


def broken_off(paid: dict[str, str], service: Moody, *, times: int) -> str:
    """A run of six answers of which the first few broke off."""
    service.times = times
    command = ["run", "--questions", paid["TALES"], "--corpus", "tales", *ANSWERED, "--json"]
    told = as_json(CliRunner().invoke(app, spread(command), env=paid))
    assert (told["state"], told["results"][0]["errors"]) == ("done", times)
    return str(told["run"])


def content(run_id: str, variables: Mapping[str, str]) -> dict[str, bytes]:
    folder = Path(variables["SITT_DATA_DIR"]) / "runs" / run_id
    return {name: (folder / name).read_bytes() for name in files(folder) if not name.endswith(".lock")}


class TestResume:
    def test_ctrl_c_in_an_answer_leaves_no_broken_row(self, paid: dict[str, str], service: Moody) -> None:
        """SIGINT while the second answer is written: exit code 130 and how to go on, the first row alone; resumed, it is whole."""
        service.delay = 0.1
        command = [sys.executable, "-m", "evals", *spread(["run", "--questions", paid["TALES"], "--corpus", "tales", *ANSWERED])]
        with subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **paid}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            try:
                while not (line := process.stdout.readline()).startswith("PASS"):
                    assert line, "it ended before the first answer"
                ticks = threading.Event()
                while len(service.requests) < 2 and process.poll() is None:
                    ticks.wait(0.01)
                process.send_signal(signal.SIGINT)
                out, err = process.communicate()
            finally:
                process.kill()
        assert process.returncode == 130
        assert "Traceback" not in out + err
        assert service.closed_early == ["fake"]
        (stopped,) = [line for line in err.splitlines() if line.startswith("Stopped.")]
        run_id = stopped.rpartition(" ")[2]
        assert [(row["q"], row["error"]) for row in timeless(paid, run_id)] == [(0, "")]
        service.delay = 0.0
        resumed = as_json(CliRunner().invoke(app, ["run", "--resume", run_id, "--yes", "--json"], env=paid))
        assert (resumed["state"], resumed["results"][0]["errors"], len(timeless(paid, run_id))) == ("done", 0, 6)
        assert len(service.requests) == 7

    def test_answers_that_broke_off_are_asked_for_again(self, paid: dict[str, str], service: Moody) -> None:
        """They alone: a dry run counts them and asks nobody, and what was whole stays as it is."""
        run_id = broken_off(paid, service, times=2)
        before, whole = content(run_id, paid), timeless(paid, run_id)[2:]
        assert len(service.requests) == 6
        dry = as_json(CliRunner().invoke(app, ["run", "--resume", run_id, "--dry-run", "--json"], env=paid))
        assert dry == {"run": run_id, "rows": 6, "missing": 2, "dollars": None}
        said = CliRunner().invoke(app, ["run", "--resume", run_id, "--dry-run"], env=paid).stdout
        assert said == f"2 of 6 rows would be made for {run_id}; at a price that is not known here\n"
        assert (content(run_id, paid), len(service.requests)) == (before, 6)
        resumed = as_json(CliRunner().invoke(app, ["run", "--resume", run_id, "--yes", "--json"], env=paid))
        assert (resumed["state"], resumed["results"][0]["errors"], len(service.requests)) == ("done", 0, 8)
        assert [row["error"] for row in timeless(paid, run_id)] == [""] * 6
        assert timeless(paid, run_id)[2:] == whole

    @pytest.mark.usefixtures("terminal")
    def test_what_costs_money_is_asked_first(self, paid: dict[str, str], service: Moody) -> None:
        """No is an answer: nothing is sent and nothing written. As JSON nobody can be asked."""
        run_id = broken_off(paid, service, times=1)
        before = content(run_id, paid)
        refused = CliRunner().invoke(app, ["run", "--resume", run_id], input="n\n", env=paid)
        assert refused.exit_code == 1
        assert "Go on, at a price that is not known here?" in refused.stdout
        unasked = CliRunner().invoke(app, ["run", "--resume", run_id, "--json"], env=paid)
        assert (unasked.exit_code, json.loads(unasked.stdout)["error"]["kind"]) == (1, "InvalidInput")
        assert (content(run_id, paid), len(service.requests)) == (before, 6)
        agreed = CliRunner().invoke(app, ["run", "--resume", run_id], input="y\n", env=paid)
        assert (agreed.exit_code, len(service.requests)) == (0, 7)

    @pytest.mark.parametrize(
        "chosen",
        [
            ["--questions", "field-guide"],
            ["--dataset", "beir:x"],
            ["--corpus", "tales"],
            ["--language", "english"],
            ["--grid", "top_k=3"],
            ["--preset", "default"],
            ["--metrics", "recall@1"],
            ["--kinds", "detail"],
            ["--split", "open"],
            ["--name", "another"],
            ["--baseline", "ab"],
            ["--set", "top_k=3"],
        ],
        ids=lambda chosen: chosen[0],
    )
    def test_a_run_goes_on_as_it_was_begun(self, run: Run, evals: Run, variables: dict[str, str], chosen: list[str]) -> None:
        """Nothing can be chosen anew, and nothing is written."""
        made = as_json(run("--kinds", "unanswerable", "--json"))["run"]
        before = content(made, variables)
        assert "--resume by itself" in named(evals("run", "--resume", made, *chosen), "InvalidInput")
        assert content(made, variables) == before


def test_what_no_question_would_mend_fails_once(run: Run, evals: Run) -> None:
    """A key that is missing is a failure of its configuration, named once, with exit code 1; the other one is asked everything."""
    result = run("--grid", "answer.provider=openai,extractive", "--metrics", "answers", "--yes")
    assert result.exit_code == 1
    assert "ERROR" not in result.stdout
    assert [line.split(":")[0] for line in result.stdout.splitlines() if "OPENAI_API_KEY is not set" in line] == ["failed"]
    told = as_json(evals("show", "latest", "--json"))
    (key,) = told["failed"]
    assert [(each["key"] == key, each["errors"]) for each in told["results"]] == [(True, 0), (False, 0)]
    assert told["state"] == "done"
    assert as_json(evals("runs", "--json"))["runs"][0]["rows"] == 6


def test_a_service_that_answers_nothing_is_asked_three_times(paid: dict[str, str], service: Moody) -> None:
    """A model that is not there: not one row for each question, but one failure; when it is there a resume asks for all of it."""
    service.mood, service.times = "404", 3
    command = ["run", "--questions", paid["TALES"], "--corpus", "tales", *ANSWERED, "--json"]
    result = CliRunner().invoke(app, spread(command), env=paid)
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert (len(told["failed"]), told["results"][0]["errors"], len(service.requests)) == (1, 0, 3)
    assert timeless(paid, told["run"]) == []
    resumed = as_json(CliRunner().invoke(app, ["run", "--resume", told["run"], "--yes", "--json"], env=paid))
    assert (resumed["failed"], resumed["state"], len(timeless(paid, told["run"]))) == ({}, "done", 6)


@pytest.fixture(scope="module")
def collection(variables: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tales as a BEIR folder."""
    folder = tmp_path_factory.mktemp("beir") / "tales-beir"
    command = ["questions", "export", str(folder), "--questions", variables["TALES"], "--corpus", "tales"]
    assert CliRunner().invoke(app, command, env=variables).exit_code == 0
    return folder


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["--kinds", "detial"], "kinds of tales-beir", id="no question of that kind"),
        pytest.param(["--baseline", "zzz"], "the key of one configuration", id="no such baseline"),
        pytest.param(["--dry-run"], "to be a corpus already", id="a dry run"),
    ],
)
def test_a_collection_is_built_only_for_a_run(
    variables: dict[str, str], tmp_path: Path, collection: Path, arguments: list[str], said: str
) -> None:
    """What cannot run, and what is not to, leaves nothing behind."""
    elsewhere = {**variables, "SITT_DATA_DIR": str(tmp_path / "data")}
    result = CliRunner().invoke(app, ["run", "--dataset", f"beir:{collection}", *arguments], env=elsewhere)
    assert said in named(result, "InvalidInput")
    assert files(tmp_path / "data") == set()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["--split", "sealed"], "confirm alone", id="sealed"),
        pytest.param(["--split", "test"], "--split open", id="split"),
        pytest.param(["--grid", "dense=off", "keyword=off"], "dense or keyword", id="nothing that can run"),
    ],
)
def test_wrong_usage_is_json_too(run: Run, arguments: list[str], said: str) -> None:
    """Exit code 2, and one document that says what was wrong."""
    result = run(*arguments, "--json")
    error = json.loads(result.stdout)["error"]
    assert (result.exit_code, error["kind"], said in error["message"]) == (2, "WrongUsage", True)


def test_expected_documents_that_are_not_there_are_noted(run: Run, tmp_path: Path) -> None:
    """They count as not found, and the reader is told which they are."""
    lost = tmp_path / "lost.yaml"
    asked = {"id": "lost", "kind": "detail", "text": "Who is lost?", "documents": ["lake.md", "gone.md", "lost.md"]}
    lost.write_text(yaml.safe_dump([asked]))
    note = "Not in the corpus, so counted as not found: 2 expected documents (gone.md, lost.md)"
    assert as_json(run("--questions", str(lost), "--dry-run", "--json"))["notes"] == [note]
    told = as_json(run("--questions", str(lost), "--metrics", "document-recall@10", "--set", "top_k=20", "--json"))
    assert told["notes"] == [note]
    assert told["results"][0]["metrics"]["document-recall@10"]["mean"] == pytest.approx(1 / 3)


def test_ctrl_c_is_quiet(evals: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 130 and not a word, from any command."""

    def interrupted(_: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(results, "runs", interrupted)
    for form in ((), ("--json",)):
        result = evals("runs", *form)
        assert (result.exit_code, result.output) == (130, "")


def test_ctrl_c_at_a_question_is_no_answer(run: Run, variables: dict[str, str], tmp_path: Path) -> None:
    """A confirmation that was asked for and interrupted before it was agreed to does not count."""
    questions = str(shutil.copy(variables["TALES"], tmp_path / "tales.yaml"))
    told = as_json(run("--questions", questions, "--grid", "keyword=bm25s,off", "--json"))
    one, other = (each["key"] for each in told["results"])
    command = [sys.executable, "-m", "evals", "confirm", f"{told['run']}:{one}", "--baseline", other]
    keyboard, terminal_ = os.openpty()
    with subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **variables}, stdin=terminal_, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        try:
            seen = b""
            while b"Ask them?" not in seen:
                piece = os.read(process.stdout.fileno(), 4096)
                assert piece, process.stderr
                seen += piece
            process.send_signal(signal.SIGINT)
            _, err = process.communicate()
        finally:
            process.kill()
            os.close(keyboard)
            os.close(terminal_)
    assert (process.returncode, err.strip()) == (130, b"")
    assert not (tmp_path / "tales.confirmations.jsonl").exists()


def test_confirm_prints_one_document(run: Run, evals: Run, variables: dict[str, str], tmp_path: Path) -> None:
    """As JSON nobody is asked: without --yes that is a named failure and no use; with it, the confirmation is all that is printed."""
    questions = str(shutil.copy(variables["TALES"], tmp_path / "tales.yaml"))
    told = as_json(run("--questions", questions, "--grid", "keyword=bm25s,off", "--json"))
    command = ["confirm", f"{told['run']}:{told['results'][0]['key']}", "--baseline", told["results"][1]["key"], "--json"]
    refused = evals(*command)
    assert (refused.exit_code, json.loads(refused.stdout)["error"]["kind"]) == (1, "InvalidInput")
    assert not (tmp_path / "tales.confirmations.jsonl").exists()
    assert as_json(evals(*command, "--yes"))["use"] == 1


def test_an_export_says_where_it_is(run: Run, evals: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Named after the run unless said otherwise; as JSON one document."""
    monkeypatch.chdir(tmp_path)
    made = as_json(run("--kinds", "thematic", "--json"))["run"]
    assert as_json(evals("export", "latest", "--json")) == {"run": made, "file": f"{made}.csv", "rows": 1}
    assert evals("export", "latest").stdout == f"1 row in {made}.csv\n"
    assert len((tmp_path / f"{made}.csv").read_text(encoding="utf-8").splitlines()) == 2

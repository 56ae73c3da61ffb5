"""`python -m evals ragas`: what it says before it asks, JSON, exit codes, Ctrl-C, a budget that ends it, going on."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from evals import judged, results
from evals.judging import lacking
from evals.results import Run
from sitt_core.settings import ROOT
from sitt_core.surfaces.cli_evals import app, spread
from tests.fakes import lab
from tests.fakes.claude import FakeClaude, texts_of
from tests.fakes.command_line import as_json, environment, named

KEY = "sk-secret-0123456789"
LOCAL = ["semantic-similarity", "rouge-l", "string-similarity", "quoted-spans"]
OURS = ("--metrics", "groundedness", "rubric-relevance")
"""Metrics that need neither ragas nor an embedder."""
Ragas = Callable[..., Result]
pytestmark = pytest.mark.filterwarnings("default")  # what ragas and langchain say when they are imported


@pytest.fixture
def service() -> Iterator[FakeClaude]:
    with FakeClaude() as fake:
        yield fake


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a run over the tales whose answers are sentences of the passages."""
    base = tmp_path_factory.mktemp("answered")
    _, subject = lab.subject(base / "data", lab.ANSWERED)
    place = lab.on_disk(subject, base).place
    command = ["run", "--questions", place, "--corpus", "tales", "--metrics", "recall@5", "answers", "--quiet"]
    made = CliRunner().invoke(app, spread(command), env={**environment(base / "data"), "SITT_EMBEDDER": "hash"})
    assert made.exit_code == 0, made.output
    return base / "data"


@pytest.fixture
def variables(answered: Path, tmp_path: Path, service: FakeClaude) -> dict[str, str]:
    """A copy of that folder, and a judge with a price and a key."""
    shutil.copytree(answered, tmp_path / "data")
    return {
        **environment(tmp_path / "data"),
        "SITT_EMBEDDER": "hash",
        "JUDGE_MODEL": "claude-fake-judge",
        "JUDGE_PRICE_INPUT": "1",
        "JUDGE_PRICE_OUTPUT": "5",
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": service.url,
    }


@pytest.fixture
def ragas(variables: dict[str, str]) -> Ragas:
    """The command on that run."""

    def invoke(*arguments: str, run: str = "latest", answer: str | None = None, **more: str) -> Result:
        return CliRunner().invoke(app, spread(["ragas", run, *arguments]), env=variables | more, input=answer)

    return invoke


@pytest.fixture
def run(variables: dict[str, str]) -> Run:
    return results.open_run(Path(variables["SITT_DATA_DIR"]) / "runs", "latest")


def test_a_dry_run_says_what_it_would_take_and_asks_nobody(ragas: Ragas, service: FakeClaude, run: Run) -> None:
    """In words and as one JSON document; several metrics and kinds are given after one name."""
    said = ragas("--dry-run")
    assert said.exit_code == 0, said.output
    assert said.stdout.startswith("6 answers to be judged, 0 are already, by claude claude-fake-judge")
    assert "faithfulness, answer-relevancy" in said.stdout
    assert "at most about $0." in said.stdout
    told = as_json(ragas("--dry-run", *OURS, "--kinds", "detail", "thematic", "--json"))
    assert (told["metrics"], told["answers"], told["finished"]) == (["groundedness", "rubric-relevance"], 4, 0)
    assert told["calls"] > 0
    assert 0 < told["dollars"] < 0.1
    assert (service.requests, judged.rows(run.folder)) == ([], [])


@pytest.mark.usefixtures("terminal")
def test_nothing_is_spent_without_a_yes(ragas: Ragas, service: FakeClaude, run: Run) -> None:
    """Asked at a terminal; no ends it, yes goes ahead, and what is judged is not asked about again."""
    no = ragas(*OURS, answer="n\n")
    assert (no.exit_code, "Spend that?" in no.stdout, service.requests) == (1, True, [])
    assert "expected --yes where nobody can be asked" in named(ragas(*OURS, "--json"), "InvalidInput")
    assert judged.rows(run.folder) == []
    yes = ragas(*OURS, answer="y\n")
    assert yes.exit_code == 0, yes.output
    assert "groundedness" in yes.stdout
    asked = len(service.requests)
    assert asked > 0
    again = ragas(*OURS, answer="")
    assert (again.exit_code, "Spend that?" in again.stdout, len(service.requests)) == (0, False, asked)


def test_json_is_one_document(ragas: Ragas, service: FakeClaude, run: Run) -> None:
    """With the plan, what came of it and what it took; the key is nowhere."""
    result = ragas(*OURS, "--yes", "--json")
    told = as_json(result)
    assert (told["run"], told["answers"], told["left"], told["failed"]) == (run.manifest.id, 6, 0, 0)
    assert {row["metric"] for row in told["results"]} == {"groundedness", "rubric-relevance"}
    assert told["spent"]["dollars"] > 0
    assert "judged by claude claude-fake-judge" in told["findings"][0]
    kept = "".join(path.read_text() for path in run.folder.glob("judged*"))
    assert kept
    assert KEY not in result.output + kept
    assert service.requests


def test_the_budget_is_an_exit_code_and_can_be_raised(ragas: Ragas, service: FakeClaude, run: Run) -> None:
    """What was judged is told all the same, in one document; with more, only what is left is asked about."""
    budget = {"LLM_MAX_TOKENS": "100"}
    ended = ragas(*OURS, "--yes", "--budget-tokens", "1500", "--json", **budget)
    told = json.loads(ended.stdout)
    assert (ended.exit_code, told["error"]["kind"]) == (1, "BudgetSpent")
    assert told["left"] > 0
    assert {row["metric"] for row in told["results"]} == {"groundedness", "rubric-relevance"}
    first = len(service.requests)
    assert first > 0
    assert judged.spent(run.folder).input_tokens <= 1500
    said = ragas(*OURS, "--yes", "--budget-tokens", "1500", **budget)
    assert said.exit_code == 1
    assert said.stderr.splitlines()[-1].startswith("BudgetSpent: expected the budget to last for")
    assert len(service.requests) == first
    raised = as_json(ragas(*OURS, "--yes", "--budget-tokens", "1000000", "--json", **budget))
    assert (raised["left"], raised["failed"]) == (0, 0)
    assert len(prompts(service)) == len(set(prompts(service))) > first


def prompts(service: FakeClaude) -> list[str]:
    return ["\n".join(texts_of(body)) for body in service.bodies]


def test_verdicts_that_fail_are_an_exit_code(ragas: Ragas, service: FakeClaude) -> None:
    """Told with their number; a better judge of the same name is asked for them again."""
    failed = ragas(*OURS, "--yes", JUDGE_MODEL="claude-fake-prose")
    assert failed.exit_code == 1
    assert "with failed verdicts; going on asks for them again." in failed.stdout
    assert KEY not in failed.output
    asked = len(service.requests)
    told = json.loads(ragas(*OURS, "--yes", "--json", JUDGE_MODEL="claude-fake-prose").stdout)
    assert told["failed"] > 0
    assert len(service.requests) > asked
    assert ragas(*OURS, "--yes", "--again").exit_code == 0


def test_without_any_key_what_needs_no_judge(ragas: Ragas, service: FakeClaude) -> None:
    """Exit code 0, no question, nothing asked; a metric that needs a judge names what is missing."""
    told = as_json(ragas("--json", ANTHROPIC_API_KEY="", JUDGE_MODEL=""))
    assert (told["metrics"], told["dollars"]) == (LOCAL, 0.0)
    assert {row["metric"]: row["n"] for row in told["results"]}["rouge-l"] == 2
    assert "no model judged" in told["findings"][0]
    assert "no provider has a key" in named(ragas("--metrics", "faithfulness", ANTHROPIC_API_KEY="", JUDGE_MODEL=""), "InvalidInput")
    assert service.requests == []


@pytest.mark.parametrize(
    ("arguments", "run_id", "kind", "said"),
    [
        (("--metrics", "truth"), "latest", "InvalidInput", "faithfulness, answer-relevancy"),
        (("--kinds", "poem"), "latest", "InvalidInput", "kinds of run"),
        (("--repeats", "0"), "latest", "InvalidInput", "1 to 20 repeats"),
        ((), "19990101", "NotFound", "a run"),
    ],
    ids=["metric", "kind", "repeats", "run"],
)
def test_what_is_not_there_is_named(ragas: Ragas, service: FakeClaude, arguments: Any, run_id: str, kind: str, said: str) -> None:
    """In one line on standard error, before anything is asked."""
    assert said in named(ragas(*arguments, "--yes", run=run_id), kind)
    assert service.requests == []


def test_ctrl_c_keeps_what_is_judged(ragas: Ragas, service: FakeClaude, variables: dict[str, str], run: Run) -> None:
    """A real SIGINT while the judge is silent: exit code 130 and how to go on; afterwards only what is left is asked about."""
    whole, silent = service.script, threading.Event()

    def then_silent(prompt: str, mode: str) -> str:
        if len(service.answered) >= 2:
            silent.wait()
        return whole(prompt, mode)

    service.script = then_silent
    command = [sys.executable, "-m", "evals", "ragas", "latest", *OURS, "--yes"]
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    ticks = threading.Event()
    try:
        while (len(service.answered) < 2 or len(service.requests) < 3) and process.poll() is None:
            ticks.wait(0.01)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate()
    finally:
        process.kill()
        silent.set()
    assert process.returncode == 130, said
    assert "Stopped. Finished verdicts stay; the same command goes on." in said
    assert "Traceback" not in said
    kept, service.script = sum(not lacking(row, OURS[1:]) for row in judged.rows(run.folder)), whole
    told = as_json(ragas(*OURS, "--yes", "--json"))
    assert (told["finished"], told["answers"], told["left"], told["failed"]) == (kept, 6 - kept, 0, 0)

"""`python -m evals questions draft`: what it says before it asks, JSON, exit codes, a kill in the middle, the job behind a page."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from evals import drafting, editing
from evals.golden import Question
from sitt_core import build, jobs, notes
from sitt_core.settings import ROOT, load_settings
from sitt_core.surfaces.cli_evals import app
from tests.fakes import lab
from tests.fakes.claude import FakeClaude, texts_of
from tests.fakes.command_line import as_json, environment, named
from tests.fakes.embedder import HashEmbedder
from tests.fakes.judge import parts_of

KEY = "sk-secret-0123456789"
SEALED = "Which reptile tips boats over in the marsh?"
DRAFTS = {
    "The desert worm": ("What squirts acid?", "A red worm spits acid from the sand."),
    "The mine knockers": ("Who knocks before a collapse?", "Little men knock on the walls of the tin mine"),
    "The ice man": ("What did mountaineers discover in snow?", "footprints of a giant in the snow"),
    "The sky bird": ("How wide was this bird?", "A bird as wide as a barn"),
    "The swamp lizard": (SEALED, "sinks canoes in the swamp"),
}
"""Three that are kept, one that dangles, one that a sealed question asks; there is nothing to ask about other passages."""
KEPT = {"What squirts acid?", "Who knocks before a collapse?", "What did mountaineers discover in snow?"}
Draft = Callable[..., Result]


def script(prompt: str, _mode: str) -> str:
    question, quote = DRAFTS.get(title_in(prompt), ("", ""))
    return json.dumps({"question": question, "quote": quote, "answer": quote, "kind": "detail" if quote else ""})


def title_in(prompt: str) -> str:
    return parts_of(prompt)["title"]


@pytest.fixture
def service() -> Iterator[FakeClaude]:
    with FakeClaude(script=script) as fake:
        yield fake


@pytest.fixture
def variables(tmp_path: Path, service: FakeClaude, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The tales with a sealed question about the orchard, and a model with a price and a key."""
    lab.subject(tmp_path / "data")
    made = {
        **environment(tmp_path / "data"),
        "SITT_EMBEDDER": "hash",
        "JUDGE_PROVIDER": "",
        "JUDGE_MODEL": "claude-fake-draft",
        "JUDGE_PRICE_INPUT": "1",
        "JUDGE_PRICE_OUTPUT": "5",
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": service.url,
    }
    for name, value in made.items():
        monkeypatch.setenv(name, value)
    embedder = HashEmbedder(dimension=256)
    monkeypatch.setitem(build.EMBEDDERS, "minilm", lambda **_: embedder)  # processes of their own have the real one
    sealed = Question("own-sealed", SEALED, "detail", "sealed", {"orchard.md": 1})
    editing.add_questions(load_settings(), "tales", [sealed])
    return made


@pytest.fixture
def draft(variables: dict[str, str]) -> Draft:
    """The command on the tales."""
    return lambda *arguments, **more: CliRunner().invoke(app, ["questions", "draft", "--corpus", "tales", *arguments], env=variables | more)


def waiting() -> set[str]:
    return {each.question for each in notes.drafts(load_settings().notes_dir, "tales")}


def test_the_cost_comes_first_and_a_dry_run_asks_nobody(draft: Draft, service: FakeClaude) -> None:
    """In words and as one JSON document."""
    said = draft("--count", "3", "--dry-run")
    assert said.exit_code == 0, said.output
    first, second = said.stdout.splitlines()
    assert first == "3 passages of 3 documents of tales, by claude claude-fake-draft"
    assert "about 3 calls" in second
    assert ", about $0.0" in second
    told = as_json(draft("--count", "3", "--dry-run", "--json"))
    assert (told["passages"], told["documents"], told["provider"]) == (3, 3, "claude")
    assert 0 < told["dollars"] < 0.05
    assert (service.requests, waiting()) == ([], set())


def test_every_passage_has_its_line_and_nothing_sealed_is_in_any(draft: Draft, service: FakeClaude, tmp_path: Path) -> None:
    """Kept drafts, reasons, counts, what it took; neither the sealed question nor the key in what is printed or kept as notes."""
    said = draft("--yes")
    assert said.exit_code == 0, said.output
    lines = [" ".join(line.split()) for line in said.stdout.splitlines()]
    assert "kept desert.md What squirts acid?" in lines
    assert lines[lines.index("dangling sky.md How wide was this bird?") + 1] == "“this” points at what only the passage's reader sees"
    assert "duplicate like a question that there is" in lines
    assert "3 drafts kept; 1 duplicate; 1 dangling; 6 nothing to ask about." in lines
    assert lines[-1].startswith("11 calls, 0 answers from the cache, ")
    assert waiting() == KEPT
    own = editing.own_file(load_settings(), "tales")
    kept = "".join(path.read_text() for path in (tmp_path / "data" / "notes").rglob("*") if path.is_file() and path != own)
    for text in (said.output, kept):
        assert SEALED not in text
        assert "orchard" not in text
        assert KEY not in text


def test_json_is_one_document(draft: Draft) -> None:
    """What was kept, what was left out and why, what it took; null for what is not told."""
    told = as_json(draft("--yes", "--json"))
    assert {each["question"] for each in told["kept"]} == KEPT
    assert {each["kind"] for each in told["left_out"]} == {"duplicate", "dangling", "nothing"}
    (alike,) = [each for each in told["left_out"] if each["kind"] == "duplicate"]
    assert alike == dict.fromkeys(("document", "question", "quote", "answer")) | {
        "kind": "duplicate",
        "reason": "like a question that there is",
    }
    assert (told["counts"]["kept"], told["left"], told["spent"]["calls"]) == (3, 0, 11)
    again = as_json(draft("--yes", "--json"))
    assert (again["passages"], again["asked_before"], again["kept"], again["spent"]["calls"]) == (0, 11, [], 0)


def test_nothing_is_spent_without_a_yes(draft: Draft, service: FakeClaude) -> None:
    """Where nobody can be asked; and whatever is typed, where the price is not known."""
    assert "expected --yes where nobody can be asked" in draft().stderr
    unpriced = {"JUDGE_PRICE_INPUT": "", "JUDGE_PRICE_OUTPUT": ""}
    unknown = draft(**unpriced)
    assert "the price is not known" in unknown.stdout
    assert "expected --yes where the price is not known" in named(unknown, "InvalidInput")
    assert service.requests == []
    assert as_json(draft("--yes", "--json", "--count", "1", **unpriced))["spent"]["dollars"] is None
    assert len(service.requests) == 1


def test_without_a_key_it_names_those_that_there_are(draft: Draft, service: FakeClaude) -> None:
    """And exits with 1."""
    line = named(draft("--yes", ANTHROPIC_API_KEY=""), "KeyMissing")
    assert "Set one of ANTHROPIC_API_KEY, OPENAI_API_KEY, GROQ_API_KEY" in line
    assert service.requests == []


def test_the_budget_is_an_exit_code(draft: Draft, service: FakeClaude) -> None:
    """A named failure that says how to go on; as JSON beside what was kept, in one document."""
    said = draft("--yes", "--budget-tokens", "100")
    assert said.exit_code == 1
    assert said.stderr.splitlines()[-1].startswith(
        "BudgetSpent: expected the budget to last for 11 passages more; got 0 of 100 tokens spent"
    )
    refused = draft("--yes", "--budget-tokens", "100", "--json")
    told = json.loads(refused.stdout)
    assert (refused.exit_code, told["error"]["kind"], told["left"], told["kept"]) == (1, "BudgetSpent", 11, [])
    assert service.requests == []


def test_calls_that_fail_are_an_exit_code(draft: Draft) -> None:
    """Each is listed; the key, which the service repeats, is in none."""
    failed = draft("--yes", "--count", "2", JUDGE_MODEL="claude-fake-echo")
    assert failed.exit_code == 1
    assert failed.stdout.count("cannot be used with this model") == 2
    assert "0 drafts kept; 2 failed." in failed.stdout
    assert KEY not in failed.output
    assert draft("--yes", "--count", "2", "--json", JUDGE_MODEL="claude-fake-echo").exit_code == 1


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_stopped_in_the_middle_nothing_is_lost_or_asked_again(
    draft: Draft, service: FakeClaude, variables: dict[str, str], stop: signal.Signals
) -> None:
    """While the model is silent: drafts that were made wait; going on asks only about what was not answered."""
    silent = threading.Event()

    def then_silent(prompt: str, mode: str) -> str:
        if len(service.answered) >= 5:
            silent.wait()
        return script(prompt, mode)

    service.script = then_silent
    command = [sys.executable, "-m", "evals", "questions", "draft", "--corpus", "tales", "--yes"]
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    ticks, settings = threading.Event(), load_settings()
    try:
        while len(drafting.asked_before(settings, "tales")) < 5 and process.poll() is None:
            ticks.wait(0.01)
        process.send_signal(stop)
        said, _ = process.communicate()
    finally:
        process.kill()
        silent.set()
    assert process.returncode == (130 if stop == signal.SIGINT else -signal.SIGKILL)
    assert ("Stopped. Drafts that were made are kept" in said) == (stop == signal.SIGINT)
    assert "Traceback" not in said
    answered, before = drafting.asked_before(settings, "tales"), waiting()
    assert len(answered) >= 5
    service.script = script
    service.requests.clear()
    told = as_json(draft("--yes", "--json"))
    assert told["asked_before"] == len(answered)
    assert len(service.requests) == 11 - len(answered)
    assert len({title_in("\n".join(texts_of(body))) for body in service.bodies}) == len(service.requests)
    assert before | {each["question"] for each in told["kept"]} == waiting() == KEPT


def test_the_job_behind_a_page_drafts_and_counts(variables: dict[str, str], service: FakeClaude) -> None:
    """Started once however often it is asked for; done, the drafts wait and their counts are to be had."""
    settings = load_settings()
    started = drafting.start_job(settings, "tales", count=6, budget_tokens=1_000_000, budget_dollars=5.0, seed=3)
    assert drafting.start_job(settings, "tales").id == started.id
    ticks = threading.Event()
    while (job := jobs.read(settings.jobs_dir / started.id)).state == "running":
        ticks.wait(0.02)
    for process in jobs._children.values():
        process.wait()
    assert (job.state, job.stage, job.done, job.total) == ("done", "draft", 6, 6)
    counts = drafting.counts_since(settings, "tales", job.started)
    assert (sum(counts.values()), len(waiting())) == (6, counts.get("kept", 0))
    assert len(service.requests) == 6
    log = (settings.jobs_dir / started.id / "output.log").read_text()
    assert not [secret for secret in (KEY, SEALED, "orchard") if secret in log]

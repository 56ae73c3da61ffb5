"""`ask` on the command line: one JSON document or a text with footnotes, with and without a model, in good times and bad."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from sitt_core import notes
from sitt_core.settings import ROOT
from sitt_core.surfaces.cli import app
from tests.fakes.claude import FakeClaude
from tests.fakes.command_line import as_json, environment, write_notes

QUESTION = "What lives in the lake?"
KEY = "sk-secret-0123456789"


@pytest.fixture
def claude() -> Iterator[FakeClaude]:
    with FakeClaude() as service:
        yield service


@pytest.fixture
def run(tmp_path: Path, claude: FakeClaude) -> Callable[..., Result]:
    """The command line on a store of three notes, Claude standing on loopback."""
    base = variables_of(tmp_path, claude)

    def invoke(*arguments: str, **variables: str) -> Result:
        return CliRunner().invoke(app, list(arguments), env={**base, **variables})

    made = invoke("update", "--source", f"markdown:{write_notes(tmp_path / 'notes')}", "--corpus", "notes", "--yes")
    assert made.exit_code == 0, made.output
    return invoke


def variables_of(tmp_path: Path, claude: FakeClaude) -> dict[str, str]:
    return {
        **environment(tmp_path / "data"),
        **{"SITT_EMBEDDER": "hash", "ANTHROPIC_BASE_URL": claude.url, "LLM_IDLE_TIMEOUT": "30"},
    }


def ask(run: Callable[..., Result], *arguments: str, model: str = "claude-fake", **variables: str) -> Result:
    return run("ask", QUESTION, "--corpus", "notes", *arguments, LLM_PROVIDER="claude", LLM_MODEL=model, ANTHROPIC_API_KEY=KEY, **variables)


def test_json_is_one_document_with_all_of_it(run: Callable[..., Result], tmp_path: Path) -> None:
    """Configuration, answer, citations whose quotes slice the document, passages as hits, trace and usage."""
    told = as_json(ask(run, "--json"))
    assert told["configuration"]["answer.model"] == "claude-fake"
    assert (told["refused"], told["stop"]) == (False, "end")
    text = (tmp_path / "notes" / "lake.md").read_text()
    body = text[text.index("# Lake") :]
    assert told["citations"]
    for citation in told["citations"]:
        assert citation.keys() >= {"marker", "document", "title", "start", "end", "quote", "verdict", "source"}
        assert citation["verdict"] == "quoted"
        if citation["document"] == "lake.md":
            assert body[citation["start"] : citation["end"]] == citation["quote"]
    assert told["passages"][0].keys() >= {"rank", "document", "start", "end", "text", "source"}
    assert [stage["name"] for stage in told["trace"]["stages"]][-1] == "answer"
    assert told["usage"]["input_tokens"] > 0
    assert told["usage"]["dollars"] is None  # no such model is in the price list


def test_a_terminal_gets_the_answer_and_its_footnotes(run: Callable[..., Result]) -> None:
    """The text with its numbers, footnotes with place and licence below, what it took; the price was told before."""
    done = ask(run)
    assert done.exit_code == 0, done.output
    assert "A serpent lives in the lake. [1]" in done.stdout
    assert "[1] “A serpent lives in the lake.” Lake, lake.md:" in done.stdout
    assert "(CC0)" in done.stdout
    assert "claude-fake: about" in done.stderr
    assert KEY not in done.output


def test_without_a_model_the_passages_answer(run: Callable[..., Result]) -> None:
    """The default needs no key, asks nobody and says so."""
    told = as_json(run("ask", QUESTION, "--corpus", "notes", "--json"))
    assert told["usage"]["provider"] == "extractive"
    assert told["usage"]["dollars"] == 0
    assert "A serpent lives in the lake." in told["answer"]
    done = run("ask", QUESTION, "--corpus", "notes")
    assert "no model was asked" in done.stdout
    assert done.stderr == ""


def test_a_missing_key_is_named(run: Callable[..., Result], claude: FakeClaude) -> None:
    """Before anything is sent."""
    done = run("ask", QUESTION, "--corpus", "notes", "--set", "answer.provider=claude")
    line = done.stderr.splitlines()[-1]
    assert done.exit_code == 1
    assert line.startswith("KeyMissing: expected ")
    assert "ANTHROPIC_API_KEY" in line
    assert claude.requests == []


@pytest.mark.parametrize(
    ("model", "kept"), [("claude-fake-401", False), ("claude-fake-529", False), ("claude-fake-cut", True), ("claude-fake-error", True)]
)
def test_a_failure_shows_what_had_come_and_ends_with_its_name(run: Callable[..., Result], model: str, kept: bool) -> None:
    """Exit code 1, one named line last; as JSON the partial answer and the error are one document. The key is nowhere."""
    done = ask(run, model=model)
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1].startswith("ProviderError: expected ")
    assert ("The answer broke off" if kept else "No answer came") in done.stdout
    assert KEY not in done.output
    told = json_of(ask(run, "--json", model=model))
    assert (told["error"]["kind"], bool(told["answer"]), told["stop"]) == ("ProviderError", kept, "error")


def test_a_liar_is_found_out(run: Callable[..., Result]) -> None:
    """A citation of what is not there says so beside its number."""
    done = ask(run, model="claude-fake-liar")
    assert done.exit_code == 0, done.output
    assert any(word in done.stdout for word in ("ABSENT", "MISATTRIBUTED", "STITCHED"))


def test_answers_are_logged_and_conversations_go_on(run: Callable[..., Result], tmp_path: Path, claude: FakeClaude) -> None:
    """Every answer is in the log under its conversation; going on with one tells the model what was said."""
    first = as_json(ask(run, "--json"))
    as_json(ask(run, "--json", "--conversation", first["conversation"]))
    kept = notes.conversation_answers(tmp_path / "data" / "notes", first["conversation"])
    assert [each.record["question"] for each in kept] == [QUESTION, QUESTION]
    assert len(claude.bodies[-1]["messages"]) == 3


def test_what_is_no_conversation_is_named(run: Callable[..., Result], claude: FakeClaude) -> None:
    """Before anything is asked: the id becomes a file's name."""
    assert json_of(ask(run, "--json", "--conversation", "../x"))["error"]["kind"] == "InvalidInput"
    assert claude.requests == []


@contextmanager
def asked(tmp_path: Path, claude: FakeClaude, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of its own that asks a slow model; killed in the end if it still runs."""
    chosen = {"LLM_PROVIDER": "claude", "LLM_MODEL": "claude-fake-slow", "ANTHROPIC_API_KEY": KEY}
    with subprocess.Popen(
        [sys.executable, "-m", "sitt_core", "ask", QUESTION, "--corpus", "notes", *arguments],
        cwd=ROOT,
        env={**os.environ, **variables_of(tmp_path, claude), **chosen},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def pieces(process: subprocess.Popen[bytes]) -> Iterator[str]:
    """Standard output as it comes."""
    assert process.stdout is not None
    while piece := os.read(process.stdout.fileno(), 4096):
        yield piece.decode()


@pytest.mark.usefixtures("run")
def test_words_are_printed_as_they_come(tmp_path: Path, claude: FakeClaude) -> None:
    """The first is there before the service has sent the last."""
    with asked(tmp_path, claude) as process:
        coming = pieces(process)
        first = next(coming, "")
        assert claude.requests
        assert claude.answered == []
        text = first + "".join(coming)
        assert process.wait() == 0
    assert "A serpent lives in the lake. [1]" in text
    assert len(first) < len("A serpent lives in the lake.")
    assert claude.answered == ["claude-fake-slow"]


@pytest.mark.usefixtures("run")
def test_ctrl_c_keeps_what_had_come(tmp_path: Path, claude: FakeClaude) -> None:
    """The part that was printed is in the log as a stopped answer; nobody sees a traceback."""
    claude.delay = 0.5
    conversation = notes.new_conversation()
    with asked(tmp_path, claude, "--conversation", conversation) as process:
        coming = pieces(process)
        first = next(coming, "")
        process.send_signal(signal.SIGINT)
        text = first + "".join(coming)
        process.wait()
        assert process.stderr is not None
        told = process.stderr.read().decode()
    assert claude.closed_early == ["claude-fake-slow"]
    assert "Traceback" not in told
    assert "Stopped by you" in text
    (kept,) = notes.conversation_answers(tmp_path / "data" / "notes", conversation)
    assert kept.record["stop"] == "stopped"
    assert kept.record["text"].strip()
    assert text.startswith(kept.record["text"].strip())


def json_of(result: Result) -> Any:
    """The JSON document of a command that failed."""
    assert result.exit_code == 1, result.output
    return json.loads(result.stdout)

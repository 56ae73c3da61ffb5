"""The demonstration with pretend models: that it serves, and that nothing of it is left."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from typer.testing import CliRunner

from sitt_core.settings import DEFAULT_CORPUS, ROOT
from sitt_core.surfaces.cli import app
from tests.fakes.command_line import environment, write_notes

SECONDS = 60


def test_the_demonstration_serves_until_it_is_ended(tmp_path: Path) -> None:
    """With a corpus in its data folder it is healthy soon; SIGTERM ends the dashboard and the models with it."""
    variables = {**environment(tmp_path / "data"), "SITT_EMBEDDER": "hash", "LLM_PROVIDER": "claude"}
    source = f"markdown:{write_notes(tmp_path / 'notes')}"
    made = CliRunner().invoke(app, ["update", "--source", source, "--corpus", DEFAULT_CORPUS, "--yes"], env=variables)
    assert made.exit_code == 0, made.output
    port, log = free_port(), tmp_path / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.fakes.demo", "--port", str(port)],
            cwd=ROOT,
            env={**os.environ, **variables},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_until(lambda: process.poll() is not None or healthy(port), log)
        assert process.poll() is None, log.read_text()
        assert "JUDGE_MODEL=fake" in log.read_text()
        models = [int(found) for found in re.findall(r"_BASE_URL=http://127\.0\.0\.1:(\d+)", log.read_text())]
        assert [listens(each) for each in (port, *models)] == [True] * 4
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 128 + signal.SIGTERM
        assert [listens(each) for each in (port, *models)] == [False] * 4
        assert "Traceback" not in log.read_text()
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5) as answer:
            return bool(answer.read() == b"ok")
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def wait_until(condition: Callable[[], bool], log: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.02)  # between two looks at the condition

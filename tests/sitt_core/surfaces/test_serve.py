"""The launcher: what it refuses, what it builds, and the server it starts."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect, sync_playwright

from sitt_core import build
from sitt_core.configuration import configure
from sitt_core.errors import Busy, InvalidInput, PortTaken
from sitt_core.settings import DEFAULT_CORPUS, FIELD_GUIDE, ROOT, Settings
from sitt_core.store.layout import write_lock
from sitt_core.surfaces import serve
from sitt_core.types import Matrix, Progress
from tests.browser import find_browser, launch_arguments

SECONDS = 60


@contextmanager
def listening(address: str = "127.0.0.1") -> Iterator[int]:
    """A port that something listens on."""
    with closing(socket.create_server((address, 0))) as server:
        yield server.getsockname()[1]


def free_port() -> int:
    with listening() as port:
        return port


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited {SECONDS} s for {what}"
        time.sleep(0.02)


class HashEmbedder:
    """A stand-in that needs no weights: a unit vector drawn from a text's hash."""

    name, dimension, limit, fingerprint = "minilm", 8, 256, "hash"

    def embed_passages(self, texts: Sequence[str], *, progress: Progress | None = None) -> Matrix:
        if progress:
            progress(len(texts))
        rows = [np.random.default_rng(int.from_bytes(sha256(text.encode()).digest()[:8], "big")).normal(size=8) for text in texts]
        return np.array([row / np.linalg.norm(row) for row in rows], dtype=np.float32).reshape(len(texts), 8)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        return self.embed_passages(texts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


@pytest.fixture
def small_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings of an empty data folder, with two entries as the field guide and an embedder that needs no weights."""
    guide = tmp_path / "guide"
    guide.mkdir()
    for name in ("yeti.md", "ogopogo.md"):
        shutil.copy(FIELD_GUIDE / name, guide)
    monkeypatch.setattr(build, "FIELD_GUIDE", guide)
    monkeypatch.setattr(build, "EMBEDDERS", {"minilm": lambda *_, **__: HashEmbedder()})
    return Settings(data_dir=tmp_path / "data")


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 13)])
def test_the_supported_pythons_are_accepted(version: tuple[int, int]) -> None:
    serve.check_python(version)


@pytest.mark.parametrize("version", [(3, 10), (3, 14), (4, 0)])
def test_another_python_is_named_with_those_that_fit(version: tuple[int, int]) -> None:
    """The pins resolve on 3.11 to 3.13 only: anything else fails here, not in an import."""
    with pytest.raises(InvalidInput, match=r"Python 3\.11, 3\.12 or 3\.13.*PYTHON="):
        serve.check_python(version)


@pytest.mark.parametrize(("arguments", "port"), [([], 8501), (["--port", "8600"], 8600), (["--port=1"], 1), (["--port=65535"], 65535)])
def test_the_port_is_the_options_or_the_settings(arguments: list[str], port: int, tmp_path: Path) -> None:
    """`--port` comes first, then SITT_PORT, which the settings hold."""
    assert serve.read_arguments(arguments, Settings(tmp_path)).port == port


@pytest.mark.parametrize("text", ["0", "65536", "-1", "8501.0", "http", "", " ", "٨٥٠١", "9" * 5000])
def test_what_is_no_port_is_refused_with_an_example(text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="make run PORT=8600"):
        serve.read_arguments([f"--port={text}"], Settings(tmp_path))


def test_a_free_port_passes() -> None:
    """Also one that was served on a moment ago: a dashboard can be started again at once."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            server.accept()[0].close()  # the side that closes first is the one whose port lingers
    serve.check_port(port)


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"], ids=["on this machine", "on all its addresses"])
def test_a_taken_port_is_named_with_the_way_to_choose_another(address: str) -> None:
    with listening(address) as port, pytest.raises(PortTaken, match=rf"port {port} to be free.*make run PORT=8600 or SITT_PORT=8600"):
        serve.check_port(port)


def test_a_taken_port_is_said_before_anything_is_built(tmp_path: Path) -> None:
    """One line on standard error, exit code 1, and the data folder is as empty as before."""
    with listening() as port:
        done = launched(["--port", str(port)], SITT_DATA_DIR=str(tmp_path / "data"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"PortTaken: expected port {port} to be free; got")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "data").exists()


def test_a_setting_that_is_wrong_is_one_line_too() -> None:
    done = launched([], SITT_PORT="80a")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("InvalidInput: expected SITT_PORT to be a port")


def test_an_interruption_while_the_index_is_built_ends_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C is an ordinary end: exit code 130 and a sentence that says nothing is lost."""

    def interrupted(settings: Settings) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(serve, "prepare_index", interrupted)
    assert serve.main(["--port", str(free_port())]) == 130
    assert "make run goes on from here" in capsys.readouterr().err


def test_the_index_is_built_once(small_guide: Settings) -> None:
    """The first run builds with its progress; the second finds it there and loads no model."""
    reported: list[tuple[str, int, int]] = []
    built = serve.build_missing_index(small_guide, lambda *progress: reported.append(progress))
    corpus = build.Workshop(small_guide).corpus(DEFAULT_CORPUS)
    assert built is not None
    assert built.chunks > 0
    assert corpus.has_index(small_guide.defaults.index_key)
    assert {document.title for document in corpus.documents} == {"Yeti", "Ogopogo"}
    assert ("embed", built.chunks, built.chunks) in reported

    reported.clear()
    assert serve.build_missing_index(small_guide, lambda *progress: reported.append(progress)) is None
    assert reported == []


def test_other_defaults_get_their_own_index_beside_the_first(small_guide: Settings) -> None:
    """A default changed by SITT_… builds what it needs into the same generation; the other index stays."""
    serve.build_missing_index(small_guide, lambda *_: None)
    other = Settings(small_guide.data_dir, defaults=configure({"chunking.strategy": "fixed"}))
    built = serve.build_missing_index(other, lambda *_: None)
    corpus = build.Workshop(small_guide).corpus(DEFAULT_CORPUS)
    assert built is not None
    assert built.index_key == other.defaults.index_key
    assert corpus.generation == "000001"
    assert set(corpus.index_sizes()) == {small_guide.defaults.index_key, other.defaults.index_key}


def test_an_index_that_another_process_is_building_is_said_so(small_guide: Settings) -> None:
    with write_lock(small_guide.store_dir / DEFAULT_CORPUS, "update"), pytest.raises(Busy):
        serve.build_missing_index(small_guide, lambda *_: None)


APP = """
import streamlit as st
from pathlib import Path
pages = st.navigation([st.Page("pages/first.py", default=True), st.Page("pages/second.py")])
st.write("drawn by app.py")
pages.run()
"""


@pytest.fixture
def small_app(tmp_path: Path) -> Path:
    """An app.py with a pages/ folder beside it, as ours has."""
    (tmp_path / "pages").mkdir()
    for name in ("first", "second"):
        (tmp_path / "pages" / f"{name}.py").write_text(f"import streamlit as st\nst.write('this is the {name} page')\n")
    (tmp_path / "app.py").write_text(APP)
    return tmp_path / "app.py"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the whole of 127.0.0.0/8 on its loopback")
def test_the_server_answers_on_this_machine_only(small_app: Path) -> None:
    """On 127.0.0.1 and no other address, whatever Streamlit's own settings ask for: the URL that is printed is the truth."""
    with served(small_app, STREAMLIT_SERVER_ADDRESS="0.0.0.0", STREAMLIT_SERVER_PORT="1") as (port, _):
        assert reachable("127.0.0.1", port)
        assert not reachable("127.0.0.2", port)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_cleanly(small_app: Path, ending: signal.Signals) -> None:
    """It says where it is, is quiet otherwise, and Ctrl-C ends it with exit code 0 and no traceback."""
    with served(small_app) as (port, process):
        process.send_signal(ending)
        out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert out.splitlines()[0] == f"SITT Lab is on http://127.0.0.1:{port} (Ctrl-C stops it)"
    assert "You can now view" not in out
    assert err == ""


@pytest.mark.browser
def test_a_deep_link_to_a_fresh_server_runs_app_py(small_app: Path) -> None:
    """The very first request may be for a page: it is drawn by the router, not by the page's file alone."""

    def look(port: int) -> None:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=launch_arguments())
            page = browser.new_page()
            page.goto(f"http://127.0.0.1:{port}/second")
            expect(page.get_by_text("this is the second page")).to_be_visible(timeout=SECONDS * 1000)
            expect(page.get_by_text("drawn by app.py")).to_be_visible()
            browser.close()

    path = find_browser()
    # In a thread: Playwright's sync API allows one at a time in each, and the dashboard's tests keep theirs open.
    with served(small_app) as (port, _), ThreadPoolExecutor(1) as pool:
        pool.submit(look, port).result()


def launched(arguments: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sitt_core.surfaces.serve", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, timeout=SECONDS, check=False
    )


@contextmanager
def served(app: Path, **environment: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """A server on an app in a process of its own, once it says that it is healthy; killed in the end if it still runs."""
    port = free_port()
    code = f"from pathlib import Path; from sitt_core.surfaces.serve import serve; serve(Path({json.dumps(str(app))}), {port})"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            wait_until(lambda: process.poll() is not None or healthy(port), "the server")
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            yield port, process
        finally:
            process.kill()


def healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5) as answer:
            return bool(answer.read() == b"ok")
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def reachable(address: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((address, port)) == 0

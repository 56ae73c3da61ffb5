"""A real server on a store of its own, and a real Chromium in front of it."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect, sync_playwright
from playwright.sync_api import TimeoutError as PlaywrightTimeout
from typer.testing import CliRunner

from sitt_core.surfaces import cli
from tests.browser import find_browser, launch_arguments
from tests.fakes.once import made_once

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = ROOT / "tests" / "samples" / "hostile"
WAIT = 120_000
"""Milliseconds to wait for a condition: generous, since these machines are shared."""
expect.set_options(timeout=WAIT)


def command(arguments: list[str], data_dir: Path, **variables: str) -> None:
    """Runs the command line on a store, in this process: another than the servers', and with the model loaded already."""
    done = CliRunner().invoke(cli.app, arguments, env={"SITT_DATA_DIR": str(data_dir), **variables})
    assert done.exit_code == 0, done.output


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the field guide and a small corpus of hostile texts, the default index of each built."""

    def make(folder: Path) -> None:
        command(["update", "--source", "field-guide", "--yes"], folder)
        command(["update", "--source", f"markdown:{HOSTILE}", "--corpus", "hostile", "--yes"], folder)

    data_dir = tmp_path_factory.mktemp("data")
    shutil.copytree(made_once(tmp_path_factory, "guide", make), data_dir, dirs_exist_ok=True)
    return data_dir


@contextlib.contextmanager
def served(data_dir: Path, *launcher: str, variables: Mapping[str, str] | None = None) -> Iterator[str]:
    """The URL of a server on a data folder, started by the launcher or by what is given instead; stopped at the end.

    `variables` come on top of the environment.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    arguments = launcher or ("-m", "sitt_core.surfaces.serve")
    environment = {**os.environ, "SITT_DATA_DIR": str(data_dir), "SITT_PORT": str(port), "STREAMLIT_SERVER_PORT": str(port)}
    environment |= variables or {}
    process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, env=environment)
    try:
        url = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + WAIT / 1000
        while not _answers(f"{url}/_stcore/health"):
            assert process.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server did not come up"
            time.sleep(0.1)  # between two looks at the condition
        yield url
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=WAIT / 1000)
        except subprocess.TimeoutExpired:  # how it ends is test_serve's subject
            process.kill()
            process.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


@pytest.fixture(scope="session")
def url(store: Path) -> Iterator[str]:
    """The address of a server on `store`."""
    with served(store) as address:
        yield address


FIRST_LOOK = (
    "if (window === top && location.protocol === 'http:' && !sessionStorage.sittTest) { localStorage.clear(); sessionStorage.sittTest = 1 }"
)
"""What a window keeps for other windows is gone when it first looks at a server, as in a new profile; a reload keeps it."""


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    """One browser with one profile for a module's tests; no longer, since Playwright keeps an event loop running in the thread.

    A profile of its own per window would compile all of Streamlit's scripts for every test: half of what a page costs.
    """
    path = find_browser()
    assert path, "no browser starts here: make test installs one, or set SITT_CHROMIUM to its path"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"),
            executable_path=path,
            args=launch_arguments(),
            viewport={"width": 1280, "height": 900},
            reduced_motion="reduce",
        )
        opened.set_default_timeout(WAIT)
        opened.add_init_script(FIRST_LOOK)
        keep_scripts(opened)
        yield opened
        opened.close()


def keep_scripts(profile: BrowserContext) -> None:
    """Keeps a window open at the servers' site: its process serves all windows of that site, and stays with what it has compiled."""
    kept = profile.pages[0]
    kept.route("**/*", lambda route: route.fulfill(body=""))
    kept.goto("http://127.0.0.1/")  # nothing is asked of a server: a site has no port


def window(profile: BrowserContext, width: int, scheme: Literal["light", "dark"] = "light") -> Page:
    """A fresh window so many pixels wide, in a color scheme; whoever asks for it closes it."""
    opened = profile.new_page()
    opened.set_viewport_size({"width": width, "height": 900})
    opened.emulate_media(color_scheme=scheme)
    return opened


@pytest.fixture
def page(profile: BrowserContext) -> Iterator[Page]:
    """A fresh window of 1280 × 900; the test fails if the page's console reports an error."""
    opened = profile.new_page()
    errors: list[str] = []
    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    opened.close()
    assert errors == []


def settle(page: Page) -> None:
    """Waits until the server has finished its run; looked at with every frame, where `expect` would look once a second."""
    page.wait_for_function("document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'")


def pick(box: Locator, option: Locator, *, typed: str = "") -> None:
    """Takes an option of a select box, typed if need be; a run that ends meanwhile closes the list, so it is opened again."""
    settle(box.page)
    for _ in range(20):
        box.click()
        if typed:
            box.fill(typed)
        with contextlib.suppress(PlaywrightTimeout):
            option.first.click(timeout=3000)
            settle(box.page)
            return
        box.press("Escape")
    pytest.fail(f"the list never offered {option}")

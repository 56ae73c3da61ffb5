"""Which browser the browser tests drive, and how it is started; `python tests/browser.py` prints its path or says there is none.

Looked up in this order: SITT_CHROMIUM; chromium, chromium-browser, google-chrome or google-chrome-stable on PATH; Chrome or
Chromium where macOS keeps applications; what `playwright install chromium` has brought.
"""

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ON_PATH = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ON_MACOS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
ASK_PLAYWRIGHT = "from playwright.sync_api import sync_playwright as p\nwith p() as q: print(q.chromium.executable_path)"
QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--process-per-site",
)


@functools.cache
def find_browser() -> str | None:
    """The path of the first browser in the order above that starts, or None."""
    chosen = os.environ.get("SITT_CHROMIUM", "").strip()
    if chosen:
        return chosen if _starts(chosen) else None
    return next((path for path in _candidates() if _starts(path)), None)


def launch_arguments() -> list[str]:
    """Switches for a browser that makes no request of its own; as root, without the sandbox that root cannot have."""
    return [*QUIET, *(["--no-sandbox"] if os.geteuid() == 0 else [])]


def _candidates() -> Iterator[str]:
    yield from (path for name in ON_PATH if (path := shutil.which(name)))
    yield from ON_MACOS
    # In a process of its own: a test may have Playwright running, and a second one in the same thread is refused.
    asked = subprocess.run([sys.executable, "-c", ASK_PLAYWRIGHT], capture_output=True, text=True, check=False)
    if asked.returncode == 0:
        yield asked.stdout.strip()


def _starts(path: str) -> bool:
    """Whether it answers `--version`: Ubuntu's stub for a snap does not, nor does one whose libraries are missing."""
    if not Path(path).is_file():
        return False
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=60, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


if __name__ == "__main__":
    found = find_browser()
    print(found or "There is no browser that starts.", file=sys.stdout if found else sys.stderr)
    sys.exit(0 if found else 1)

"""The command line as a test runs it: its settings, a folder of notes, and what a result must look like."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.testing import Result

from sitt_core.configuration import FIELDS
from sitt_core.settings import BASE_URLS, KEYS

Run = Callable[..., Result]


def environment(data_dir: Path) -> dict[str, str]:
    """Settings that nothing on this machine changes: a blank variable also hides what a .env says."""
    numbers = [f"LLM_{name}" for name in ("CONNECT_TIMEOUT", "IDLE_TIMEOUT", "MAX_TOKENS", "PRICE_INPUT", "PRICE_OUTPUT")]
    judge = [f"JUDGE_{name}" for name in ("PROVIDER", "MODEL", "PRICE_INPUT", "PRICE_OUTPUT")]
    sources = ["SITT_CONTACT", "SITT_WIKIPEDIA_URL", "SITT_FETCH_INTERVAL", "SITT_ALLOW_PRIVATE", "GITHUB_API_URL"]
    names = [*sources, *(field.variable for field in FIELDS), "SITT_PORT", *KEYS, *BASE_URLS.values(), *numbers, *judge]
    return {**dict.fromkeys(names, ""), "SITT_DATA_DIR": str(data_dir)}


def write_notes(folder: Path) -> Path:
    """A folder of three notes."""
    folder.mkdir()
    (folder / "lake.md").write_text("---\ncategory: aquatic\nregion: Europe\nlicense: CC0\n---\n# Lake\n\nA serpent lives in the lake.")
    (folder / "wood.md").write_text("---\ncategory: hominid\nregion: Asia\n---\n# Wood\n\nA giant walks in the wood.")
    (folder / "sky.md").write_text("# Sky\n\nA bird crosses the sky.")
    return folder


def as_json(result: Result) -> Any:
    """Standard output, which is one JSON document and nothing else."""
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} if folder.exists() else set()


def named(result: Result, kind: str) -> str:
    """The one line of a named failure."""
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit)
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"{kind}: expected ")
    return line

"""Distinct real passages found offline on this machine, as Markdown documents: prepared once, kept in SITT_BENCH_DIR."""

import ast
import gzip
import os
import re
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PER_DOCUMENT = 10
LEAST, MOST = 30, 60
"""Words of a passage."""
FINGERPRINT = 8
"""Words at a passage's beginning, and at its end, that no other passage shares."""

_MACRO = re.compile(r"^[.'].*$", re.MULTILINE)
_ESCAPE = re.compile(r"\\(?:f[A-Z]|f\(..|f\[.*?\]|s[-+]?\d|[&|^%/,])")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z'-]*[.,;:!?)]*")


def bench_dir() -> Path:
    """Where prepared benchmark data is kept: SITT_BENCH_DIR, else data/bench."""
    return Path(os.environ.get("SITT_BENCH_DIR") or ROOT / "data" / "bench").expanduser().resolve()


def notes_folder(passages: int) -> Path:
    """A folder of Markdown documents of `PER_DOCUMENT` passages each, made at the first call; raises SystemExit when text runs out."""
    folder = bench_dir() / f"notes-{passages}"
    done = folder / ".complete"
    if not done.is_file():
        found = list(islice(distinct_passages(), passages))
        if len(found) < passages:
            raise SystemExit(f"Only {len(found):,} distinct passages found on this machine; {passages:,} are needed.")
        for number, group in enumerate(_groups(found, PER_DOCUMENT)):
            file = folder / f"{number // 500:03d}" / f"{number:05d}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_markdown(number, group), encoding="utf-8")
        done.touch()
    return folder


def _groups(passages: list[tuple[str, str]], size: int) -> Iterator[list[tuple[str, str]]]:
    for at in range(0, len(passages), size):
        yield passages[at : at + size]


def _markdown(number: int, group: list[tuple[str, str]]) -> str:
    parts = [f"# {group[0][0]} {number}"]
    parts += [f"## {name}\n\n{passage}" for name, passage in group]
    return "\n\n".join(parts) + "\n"


def distinct_passages() -> Iterator[tuple[str, str]]:
    """(where it is from, passage of LEAST to MOST words), no two with the same beginning or the same end."""
    seen: set[tuple[str, ...]] = set()
    for name, text in _texts():
        for passage in _passages(text):
            words = tuple(passage.casefold().split())
            marks = {words[:FINGERPRINT], words[-FINGERPRINT:]}
            if not marks & seen:
                seen |= marks
                yield name, passage


def _passages(text: str) -> Iterator[str]:
    """The prose paragraphs of a text, long ones cut between sentences."""
    for paragraph in re.split(r"\n\s*\n", text):
        held: list[str] = []
        for sentence in _SENTENCE.split(" ".join(paragraph.split())):
            words = sentence.split()
            if len(held) + len(words) > MOST:
                if _is_prose(held):
                    yield " ".join(held)
                held = []
            held += words[:MOST]
        if _is_prose(held):
            yield " ".join(held)


def _is_prose(words: list[str]) -> bool:
    plain = sum(bool(_PLAIN.fullmatch(word)) for word in words)
    return len(words) >= LEAST and words[0][0].isalpha() and plain >= 0.75 * len(words)


def _texts() -> Iterator[tuple[str, str]]:
    """What is documented on this machine: packages, the standard library, Debian's documentation and manual."""
    packages, library = Path(sysconfig.get_paths()["purelib"]), Path(sysconfig.get_paths()["stdlib"])
    for root in (packages, library):
        for file in _files(root, {".py", ".md", ".rst", ".txt"}):
            if root == packages or "site-packages" not in file.parts:
                name = file.relative_to(root).with_suffix("").as_posix().replace("/", " ")
                yield from ((name, text) for text in (_docstrings(file) if file.suffix == ".py" else [_read(file)]))
    for file in _files(Path("/usr/share/man"), {".gz"}):
        if file.parent.parent.name == "man":  # not the translations
            yield file.name.split(".")[0], _ESCAPE.sub("", _MACRO.sub("", _read(file))).replace("\\-", "-")
    for file in _files(Path("/usr/share/doc"), {".gz", ".md", ".txt", ".rst", ""}):
        yield f"{file.parent.name} {file.name.split('.')[0]}", _read(file)


def _files(root: Path, suffixes: set[str]) -> Iterator[Path]:
    for place, folders, names in os.walk(root):
        folders.sort()
        yield from (Path(place, name) for name in sorted(names) if Path(name).suffix in suffixes)


def _read(file: Path) -> str:
    """The file's text, or nothing when it cannot be read as such."""
    try:
        data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        return data.decode("utf-8")
    except (OSError, EOFError, ValueError):
        return ""


def _docstrings(file: Path) -> Iterator[str]:
    """The docstrings of a Python file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(_read(file))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


if __name__ == "__main__":
    print(notes_folder(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000))

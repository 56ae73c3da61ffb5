"""A zipped BEIR folder that somebody brings: its questions and judgements read without unpacking the rest, tricks refused by name."""

import io
import lzma
import re
import stat
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from evals.beir import QRELS_DIR, QUERIES_FILE, TEST, Collection, read_collection
from sitt_core.errors import InvalidInput, shown

MAX_ZIP = 50_000_000
MAX_UNPACKED = 10_000_000
"""The most bytes of an archive, and of either of the two files that are taken out of it."""
MAX_ENTRIES = 1000
MAX_DEPTH = 2
"""The questions are at the top of the archive, or in one folder of it."""

_SPLIT = re.compile(r"\w[\w.-]{0,63}")
_SYSTEM = ("__MACOSX", ".DS_Store")
_BROKEN = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, NotImplementedError, RuntimeError)
"""What Python's reader of archives raises for such as are cut off, altered, encrypted or packed in a way that it does not know."""


def read_zip(data: bytes, *, name: str) -> Collection:
    """The questions of a zipped BEIR folder as a set of that name: of its judgements qrels/test.tsv, or the only file of them.

    Its documents are not read. Raises InvalidInput for what is no such archive, is larger than it may be, or names files outside itself;
    NotFound or InvalidInput as `read_collection` does.
    """
    if len(data) > MAX_ZIP:
        raise _refused(f"an archive of at most {MAX_ZIP:,} bytes", f"{len(data):,} bytes", "Leave corpus.jsonl out of it: it is not read.")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except _BROKEN as error:
        raise _refused("a zip archive", str(error) or type(error).__name__, "Pack the folder again.") from error
    with archive, tempfile.TemporaryDirectory() as temporary:
        entries = _entries(archive)
        queries, qrels = _wanted(entries)
        folder = Path(temporary) / name
        (folder / QRELS_DIR).mkdir(parents=True)
        (folder / QUERIES_FILE).write_bytes(_unpacked(archive, entries[queries]))
        (folder / QRELS_DIR / qrels.name).write_bytes(_unpacked(archive, entries[qrels]))
        return read_collection(folder, split=qrels.stem)


def _refused(expected: str, got: str, remedy: str) -> InvalidInput:
    return InvalidInput(expected=expected, got=got, remedy=remedy)


def _entries(archive: zipfile.ZipFile) -> dict[PurePosixPath, zipfile.ZipInfo]:
    """The archive's files by their paths; raises InvalidInput for one that could be no file of a folder."""
    listed = archive.infolist()
    if len(listed) > MAX_ENTRIES:
        raise _refused(f"an archive of at most {MAX_ENTRIES:,} files", f"{len(listed):,}", f"Pack {QUERIES_FILE} and {QRELS_DIR} alone.")
    entries: dict[PurePosixPath, zipfile.ZipInfo] = {}
    for info in listed:
        path = PurePosixPath(info.filename)
        outside = path.is_absolute() or ".." in path.parts or "\\" in info.orig_filename or ":" in path.parts[0] if path.parts else False
        if outside or "\x00" in info.orig_filename:
            raise _refused("names of files within the archive", shown(info.orig_filename), "Pack the folder again, with relative names.")
        if stat.S_ISLNK(info.external_attr >> 16):
            raise _refused("files", f"{shown(info.filename)}, a link to another", "Pack the file itself.")
        if info.is_dir() or any(part in _SYSTEM for part in path.parts):
            continue
        if path in entries:
            raise _refused("every file once", f"{shown(info.filename)} more than once", "Pack the folder again.")
        entries[path] = info
    return entries


def _wanted(entries: dict[PurePosixPath, zipfile.ZipInfo]) -> tuple[PurePosixPath, PurePosixPath]:
    """The file of questions and the file of judgements beside it."""
    found = [path for path in entries if path.name == QUERIES_FILE and len(path.parts) <= MAX_DEPTH]
    if len(found) != 1:
        raise _refused(f"one {QUERIES_FILE}, at the top or in a folder", f"{len(found)} of them", "Pack one BEIR folder.")
    judged = {path.stem: path for path in entries if path.parent == found[0].parent / QRELS_DIR and path.suffix == ".tsv"}
    names = ", ".join(map(shown, sorted(judged))) or "none"
    split = TEST if TEST in judged else next(iter(judged), "") if len(judged) == 1 else ""
    if not split or not _SPLIT.fullmatch(split):
        raise _refused(f"{QRELS_DIR}/{TEST}.tsv, or one other file of judgements", names, "Pack the judgements that are meant alone.")
    return found[0], judged[split]


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """A file's bytes; never more than may be are unpacked, whatever the archive says of its size."""
    try:
        with archive.open(info) as file:
            held = file.read(MAX_UNPACKED + 1)
    except _BROKEN as error:
        reason = "it is encrypted" if info.flag_bits & 1 else str(error) or type(error).__name__
        raise _refused(
            "files that can be unpacked", f"{shown(info.filename)}: {reason}", "Pack the folder again, without a password."
        ) from error
    if len(held) > MAX_UNPACKED:
        raise _refused(f"at most {MAX_UNPACKED:,} bytes", f"more in {shown(info.filename)}", "Take a part of the questions.")
    return held

"""How a BEIR collection becomes documents: one line of its corpus.jsonl each, under its own id."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sitt_core.errors import SourceError, shown
from sitt_core.sources.markdown import outline
from sitt_core.sources.outline import document_hash
from sitt_core.text import normalise
from sitt_core.types import Document, Failure, Listing, Source

CORPUS_FILE = "corpus.jsonl"
VERSION = 2
"""Raised when the same line would become another document, with other sections or blocks."""
MAX_LINE = 5_000_000
MAX_ID = 4096
"""The longest id, as long as a path may be: those of any corpus fit."""
LICENSE = "see the collection"

_BOM = b"\xef\xbb\xbf"
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def read_beir(folder: Path, *, origin: str, stored: Iterable[Document] = ()) -> Listing:
    """Every line of the folder's corpus.jsonl as a document, in order; a line that cannot be one is a failure with its reason.

    A line that a `stored` document of this origin was read from is that document: nothing is outlined again. Of an id that
    is given twice the first line counts. A line without an id that can be read may be any document's, so with one the
    listing is not complete. Raises SourceError for what is no BEIR folder, or one whose corpus.jsonl is blank or cannot be
    read to its end.
    """
    file = _corpus_file(folder)
    known = {document.id: document for document in stored if document.origin == origin}
    documents: dict[str, Document] = {}
    failures: list[Failure] = []
    nameless: list[int] = []
    for number, line in _lines(file):
        id_ = ""
        try:
            entry = _object(line)
            id_ = _id(entry)
            if id_ in documents:
                raise SourceError(
                    expected="every _id once", got=f"{shown(id_)} given twice", remedy="The first counts; remove one of them."
                )
            old, revision = known.get(id_), _revision(line, folder.name)
            if old is None or old.revision != revision:
                old = _document(entry, id_, origin=origin, prefix=folder.name, revision=revision)
            documents[id_] = old
        except SourceError as error:
            nameless += [] if id_ else [number]
            failures.append(Failure(id_, f"line {number}: {error}") if id_ else Failure(f"{CORPUS_FILE}, line {number}", str(error)))
    if not documents and not failures:
        raise SourceError(expected="documents, one a line", got=f"a blank {CORPUS_FILE}", remedy="Check that the collection is whole.")
    why = f"line {nameless[0]:,} of {CORPUS_FILE} has no id that can be read{_and_more(nameless)}" if nameless else ""
    return Listing(origin, tuple(documents.values()), tuple(failures), not nameless, why_incomplete=why)


def _and_more(numbers: list[int]) -> str:
    return f", nor have {len(numbers) - 1:,} more" if len(numbers) > 1 else ""


def _corpus_file(folder: Path) -> Path:
    file = folder / CORPUS_FILE
    try:
        if file.is_file():
            return file
        problem = f"which has no {CORPUS_FILE}" if folder.is_dir() else "which is a file" if folder.exists() else "which does not exist"
    except OSError as error:
        problem = f"which cannot be opened: {error.strerror}"
    raise SourceError(
        expected=f"a BEIR folder: {CORPUS_FILE} with a document a line, and for its questions queries.jsonl and qrels/SPLIT.tsv",
        got=f"{shown(str(folder))}, {problem}",
        remedy="Check the path; give the unpacked folder, not the archive or a file in it.",
    )


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, by number; of one that is too long only so much that it can be told."""
    number = 0
    try:
        with file.open("rb") as source:
            while line := source.readline(MAX_LINE + 1):
                number += 1
                rest = line
                while len(rest) > MAX_LINE and not rest.endswith(b"\n"):
                    rest = source.readline(MAX_LINE + 1)
                line = line.removeprefix(_BOM) if number == 1 else line
                if line.strip() or len(line) > MAX_LINE:
                    yield number, line.removesuffix(b"\n").removesuffix(b"\r")
    except OSError as error:
        raise SourceError(
            expected=f"{CORPUS_FILE} to be readable",
            got=error.strerror or type(error).__name__,
            remedy="Check the file and its permissions.",
        ) from None


def _object(line: bytes) -> dict[str, Any]:
    """A line's JSON object, its numbers as they are written; SourceError for anything else."""
    if len(line) > MAX_LINE:
        raise SourceError(expected=f"a line of at most {MAX_LINE:,} bytes", got="a longer one", remedy="Split the document.")
    try:
        entry = json.loads(line.decode("utf-8"), parse_int=str, parse_float=str, parse_constant=str)
        if isinstance(entry, dict):
            return entry
        problem = shown(entry)
    except UnicodeDecodeError:
        problem = "bytes that are no UTF-8"
    except json.JSONDecodeError as error:
        problem = f"no JSON: {error.msg} at character {error.pos + 1:,}"
    except RecursionError:
        problem = "brackets in brackets without end"
    raise SourceError(expected="a JSON object with _id, title and text", got=problem, remedy="Correct the line, or remove it.")


def _id(entry: Mapping[str, Any]) -> str:
    """The object's id as it is; SourceError for one that no document can have."""
    id_ = entry.get("_id")
    if not isinstance(id_, str) or not id_:
        got = shown(id_) if "_id" in entry else "none"
        raise SourceError(expected="an _id, a text or a number", got=got, remedy="Give the document an _id of its own.")
    if len(id_) > MAX_ID:
        raise SourceError(expected=f"an _id of at most {MAX_ID:,} characters", got=f"{len(id_):,}", remedy="Shorten it.")
    if _SURROGATE.search(id_):
        raise SourceError(expected="an _id in valid Unicode", got=shown(id_), remedy="Write it without lone surrogates.")
    return id_


def _revision(line: bytes, prefix: str) -> str:
    """Names all that a document is made from: its line, the folder's name and this version of the reader."""
    made_from = hashlib.sha256(repr((VERSION, prefix)).encode())
    made_from.update(line)
    return made_from.hexdigest()[:16]


def _document(entry: Mapping[str, Any], id_: str, *, origin: str, prefix: str, revision: str) -> Document:
    """A line's object as a document; SourceError when there is nothing to read."""
    title = " ".join(normalise(_text(entry, "title")).split())
    text = normalise(_text(entry, "text"))
    if not text.strip():
        text = title
    if not text:
        raise SourceError(expected="a title or a text", got="an empty document", remedy="Give it a text, or remove its line.")
    title = title or id_
    source = _source(entry.get("metadata"), title, address=f"{prefix}/{id_}")
    sections, blocks = outline(text)
    return Document(
        id=id_,
        title=title,
        source=source,
        text=text,
        sections=sections,
        blocks=blocks,
        sha256=document_hash(title, source, text),
        revision=revision,
        origin=origin,
    )


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if value is None or isinstance(value, str):
        return value or ""
    raise SourceError(expected=f"{key} to be a text", got=shown(value), remedy="Write it as one text.")


def _source(metadata: object, title: str, *, address: str) -> Source:
    """The attribution: what metadata says of it (`evals.beir` writes all three), else title, address and `LICENSE`."""
    about = metadata if isinstance(metadata, dict) else {}
    told = (value if isinstance(value := about.get(key), str) else "" for key in ("attribution", "url", "license"))
    attribution, url, license_ = (" ".join(normalise(value).split()) for value in told)
    return Source(attribution or title, url if url and _is_address(url) else address, license_ or LICENSE)


def _is_address(url: str) -> bool:
    try:
        return urlsplit(url).scheme in ("", "http", "https")
    except ValueError:
        return False

"""A BEIR collection becomes documents, one a line, under its own ids; what cannot be one is told by line."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from sitt_core import build
from sitt_core.build import read_source
from sitt_core.errors import InvalidInput, SourceError
from sitt_core.sources import beir
from sitt_core.sources.beir import MAX_ID, MAX_LINE, read_beir
from sitt_core.sources.markdown import outline
from sitt_core.surfaces import cli
from sitt_core.text import normalise
from sitt_core.types import Document, Listing, Source
from tests.fakes.command_line import Run, as_json, environment
from tests.fakes.embedder import HashEmbedder

BOM = b"\xef\xbb\xbf"
ORIGIN = "beir:tales"


def make(folder: Path, lines: Sequence[object]) -> Path:
    """A collection of those lines: bytes as they are, anything else as JSON."""
    folder.mkdir(exist_ok=True)
    written = [line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=False).encode() for line in lines]
    (folder / "corpus.jsonl").write_bytes(b"\n".join(written) + b"\n")
    return folder


def read(tmp_path: Path, *lines: object, stored: Sequence[Document] = ()) -> Listing:
    return read_beir(make(tmp_path / "tales", lines), origin=ORIGIN, stored=stored)


def only(listing: Listing) -> Document:
    assert listing.failures == ()
    (document,) = listing.documents
    return document


def test_a_line_is_a_document(tmp_path: Path) -> None:
    """Id and title as given, the text in its canonical form, outlined like Markdown, attributed to what the line says."""
    line = {"_id": "MED-10", "title": "Lake", "text": "# A\r\n\r\nOne.\x00", "metadata": {"url": "https://x.example/1"}}
    document = only(read(tmp_path, line))
    assert (document.id, document.title, document.text) == ("MED-10", "Lake", "# A\n\nOne.")
    assert (document.sections, document.blocks) == outline("# A\n\nOne.")
    assert document.source == Source("Lake", "https://x.example/1", "see the collection")
    assert (document.origin, len(document.revision), len(document.sha256)) == (ORIGIN, 16, 64)


def test_documents_come_in_order_and_the_listing_is_complete(tmp_path: Path) -> None:
    """The order of the file, blank lines left out, a byte order mark and line ends of Windows overlooked, no last line end needed."""
    folder = make(tmp_path / "tales", [])
    (folder / "corpus.jsonl").write_bytes(BOM + b'{"_id": "b", "text": "x"}\r\n\r\n  \n{"_id": "a", "text": "y"}')
    listing = read_beir(folder, origin=ORIGIN)
    assert [document.id for document in listing.documents] == ["b", "a"]
    assert (listing.origin, listing.failures, listing.complete) == (ORIGIN, (), True)


@pytest.mark.parametrize(
    ("line", "title", "text"),
    [
        ({"_id": "a", "text": "x"}, "a", "x"),
        ({"_id": "a", "title": " \n", "text": "x"}, "a", "x"),
        ({"_id": "a", "title": None, "text": " x "}, "a", " x "),
        ({"_id": "a", "title": "T"}, "T", "T"),
        ({"_id": "a", "title": "T", "text": " \n\t"}, "T", "T"),
        ({"_id": "a", "title": "T\n u", "text": None}, "T u", "T u"),
        ({"_id": "a", "title": 1984, "text": 7.50}, "1984", "7.5"),
    ],
    ids=["no-title", "blank-title", "null-title", "no-text", "blank-text", "null-text", "numbers"],
)
def test_title_and_text_stand_in_for_each_other(tmp_path: Path, line: object, title: str, text: str) -> None:
    """Without a title the id is the title, without a text the title is the text; a title is one line."""
    document = only(read(tmp_path, line))
    assert (document.title, document.text) == (title, text)


@pytest.mark.parametrize(
    ("written", "id_"),
    [
        (b"7", "7"),
        (b"-0.50", "-0.50"),
        (b"12345678901234567890", "12345678901234567890"),
        (rb'"a\tb\n\"c\" \u0000"', 'a\tb\n"c" \x00'),
        (b'" "', " "),
        ('"<dbpedia:Łódź/ü>"'.encode(), "<dbpedia:Łódź/ü>"),
        (b'"' + b"x" * MAX_ID + b'"', "x" * MAX_ID),
    ],
    ids=["number", "decimal", "long-number", "hostile", "space", "address", "long"],
)
def test_ids_are_kept_as_they_are(tmp_path: Path, written: bytes, id_: str) -> None:
    """Any characters, and numbers as they are written."""
    document = only(read(tmp_path, b'{"text": "x", "_id": ' + written + b"}"))
    assert document.id == document.title == id_


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{", "no JSON: Expecting property name"),
        (b"[1, 2]", r"got \['1', '2'\]"),
        (b"null", "got None"),
        (b'{"_id": "\xff"}', "no UTF-8"),
        (b"[" * 100_000, "without end"),
        ({"id": "a", "text": "x"}, "an _id, a text or a number; got none"),
        ({"_id": "", "text": "x"}, "got ''"),
        ({"_id": True, "text": "x"}, "got True"),
        ({"_id": None, "text": "x"}, "got None"),
        ({"_id": ["a"], "text": "x"}, r"got \['a'\]"),
        ({"_id": "x" * (MAX_ID + 1), "text": "x"}, "at most 4,096 characters; got 4,097"),
        (rb'{"_id": "\ud800", "text": "x"}', "valid Unicode"),
        (b'{"_id": "a", "text": "' + b"x" * MAX_LINE + b'"}', "at most 5,000,000 bytes"),
        (b" " * (MAX_LINE + 1) + b'{"_id": "a", "text": "x"}', "at most 5,000,000 bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_line_without_an_id_is_told_by_its_number(tmp_path: Path, line: object, words: str) -> None:
    """It costs nobody else anything; but since it may be any document's, nothing may be retired for not being there."""
    listing = read(tmp_path, {"_id": "one", "text": "x"}, line, {"_id": "three", "text": "x"})
    assert [document.id for document in listing.documents] == ["one", "three"]
    assert [failure.id for failure in listing.failures] == ["corpus.jsonl, line 2"]
    with pytest.raises(SourceError, match=words):
        raise SourceError(expected="", got=listing.failures[0].reason, remedy="")
    assert (listing.complete, listing.why_incomplete) == (False, "line 2 of corpus.jsonl has no id that can be read")
    assert read(tmp_path, line, line).why_incomplete == "line 1 of corpus.jsonl has no id that can be read, nor have 1 more"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([{"_id": "a"}], "line 2: expected a title or a text; got an empty document."),
        ([{"_id": "a", "title": " ", "text": "\x00"}], "an empty document"),
        ([{"_id": "a", "text": ["x"]}], "text to be a text; got ['x']"),
        ([{"_id": "a", "title": {}, "text": "x"}], "title to be a text"),
        ([{"_id": "a", "text": "x"}, {"_id": "a", "text": "y"}], "line 3: expected every _id once; got 'a' given twice."),
    ],
    ids=["nothing", "blank", "list", "mapping", "twice"],
)
def test_a_line_that_is_no_document_is_told_by_its_id(tmp_path: Path, lines: list[object], words: str) -> None:
    """With its reason and its line; of an id that is given twice the first stays."""
    listing = read(tmp_path, {"_id": "one", "text": "x"}, *lines)
    (failure,) = listing.failures
    assert failure.id == "a"
    assert words in failure.reason
    assert [document.text for document in listing.documents] == ["x"] * len(lines)
    assert listing.complete


def test_a_line_may_be_as_long_as_the_limit(tmp_path: Path) -> None:
    """5,000,000 bytes without its line end."""
    frame = b'{"_id": "a", "text": ""}'
    line = frame[:-2] + b"x" * (MAX_LINE - len(frame)) + b'"}'
    assert len(only(read(tmp_path, line)).text) == MAX_LINE - len(frame)


@pytest.mark.parametrize(
    ("metadata", "source"),
    [
        ({}, Source("T", "tales/a", "see the collection")),
        ({"url": "data/lake.md", "license": "CC0", "attribution": "Guide: T"}, Source("Guide: T", "data/lake.md", "CC0")),
        ({"url": "javascript:alert(1)", "license": 1}, Source("T", "tales/a", "1")),
        ({"url": "http://[", "license": []}, Source("T", "tales/a", "see the collection")),
        ("x", Source("T", "tales/a", "see the collection")),
    ],
    ids=["none", "all", "script", "nonsense", "no-mapping"],
)
def test_attribution_is_what_metadata_says(tmp_path: Path, metadata: object, source: Source) -> None:
    """A document without an address of its own is found by folder and id."""
    assert only(read(tmp_path, {"_id": "a", "title": "T", "text": "x", "metadata": metadata})).source == source


def test_a_line_that_has_not_changed_is_not_outlined_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the stored documents at hand only new and changed lines are; a raised version or another origin is all new."""
    lines: list[dict[str, str]] = [{"_id": id_, "text": f"Tale {id_}."} for id_ in "abc"]
    stored = [replace(document, fetched_at="2026-11-30") for document in read(tmp_path, *lines).documents]
    outlined: list[str] = []
    monkeypatch.setattr(beir, "outline", lambda text: outlined.append(text) or outline(text))
    lines[1]["text"] = "Another."
    after = read(tmp_path, *reversed(lines), {"_id": "d", "text": "New."}, stored=stored)
    assert outlined == ["Another.", "New."]
    assert [document.fetched_at for document in after.documents] == ["2026-11-30", "", "2026-11-30", ""]
    assert after.documents[0] is stored[2]
    outlined.clear()
    read(tmp_path, *lines, stored=[replace(document, origin="beir:other") for document in stored])
    monkeypatch.setattr(beir, "VERSION", beir.VERSION + 1)
    read(tmp_path, *lines, stored=stored)
    assert len(outlined) == 6


def test_every_change_that_a_reader_could_see_changes_the_hash(tmp_path: Path) -> None:
    """The hash covers title, text and attribution, but not how the line was written."""
    base = {"_id": "a", "title": "T", "text": "x", "metadata": {}}
    changes = [{}, {"title": "U"}, {"text": "y"}, {"metadata": {"url": "https://x.example"}}]
    assert len({only(read(tmp_path, base | change)).sha256 for change in changes}) == len(changes)
    assert only(read(tmp_path, b'{"text":"x","title":"T","_id":"a","more":1}')).sha256 == only(read(tmp_path, base)).sha256


@given(st.dictionaries(st.text(st.characters(codec="utf-8"), min_size=1), st.text(min_size=1), max_size=4))
@settings(max_examples=60)
def test_any_text_is_kept(tmp_path_factory: pytest.TempPathFactory, texts: dict[str, str]) -> None:
    """Every id and every text that is not blank comes back, the text in its canonical form."""
    lines = [json.dumps({"_id": id_, "text": text}).encode() for id_, text in texts.items()]
    listing = read(tmp_path_factory.mktemp("any"), {"_id": "\ud7ff first", "text": "x"}, *lines)
    wanted = {id_: normalise(text) for id_, text in texts.items() if normalise(text).strip()}
    assert {document.id: document.text for document in listing.documents[1:]} == wanted


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("none", "does not exist"),
        ("file", "is a file"),
        ("empty", "has no corpus.jsonl"),
        ("folder", "has no corpus.jsonl"),
        ("blank", "a blank corpus.jsonl"),
        ("x" * 300, "cannot be opened"),
    ],
)
def test_what_is_no_collection_is_a_named_error(tmp_path: Path, place: str, words: str) -> None:
    """The error says what a BEIR folder holds, what came and what to do."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "folder" / "corpus.jsonl").mkdir(parents=True)
    make(tmp_path / "blank", [b"", b"  "])
    with pytest.raises(SourceError, match=words):
        read_beir(tmp_path / place, origin=ORIGIN)


def test_a_file_that_cannot_be_read_is_a_named_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What breaks off is not taken for the whole."""

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    folder = make(tmp_path / "tales", [{"_id": "a", "text": "x"}])
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(SourceError, match="Permission denied"):
        read_beir(folder, origin=ORIGIN)


def test_a_collection_is_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder's name is its origin, its whole path the place to read it from again."""
    make(tmp_path / "tales", [{"_id": "a", "text": "x"}])
    monkeypatch.chdir(tmp_path)
    for spec in (f"beir:{tmp_path}/tales", "beir:tales", "beir:tales/../tales/"):
        listing, place = read_source(spec)
        assert (listing.origin, place) == ("beir:tales", f"beir:{(tmp_path / 'tales').resolve()}")
    for spec in ("beir", "beir:", "BEIR:tales", "beir:a\x00b"):
        with pytest.raises(InvalidInput):
            read_source(spec)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in this process, with a fake embedder and a data folder of its own."""
    for name, value in environment(tmp_path / "data").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setitem(build.EMBEDDERS, "minilm", lambda **_: HashEmbedder())
    return lambda *arguments: CliRunner().invoke(cli.app, list(arguments))


def test_a_collection_becomes_a_corpus_and_is_updated(run: Run, tmp_path: Path) -> None:
    """The command line publishes it, hostile ids and all, finds it unchanged, and retires nothing for a line that cannot be read."""
    lines = [
        {"_id": id_, "text": f"The tale of a giant, told {number} times."} for number, id_ in enumerate(["1", "a\tb", "x\ny", "n\x00"])
    ]
    folder = make(tmp_path / "tales", lines)
    update = ("update", "--source", f"beir:{folder}", "--corpus", "tales", "--yes")
    first = as_json(run(*update, "--json"))
    plan = first["updates"][0]["plan"]
    assert (plan["origin"], plan["added"]) == ("beir:tales", ["1", "a\tb", "n\x00", "x\ny"])
    second = as_json(run(*update, "--json"))
    assert (second["built"], len(second["updates"][0]["plan"]["unchanged"])) == (None, 4)
    hits = as_json(run("search", "told 3 times", "--corpus", "tales", "--from", "beir:tales", "--json"))
    assert "n\x00" in {passage["document"] for passage in hits["hits"]}
    make(folder, [*lines[:3], b"{"])
    assert run(*update).exit_code == 3
    assert as_json(run("status", "--corpus", "tales", "--json"))["corpora"][0]["documents"] == 4
    moved = make(tmp_path / "other", [])
    (folder).rename(moved / "tales")
    assert "--moved" in run("update", "--source", f"beir:{moved / 'tales'}", "--corpus", "tales", "--yes").stderr

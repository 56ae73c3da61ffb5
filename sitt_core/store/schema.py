"""The tables of a corpus file and of an index file, and how documents become rows and come back."""

import json
from typing import Any

from sitt_core.types import Block, Document, Section, Source

SCHEMA_VERSION = 1

META = "CREATE TABLE meta (key VARCHAR PRIMARY KEY, value VARCHAR NOT NULL)"

CORPUS_TABLES = (
    META,
    """CREATE TABLE documents (
        id VARCHAR PRIMARY KEY, title VARCHAR NOT NULL,
        source_title VARCHAR NOT NULL, source_url VARCHAR NOT NULL, source_license VARCHAR NOT NULL,
        text VARCHAR NOT NULL, sections JSON NOT NULL, blocks JSON NOT NULL,
        sha256 VARCHAR NOT NULL, revision VARCHAR NOT NULL, fetched_at VARCHAR NOT NULL,
        category VARCHAR NOT NULL, region VARCHAR NOT NULL, countries JSON NOT NULL, aliases JSON NOT NULL,
        see_also VARCHAR NOT NULL, origin VARCHAR NOT NULL,
        active BOOLEAN NOT NULL, retired_at VARCHAR)""",
)

INDEX_TABLES = (
    META,
    """CREATE TABLE chunks (
        position INTEGER PRIMARY KEY, id VARCHAR NOT NULL, document_id VARCHAR NOT NULL,
        start_at INTEGER NOT NULL, end_at INTEGER NOT NULL, text VARCHAR NOT NULL, header VARCHAR NOT NULL,
        heading_path JSON NOT NULL, tokens INTEGER NOT NULL, first_with_text INTEGER NOT NULL)""",
    "CREATE TABLE postings (name VARCHAR PRIMARY KEY, type VARCHAR NOT NULL, data BLOB NOT NULL)",
)

POSTING_ARRAYS = ("starts", "chunks", "counts", "weights", "lengths")

DOCUMENT_COLUMNS = (
    "id, title, source_title, source_url, source_license, text, sections, blocks, sha256, revision, fetched_at, "
    "category, region, countries, aliases, see_also, origin"
)


def document_row(document: Document) -> tuple[Any, ...]:
    """A document in the order of `DOCUMENT_COLUMNS`."""
    return (
        document.id,
        document.title,
        document.source.title,
        document.source.url,
        document.source.license,
        document.text,
        json.dumps([[list(section.heading_path), section.level, section.start, section.end] for section in document.sections]),
        json.dumps([[block.kind, block.start, block.end] for block in document.blocks]),
        document.sha256,
        document.revision,
        document.fetched_at,
        document.category,
        document.region,
        json.dumps(document.countries),
        json.dumps(document.aliases),
        document.see_also,
        document.origin,
    )


def row_document(row: tuple[Any, ...]) -> Document:
    """The document that a row of `DOCUMENT_COLUMNS` holds."""
    (id_, title, source_title, url, license_, text, sections, blocks, sha256, revision, fetched_at, category, region, *rest) = row
    countries, aliases, see_also, origin = rest
    return Document(
        id=id_,
        title=title,
        source=Source(source_title, url, license_),
        text=text,
        sections=tuple(Section(tuple(path), level, start, end) for path, level, start, end in json.loads(sections)),
        blocks=tuple(Block(kind, start, end) for kind, start, end in json.loads(blocks)),
        sha256=sha256,
        revision=revision,
        fetched_at=fetched_at,
        category=category,
        region=region,
        countries=tuple(json.loads(countries)),
        aliases=tuple(json.loads(aliases)),
        see_also=see_also,
        origin=origin,
    )


def quoted(value: object) -> str:
    """A value as an SQL string literal, for statements that take no parameters."""
    return "'" + str(value).replace("'", "''") + "'"

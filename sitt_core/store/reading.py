"""What is read from a published generation: documents, indexes in memory, passages; one cursor per call."""

import contextlib
import itertools
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from sitt_core.errors import FingerprintError, IndexMissing, InvalidInput, NotFound, StoreError, shown
from sitt_core.store.layout import BACK_REMEDY, CORPUS_FILE, current_generation, index_file, index_files
from sitt_core.store.schema import DOCUMENT_COLUMNS, POSTING_ARRAYS, SCHEMA_VERSION, quoted, row_document
from sitt_core.types import Chunk, Document, Filters, Hit, Mask, Matrix, Passage, Postings, Source

_aliases = itertools.count(1)


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """What a list of documents shows: everything but the text."""

    id: str
    title: str
    source: Source
    category: str
    region: str
    origin: str
    sha256: str
    characters: int


@dataclass(frozen=True, slots=True)
class Index:
    """One index in memory, read once: row i of every array belongs to the chunk at position i.

    `document_at` points into `Corpus.documents`; `first_with_text` groups chunks of the very same text.
    """

    key: str
    alias: str
    meta: Mapping[str, str]
    chunk_ids: tuple[str, ...]
    position: Mapping[str, int]
    document_at: NDArray[np.int32]
    first_with_text: NDArray[np.int32]
    vectors: Matrix
    postings: Postings


class Corpus:
    """One published generation, opened read-only; safe from many threads, finished on it even after a newer one appears."""

    def __init__(self, corpus_dir: Path, generation: str) -> None:
        self.name, self.generation, self.folder = corpus_dir.name, generation, corpus_dir / generation
        self._connection = duckdb.connect()
        self._opening = threading.Lock()
        self._indexes: dict[Path, Index] = {}
        self._attach(self.folder / CORPUS_FILE, "corpus", remedy=BACK_REMEDY)
        with self._reading() as cursor:
            self.meta: Mapping[str, str] = _meta(cursor, "corpus")
            rows = cursor.execute(
                "SELECT id, title, source_title, source_url, source_license, category, region, origin, sha256, length(text) "
                "FROM corpus.documents WHERE active ORDER BY id"
            ).fetchall()
        self.documents: tuple[DocumentInfo, ...] = tuple(
            DocumentInfo(id_, title, Source(source, url, license_), *rest) for id_, title, source, url, license_, *rest in rows
        )
        self._document_at = {document.id: at for at, document in enumerate(self.documents)}

    def close(self) -> None:
        """Lets go of the files; a call that is under way on another thread finishes first."""
        self._connection.close()

    def _attach(self, path: Path, alias: str, *, remedy: str) -> None:
        try:
            self._connection.execute(f"ATTACH {quoted(path)} AS {alias} (READ_ONLY)")
            schema = _meta(self._connection, alias).get("schema")
        except duckdb.Error as error:
            raise StoreError(
                expected=f"{path.name} of {self.name} to be a sound store file", got=str(error).splitlines()[0], remedy=remedy
            ) from error
        if schema != str(SCHEMA_VERSION):
            raise StoreError(expected=f"{path.name} to have schema {SCHEMA_VERSION}", got=shown(schema), remedy=remedy)

    @contextlib.contextmanager
    def _reading(self, file: str = CORPUS_FILE, *, remedy: str = BACK_REMEDY) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor of this call's own: one connection shared by threads returns other threads' rows."""
        try:
            with self._connection.cursor() as cursor:
                yield cursor
        except duckdb.Error as error:
            raise StoreError(expected=f"to read {file} of {self.name}", got=str(error).splitlines()[0], remedy=remedy) from error

    def document(self, document_id: str) -> Document:
        """One active document with its text; raises NotFound."""
        with self._reading() as cursor:
            row = cursor.execute(f"SELECT {DOCUMENT_COLUMNS} FROM corpus.documents WHERE active AND id = ?", [document_id]).fetchone()
        if row is None:
            raise NotFound(
                expected=f"a document of {self.name}",
                got=shown(document_id),
                remedy="python -m sitt_core status names the corpus's sources.",
            )
        return row_document(row)

    def all_documents(self) -> tuple[Document, ...]:
        """Every active document with its text, by id."""
        with self._reading() as cursor:
            rows = cursor.execute(f"SELECT {DOCUMENT_COLUMNS} FROM corpus.documents WHERE active ORDER BY id").fetchall()
        return tuple(row_document(row) for row in rows)

    def retired_documents(self) -> tuple[tuple[Document, str], ...]:
        """Documents that an update retired, with when."""
        with self._reading() as cursor:
            rows = cursor.execute(f"SELECT {DOCUMENT_COLUMNS}, retired_at FROM corpus.documents WHERE NOT active ORDER BY id").fetchall()
        return tuple((row_document(row[:-1]), row[-1]) for row in rows)

    def values(self, attribute: str) -> dict[str, int]:
        """How many documents have which `category`, `region` or `origin`, by value."""
        counts: dict[str, int] = {}
        for document in self.documents:
            value = str(getattr(document, attribute))
            if value:
                counts[value] = counts.get(value, 0) + 1
        return dict(sorted(counts.items()))

    def has_index(self, index_key: str) -> bool:
        """Whether that index has been built in this generation."""
        return index_file(self.folder, index_key) is not None

    def index_sizes(self) -> dict[str, int]:
        """The size in bytes of every index built in this generation, by key."""
        sizes = {}
        for key, path in sorted(index_files(self.folder).items()):
            with contextlib.suppress(FileNotFoundError):  # a rebuild has just replaced it
                sizes[key] = path.stat().st_size
        return sizes

    def index(self, index_key: str, *, fingerprint: Mapping[str, str]) -> Index:
        """The index of that key, read into memory once; raises IndexMissing, FingerprintError or StoreError."""
        path = index_file(self.folder, index_key)
        if path is None:
            raise IndexMissing(
                expected=f"index {index_key} of corpus {self.name}",
                got="no such index in this generation",
                remedy=f"Build it: python -m sitt_core index --corpus {self.name} with the same --set options, or with the button in the dashboard.",
            )
        try:
            with self._opening:
                if path not in self._indexes:
                    self._indexes[path] = self._load(path, index_key)
        except StoreError:
            if path.exists():
                raise
            return self.index(index_key, fingerprint=fingerprint)  # a rebuild has just replaced it
        index = self._indexes[path]
        differing = {name: value for name, value in fingerprint.items() if index.meta.get(name) != value}
        if differing:
            raise FingerprintError(
                expected=f"an index made with {_listed(differing)}",
                got=_listed({name: index.meta.get(name, "nothing") for name in differing}),
                remedy=self._rebuild_remedy,
            )
        return index

    @property
    def _rebuild_remedy(self) -> str:
        return f"Rebuild it: python -m sitt_core index --corpus {self.name} --rebuild with the same --set options."

    def _load(self, path: Path, index_key: str) -> Index:
        alias = f"index_{next(_aliases)}"
        remedy = self._rebuild_remedy
        self._attach(path, alias, remedy=remedy)
        with self._reading(path.name, remedy=remedy) as cursor:
            meta = _meta(cursor, alias)
            rows = cursor.execute(f"SELECT id, document_id, first_with_text FROM {alias}.chunks ORDER BY position").fetchall()
            vectors = _read_vectors(cursor, alias, count=len(rows), dimension=int(meta["dimension"]))
            postings = _read_postings(cursor, alias)
        unknown = {document_id for _, document_id, _ in rows} - self._document_at.keys()
        if unknown or len(rows) != int(meta["chunks"]) or len(rows) != len(postings.lengths):
            raise StoreError(
                expected=f"{path.name} to agree with its corpus", got=f"{len(rows)} chunks, {len(unknown)} unknown documents", remedy=remedy
            )
        chunk_ids = tuple(row[0] for row in rows)
        return Index(
            key=index_key,
            alias=alias,
            meta=meta,
            chunk_ids=chunk_ids,
            position={chunk_id: at for at, chunk_id in enumerate(chunk_ids)},
            document_at=np.array([self._document_at[row[1]] for row in rows], dtype=np.int32),
            first_with_text=np.array([row[2] for row in rows], dtype=np.int32),
            vectors=vectors,
            postings=postings,
        )

    def allowed(self, index: Index, filters: Filters) -> Mask | None:
        """Which chunks the filters let pass, shape (chunks,), or None for all; raises InvalidInput for unknown values."""
        if not filters:
            return None
        passing = np.ones(len(self.documents), dtype=bool)
        for attribute in ("category", "region", "origin"):
            wanted = set(getattr(filters, attribute))
            unknown = wanted - self.values(attribute).keys()
            if unknown:
                raise InvalidInput(
                    expected=f"{attribute} to be one of {', '.join(self.values(attribute)) or 'none: no document has one'}",
                    got=", ".join(map(shown, sorted(unknown))),
                    remedy="Choose from those values or leave the filter out.",
                )
            if wanted:
                passing &= np.array([getattr(document, attribute) in wanted for document in self.documents], dtype=bool)
        return np.asarray(passing[index.document_at], dtype=np.bool_)

    def chunks(self, index: Index, positions: Sequence[int]) -> list[Chunk]:
        """The chunks at those positions, in the order asked."""
        with self._reading() as cursor:
            # Positions go in as literals: a list parameter makes DuckDB import pandas, half a second at the first question.
            places = ", ".join(str(int(position)) for position in positions) or "NULL"
            rows = cursor.execute(
                f"SELECT position, id, document_id, start_at, end_at, text, heading_path, tokens, header FROM {index.alias}.chunks "
                f"WHERE position IN ({places})"
            ).fetchall()
        made = {row[0]: Chunk(row[1], row[2], row[3], row[4], row[5], tuple(json.loads(row[6])), row[7], row[8]) for row in rows}
        return [made[position] for position in positions]

    def passages(self, index: Index, hits: Sequence[Hit], *, allowed: Mask | None = None) -> tuple[Passage, ...]:
        """The hits with their texts, ranked as given; `twins` are the allowed chunks elsewhere with the very same text."""
        groups = [self._same_text(index, index.position[hit.chunk_id], allowed) for hit in hits]
        wanted = [position for group in groups for position in group]
        chunks = dict(zip(wanted, self.chunks(index, wanted), strict=True))
        passages = []
        for rank, (hit, group) in enumerate(zip(hits, groups, strict=True), start=1):
            own, *others = [self._passage(rank, chunks[position], hit) for position in group]
            passages.append(Passage(own.rank, own.chunk, own.title, own.source, own.hit, own.document_length, tuple(others)))
        return tuple(passages)

    def _same_text(self, index: Index, position: int, allowed: Mask | None) -> list[int]:
        """The position first, then those of the allowed chunks with its text."""
        same = index.first_with_text == index.first_with_text[position]
        if allowed is not None:
            same &= allowed
        return [position, *(other for other in np.flatnonzero(same).tolist() if other != position)]

    def _passage(self, rank: int, chunk: Chunk, hit: Hit) -> Passage:
        document = self.documents[self._document_at[chunk.document_id]]
        return Passage(rank, chunk, document.title, document.source, hit, document.characters)


def open_corpus(store_dir: Path, name: str) -> Corpus:
    """The current generation of a corpus; raises NotFound or StoreError."""
    corpus_dir = store_dir / name
    return Corpus(corpus_dir, current_generation(corpus_dir))


def _meta(cursor: duckdb.DuckDBPyConnection, alias: str) -> dict[str, str]:
    return dict(cursor.execute(f"SELECT key, value FROM {alias}.meta").fetchall())


def _read_vectors(cursor: duckdb.DuckDBPyConnection, alias: str, *, count: int, dimension: int) -> Matrix:
    """The vector table as one matrix; a flat column is what DuckDB hands to numpy without a copy per row."""
    flat = cursor.execute(f"SELECT unnest(vector) AS value FROM (SELECT vector FROM {alias}.vectors ORDER BY position)").fetchnumpy()[
        "value"
    ]
    return np.ascontiguousarray(flat, dtype=np.float32).reshape(count, dimension)


def _read_postings(cursor: duckdb.DuckDBPyConnection, alias: str) -> Postings:
    stored: dict[str, tuple[str, bytes]] = {
        name: (kind, data) for name, kind, data in cursor.execute(f"SELECT name, type, data FROM {alias}.postings").fetchall()
    }
    terms = stored["terms"][1].decode()
    arrays: dict[str, Any] = {name: np.frombuffer(stored[name][1], dtype=stored[name][0]) for name in POSTING_ARRAYS}
    return Postings(terms={term: number for number, term in enumerate(terms.split("\n") if terms else [])}, **arrays)


def _listed(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())

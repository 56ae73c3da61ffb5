"""What is read from a published generation: documents, indexes in memory, passages; one cursor per call."""

import contextlib
import functools
import itertools
import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from sitt_core.configuration import Configuration, configure
from sitt_core.errors import FingerprintError, IndexMissing, InvalidInput, NotFound, StoreError, shown
from sitt_core.store import graph as graph_search
from sitt_core.store.layout import BACK_REMEDY, CORPUS_FILE, current_generation, index_file, index_files
from sitt_core.store.rows import ChunkRows, read_rows
from sitt_core.store.schema import DOCUMENT_COLUMNS, POSTING_ARRAYS, SCHEMA_VERSION, quoted, row_document
from sitt_core.types import Chunk, Document, Filters, Hit, Mask, Matrix, Passage, Postings, Source

_aliases = itertools.count(1)
READ_ROWS = 30_720
"""Vectors read at once, a quarter of what DuckDB keeps together on disk."""


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
    revision: str = ""
    fetched_at: str = ""


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """What a list of indexes shows; `meta` is all that the file says of itself, `configuration` None when it does not say it."""

    key: str
    configuration: Configuration | None
    size: int
    meta: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Index:
    """One index in memory, read once: row i of every array belongs to the chunk at position i.

    `document_at` points into `Corpus.documents`, whose ids `document_ids` are; `first_with_text` groups chunks of the very same text.
    """

    key: str
    alias: str
    meta: Mapping[str, str]
    chunk_ids: tuple[str, ...]
    position: Mapping[str, int]
    document_at: NDArray[np.int32]
    document_ids: tuple[str, ...]
    first_with_text: NDArray[np.int32]
    rows: ChunkRows
    vectors: Matrix
    postings: Postings

    def chunks(self, positions: Iterable[int]) -> list[Chunk]:
        """The chunks at those positions, in the order asked."""
        return [
            self.rows.chunk(at, id_=self.chunk_ids[at], document_id=self.document_ids[self.document_at[at]]) for at in map(int, positions)
        ]

    def all_chunks(self) -> list[Chunk]:
        """Every chunk, by position."""
        return self.chunks(range(len(self.chunk_ids)))

    @property
    def mean_tokens(self) -> int:
        """The mean length of the chunks, in tokens, rounded."""
        return round(float(self.rows.tokens.mean())) if len(self.chunk_ids) else 0

    @property
    def has_graph(self) -> bool:
        """Whether it holds an HNSW graph beside its vectors; `meta` has its parameters and its recall."""
        return bool(self.meta.get("hnsw"))


class Corpus:
    """One published generation, opened read-only; safe from many threads, finished on it even after a newer one appears."""

    def __init__(self, corpus_dir: Path, generation: str) -> None:
        self.name, self.generation, self.folder = corpus_dir.name, generation, corpus_dir / generation
        self.identity = identity(corpus_dir, generation)
        self._connection = duckdb.connect()
        self._opening = threading.Lock()
        self._has_vss = False
        self._indexes: dict[Path, Index] = {}
        self._attach(self._connection, self.folder / CORPUS_FILE, "corpus", remedy=BACK_REMEDY)
        with self._reading() as cursor:
            self.meta: Mapping[str, str] = _meta(cursor, "corpus")
            rows = cursor.execute(
                "SELECT id, title, source_title, source_url, source_license, category, region, origin, sha256, length(text), revision, fetched_at "
                "FROM corpus.documents WHERE active ORDER BY id"
            ).fetchall()
        self.documents: tuple[DocumentInfo, ...] = tuple(
            DocumentInfo(id_, title, Source(source, url, license_), *rest) for id_, title, source, url, license_, *rest in rows
        )
        self._document_at = {document.id: at for at, document in enumerate(self.documents)}

    def close(self) -> None:
        """Lets go of the files; a call that is under way on another thread finishes first."""
        self._connection.close()

    def _attach(self, connection: duckdb.DuckDBPyConnection, path: Path, alias: str, *, remedy: str) -> None:
        try:
            connection.execute(f"ATTACH {quoted(path)} AS {alias} (READ_ONLY)")
            schema = _meta(connection, alias).get("schema")
        except duckdb.Error as error:
            raise StoreError(
                expected=f"{path.name} of {self.name} to be a sound store file", got=str(error).splitlines()[0], remedy=remedy
            ) from error
        if schema != str(SCHEMA_VERSION):
            raise StoreError(expected=f"{path.name} to have schema {SCHEMA_VERSION}", got=shown(schema), remedy=remedy)

    @contextlib.contextmanager
    def _reading(
        self, file: str = CORPUS_FILE, *, remedy: str = BACK_REMEDY, connection: duckdb.DuckDBPyConnection | None = None
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor of this call's own: one connection shared by threads returns other threads' rows."""
        try:
            with (connection or self._connection).cursor() as cursor:
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

    def has_graph(self, index_key: str) -> bool:
        """Whether that index has been built in this generation with an HNSW graph."""
        path = index_file(self.folder, index_key)
        with contextlib.suppress(FileNotFoundError):  # a rebuild has just replaced it
            return path is not None and bool(_meta_of(path).get("hnsw"))
        return self.has_graph(index_key)

    def has_index_for(self, configuration: Configuration) -> bool:
        """Whether all that a configuration searches has been built in this generation: its index, and a graph for dense=hnsw."""
        key = configuration.index_key
        return self.has_index(key) and (configuration.dense != "hnsw" or self.has_graph(key))

    def index_sizes(self) -> dict[str, int]:
        """The size in bytes of every index built in this generation, by key."""
        sizes = {}
        for key, path in sorted(index_files(self.folder).items()):
            with contextlib.suppress(FileNotFoundError):  # a rebuild has just replaced it
                sizes[key] = path.stat().st_size
        return sizes

    def indexes(self) -> tuple[IndexInfo, ...]:
        """Every index built in this generation, by key, without reading it into memory; one that cannot be read has no meta."""
        infos = []
        for key, path in sorted(index_files(self.folder).items()):
            with contextlib.suppress(FileNotFoundError):  # a rebuild has just replaced it
                state = path.stat()
                meta = _meta_of(path)
                infos.append(IndexInfo(key, _index_configuration(meta), state.st_size, meta))
        return tuple(infos)

    def index(self, index_key: str, *, fingerprint: Mapping[str, str], graph: bool = False) -> Index:
        """The index of that key, read into memory once; raises IndexMissing, FingerprintError or StoreError.

        With `graph`, one that holds no HNSW graph is missing too.
        """
        # A generation that was removed meanwhile (renamed, purged) goes on with what was read from it.
        path = index_file(self.folder, index_key) or next((path for path, held in self._indexes.items() if held.key == index_key), None)
        if path is None and not self.folder.is_dir():
            raise NotFound(
                expected=f"generation {self.generation} of {self.name}",
                got="a newer one, or none",
                remedy="Ask again: it was replaced just now.",
            )
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
            return self.index(index_key, fingerprint=fingerprint, graph=graph)  # a rebuild has just replaced it
        index = self._indexes[path]
        differing = {name: value for name, value in fingerprint.items() if index.meta.get(name) != value}
        if differing:
            raise FingerprintError(
                expected=f"an index made with {_listed(differing)}",
                got=_listed({name: index.meta.get(name, "nothing") for name in differing}),
                remedy=self._rebuild_remedy,
            )
        if graph and not index.has_graph:
            raise IndexMissing(
                expected=f"index {index_key} of corpus {self.name} with an HNSW graph",
                got="one without",
                remedy=f"Build it: python -m sitt_core index --corpus {self.name} --set dense=hnsw with the same other --set options.",
            )
        return index

    def nearest(self, index: Index, query: NDArray[np.float32], n: int, *, ef_search: int) -> NDArray[np.int64]:
        """The positions of about the `n` nearest chunks by the index's graph, nearest first; `query` is a unit vector (dimension,).

        Raises StoreError where DuckDB's vss extension is missing.
        """
        with self._graph_of(index) as (cursor, table):
            return graph_search.nearest(cursor, table, query, n, ef_search=ef_search)

    def explain_nearest(self, index: Index, query: NDArray[np.float32], n: int) -> str:
        """DuckDB's plan for `nearest`: it names HNSW_INDEX_SCAN. Raises as `nearest` does."""
        with self._graph_of(index) as (cursor, table):
            return graph_search.explain_nearest(cursor, table, query, n)

    @contextlib.contextmanager
    def _graph_of(self, index: Index) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
        """A cursor of this call's own and the table that the graph belongs to; vss is loaded by the first that asks."""
        if not self._has_vss:
            with self._opening:
                graph_search.load_vss(self._connection)
                self._has_vss = True
        with self._reading(f"the graph of index {index.key}", remedy=self._rebuild_remedy) as cursor:
            yield cursor, f"{index.alias}.vectors"

    @property
    def _rebuild_remedy(self) -> str:
        return f"Rebuild it: python -m sitt_core index --corpus {self.name} --rebuild with the same --set options."

    def _load(self, path: Path, index_key: str) -> Index:
        alias, remedy = f"index_{next(_aliases)}", self._rebuild_remedy
        # A connection of its own: with it goes what DuckDB keeps of the file in memory, and nothing is read a second time.
        with contextlib.closing(duckdb.connect()) as connection:
            self._attach(connection, path, alias, remedy=remedy)
            with self._reading(path.name, remedy=remedy, connection=connection) as cursor:
                meta = _meta(cursor, alias)
                named = cursor.execute(f"SELECT id, document_id, first_with_text FROM {alias}.chunks ORDER BY position").fetchall()
                rows = read_rows(cursor, f"{alias}.chunks", count=len(named))
                vectors = _read_vectors(cursor, alias, count=len(named), dimension=int(meta["dimension"]))
                postings = _read_postings(cursor, alias)
        unknown = {document_id for _, document_id, _ in named} - self._document_at.keys()
        if unknown or len(named) != int(meta["chunks"]) or len(named) != len(postings.lengths):
            raise StoreError(
                expected=f"{path.name} to agree with its corpus",
                got=f"{len(named)} chunks, {len(unknown)} unknown documents",
                remedy=remedy,
            )
        if meta.get("hnsw"):
            self._attach(self._connection, path, alias, remedy=remedy)  # the graph is searched where it lies
        chunk_ids = tuple(row[0] for row in named)
        return Index(
            key=index_key,
            alias=alias,
            meta=meta,
            chunk_ids=chunk_ids,
            position={chunk_id: at for at, chunk_id in enumerate(chunk_ids)},
            document_at=np.array([self._document_at[row[1]] for row in named], dtype=np.int32),
            document_ids=tuple(document.id for document in self.documents),
            first_with_text=np.array([row[2] for row in named], dtype=np.int32),
            rows=rows,
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

    def passages(self, index: Index, hits: Sequence[Hit], *, allowed: Mask | None = None) -> tuple[Passage, ...]:
        """The hits with their texts, ranked as given; `twins` are the allowed chunks elsewhere with the very same text."""
        groups = [self._same_text(index, index.position[hit.chunk_id], allowed) for hit in hits]
        wanted = [position for group in groups for position in group]
        chunks = dict(zip(wanted, index.chunks(wanted), strict=True))
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
    generation = current_generation(corpus_dir)
    try:
        return Corpus(corpus_dir, generation)
    except StoreError:
        if current_generation(corpus_dir) == generation:
            raise
        return open_corpus(store_dir, name)  # another one was published and this one removed, just now


def identity(corpus_dir: Path, generation: str) -> str:
    """Names the files of a generation: a corpus that was deleted and made anew under its name has another one."""
    try:
        state = (corpus_dir / generation / CORPUS_FILE).stat()
    except OSError:
        return f"{corpus_dir.name}/{generation}"
    return f"{corpus_dir.name}/{generation} ({state.st_ino}, {state.st_mtime_ns})"


def _meta_of(path: Path) -> Mapping[str, str]:
    """What a file says of itself; raises FileNotFoundError."""
    state = path.stat()
    return _file_meta(path, state.st_ino, state.st_mtime_ns)


@functools.lru_cache(maxsize=256)
def _file_meta(path: Path, _inode: int, _modified: int) -> Mapping[str, str]:
    """What a file says of itself, read once as long as it is the same file; nothing when it cannot be read."""
    try:
        with duckdb.connect() as connection:
            connection.execute(f"ATTACH {quoted(path)} AS file (READ_ONLY)")
            return _meta(connection, "file")
    except duckdb.Error:
        return {}


def _index_configuration(meta: Mapping[str, str]) -> Configuration | None:
    try:
        return stored_configuration(json.loads(meta.get("configuration", "null")))
    except ValueError:
        return None


def stored_configuration(values: object) -> Configuration | None:
    """A configuration as files hold it; None for one that this version cannot read."""
    try:
        return configure(values) if isinstance(values, dict) else None
    except InvalidInput:
        return None


def _meta(cursor: duckdb.DuckDBPyConnection, alias: str) -> dict[str, str]:
    return dict(cursor.execute(f"SELECT key, value FROM {alias}.meta").fetchall())


def _read_vectors(cursor: duckdb.DuckDBPyConnection, alias: str, *, count: int, dimension: int) -> Matrix:
    """The vector table as one matrix, in slices: read whole, and sorted, it would be in memory three times."""
    table = f"{alias}.vectors"
    vectors = np.empty((count, dimension), dtype=np.float32)
    for start in range(0, count, READ_ROWS):
        stop = min(start + READ_ROWS, count)
        # A flat column is what DuckDB hands to numpy without a copy per row.
        rows = f"SELECT vector FROM {table} WHERE rowid >= {start} AND rowid < {stop}"
        flat = cursor.execute(f"SELECT unnest(vector) AS value FROM ({rows})").fetchnumpy()["value"]
        vectors[start:stop] = np.asarray(flat, dtype=np.float32).reshape(stop - start, dimension)
    # Written in the order of their positions, and DuckDB keeps that order; if it ever did not, every answer would be wrong.
    places = cursor.execute(f"SELECT position FROM {table}").fetchnumpy()["position"]
    if not np.array_equal(places, np.arange(count)):
        raise duckdb.DataError("the vectors are not in the order of their chunks")
    return vectors


def _read_postings(cursor: duckdb.DuckDBPyConnection, alias: str) -> Postings:
    stored: dict[str, tuple[str, bytes]] = {
        name: (kind, data) for name, kind, data in cursor.execute(f"SELECT name, type, data FROM {alias}.postings").fetchall()
    }
    terms = stored["terms"][1].decode()
    arrays: dict[str, Any] = {name: np.frombuffer(stored[name][1], dtype=stored[name][0]) for name in POSTING_ARRAYS}
    return Postings(terms={term: number for number, term in enumerate(terms.split("\n") if terms else [])}, **arrays)


def _listed(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())

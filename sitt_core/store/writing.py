"""How corpus and index files are made: once, aside, checkpointed and verified; never written again."""

import contextlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import duckdb
import numpy as np

from sitt_core.errors import ModelError, StoreError
from sitt_core.store.graph import create_graph, load_vss, measure_recall
from sitt_core.store.layout import storage_errors
from sitt_core.store.schema import CORPUS_TABLES, DOCUMENT_COLUMNS, INDEX_TABLES, POSTING_ARRAYS, SCHEMA_VERSION, document_row
from sitt_core.types import Chunk, Document, Matrix, Postings

SPARE_BYTES = 64 * 1024 * 1024
"""Left free on the disk: a build stops with a named error before it fills it."""


def write_corpus(path: Path, documents: Sequence[Document], *, retired: Sequence[tuple[Document, str]], meta: Mapping[str, str]) -> None:
    """Makes a corpus file with active documents and retired ones (each with when it was retired)."""
    rows = [(*document_row(document), True, None) for document in documents]
    rows += [(*document_row(document), False, retired_at) for document, retired_at in retired]
    with _writer(path, new=True) as connection:
        for statement in CORPUS_TABLES:
            connection.execute(statement)
        _insert(connection, "documents", f"{DOCUMENT_COLUMNS}, active, retired_at", rows)
        _write_meta(connection, {**meta, "schema": str(SCHEMA_VERSION)})


def write_index(path: Path, chunks: Sequence[Chunk], vectors: Matrix, postings: Postings, *, meta: Mapping[str, str]) -> None:
    """Makes an index file. Row i of `vectors` (chunks, dimension) belongs to chunk i; raises ModelError unless all are unit vectors."""
    require_unit_vectors(vectors, (len(chunks), *vectors.shape[1:]))
    first: dict[str, int] = {}
    rows = [
        (
            position,
            chunk.id,
            chunk.document_id,
            chunk.start,
            chunk.end,
            chunk.text,
            chunk.header,
            json.dumps(chunk.heading_path),
            chunk.tokens,
            first.setdefault(chunk.text, position),
        )
        for position, chunk in enumerate(chunks)
    ]
    with _writer(path, new=True) as connection:
        for statement in INDEX_TABLES:
            connection.execute(statement)
        _insert(
            connection, "chunks", "position, id, document_id, start_at, end_at, text, header, heading_path, tokens, first_with_text", rows
        )
        _insert_vectors(connection, vectors)
        for name in POSTING_ARRAYS:
            array = getattr(postings, name)
            connection.execute("INSERT INTO postings VALUES (?, ?, ?)", [name, array.dtype.str, array.tobytes()])
        connection.execute("INSERT INTO postings VALUES ('terms', 'utf-8', ?)", ["\n".join(postings.terms).encode()])
        _write_meta(connection, {**meta, "schema": str(SCHEMA_VERSION), "chunks": str(len(chunks))})


def add_graph(path: Path, vectors: Matrix, queries: Matrix, *, m: int, ef_construction: int, ef_search: int) -> float:
    """Adds an HNSW graph to a finished index file that nobody reads yet, and returns its recall@10 at `ef_search` over `queries`.

    The file's meta then says `hnsw` ("m=24 ef_construction=200"), `hnsw_recall` and `hnsw_recall_ef` (at which ef_search).
    Raises StoreError.
    """
    with _writer(path, new=False) as connection:
        load_vss(connection)
        create_graph(connection, m=m, ef_construction=ef_construction)
        recall = measure_recall(connection, "vectors", vectors, queries, ef_search=ef_search)
        facts = {"hnsw": f"m={m} ef_construction={ef_construction}", "hnsw_recall": f"{recall:.4f}", "hnsw_recall_ef": str(ef_search)}
        _write_meta(connection, facts)
    return recall


def require_unit_vectors(vectors: Matrix, shape: tuple[int, ...]) -> None:
    """Raises ModelError unless the vectors have that shape (texts, dimension) and are finite and of length 1."""
    if vectors.shape == shape and vectors.ndim == 2:
        with np.errstate(over="ignore", invalid="ignore"):
            wrong = int(np.sum(~(np.abs(np.linalg.norm(vectors, axis=1) - 1.0) < 1e-3)))  # NaN compares false
        got = f"{wrong} that are not so"
    else:
        wrong, got = 1, f"an array of {' × '.join(map(str, vectors.shape))}"
    if wrong:
        raise ModelError(
            expected=f"{' × '.join(map(str, shape))}: {shape[0]} finite vectors of length 1",
            got=got,
            remedy="Check the embedder with: python -m sitt_core doctor",
        )


def _insert(connection: duckdb.DuckDBPyConnection, table: str, columns: str, rows: Sequence[tuple[object, ...]]) -> None:
    """Inserts through Arrow, which is far faster than a statement per row."""
    if not rows:
        return
    import pyarrow

    names = [column.strip() for column in columns.split(",")]
    batch = pyarrow.table({name: list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)})
    connection.register("batch", batch)
    connection.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM batch")
    connection.unregister("batch")


def _insert_vectors(connection: duckdb.DuckDBPyConnection, vectors: Matrix) -> None:
    import pyarrow

    dimension = vectors.shape[1]
    # Uncompressed vectors are scanned three times as fast, and the file is no larger.
    connection.execute("SET force_compression = 'uncompressed'")
    connection.execute(f"CREATE TABLE vectors (position INTEGER PRIMARY KEY, vector FLOAT[{dimension}] NOT NULL)")
    column = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(np.ascontiguousarray(vectors).reshape(-1)), dimension)
    connection.register("batch", pyarrow.table({"position": np.arange(len(vectors), dtype=np.int32), "vector": column}))
    connection.execute("INSERT INTO vectors SELECT position, vector FROM batch ORDER BY position")
    connection.unregister("batch")
    connection.execute("CHECKPOINT")
    connection.execute("SET force_compression = 'auto'")


def _write_meta(connection: duckdb.DuckDBPyConnection, meta: Mapping[str, str]) -> None:
    connection.executemany("INSERT INTO meta VALUES (?, ?)", [list(pair) for pair in sorted(meta.items())])


@contextlib.contextmanager
def _writer(path: Path, *, new: bool) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a new file, or to one in the making; checkpointed, closed and opened once more to verify when the block ends."""
    with storage_errors(path.parent):
        if new:  # what a killed build left, its log too: DuckDB would replay that into the new file
            path.unlink(missing_ok=True)
            _log(path).unlink(missing_ok=True)
        free = shutil.disk_usage(path.parent).free
    if free < SPARE_BYTES:
        raise StoreError(
            expected=f"at least {SPARE_BYTES // 2**20} MB free on the disk of {path.parent.name}",
            got=f"{free // 2**20} MB",
            remedy="Free some disk space and run it again; nothing that was stored is lost.",
        )
    try:
        with duckdb.connect(str(path)) as connection:
            yield connection
            connection.execute("CHECKPOINT")
        _verify(path)
    except duckdb.Error as error:
        raise StoreError(
            expected=f"to write {path.name}",
            got=str(error).splitlines()[0],
            remedy="Check the disk's free space and permissions, then run it again; nothing that was stored is lost.",
        ) from error


def _log(path: Path) -> Path:
    """Where DuckDB keeps a file's write-ahead log."""
    return path.with_name(f"{path.name}.wal")


def _verify(path: Path) -> None:
    """A finished file has no write-ahead log and opens read-only."""
    if _log(path).exists():
        raise StoreError(expected=f"{path.name} to be complete", got="a write-ahead log beside it", remedy="Run it again.")
    with duckdb.connect(str(path), read_only=True) as connection:
        connection.execute("SELECT count(*) FROM meta").fetchone()

"""The HNSW graph beside an index's vectors: how it is built, searched one query at a time, and measured against exact."""

import threading

import duckdb
import numpy as np
from numpy.typing import NDArray

from sitt_core.errors import StoreError
from sitt_core.store.extensions import vss_path
from sitt_core.store.schema import quoted
from sitt_core.types import Matrix

RECALL_AT = 10
TOLERANCE = 1e-6
"""Cosines that differ by less are equally far: the graph and numpy round differently."""

_one_at_a_time = threading.Lock()
"""Three threads that search a graph at once end the process (SIGSEGV; vss of DuckDB 1.5.5), whichever connections they use."""


def load_vss(connection: duckdb.DuckDBPyConnection) -> None:
    """Makes a connection, and all that share its database, able to use graphs; raises StoreError where vss is missing."""
    path = vss_path()
    try:
        with _one_at_a_time:
            connection.execute(f"LOAD {quoted(path)}")
    except duckdb.Error as error:
        raise StoreError(
            expected="DuckDB's vss extension to load",
            got=str(error).splitlines()[0],
            remedy="Install the requirements again: make install. Meanwhile dense=exact needs no extension.",
        ) from error


def create_graph(connection: duckdb.DuckDBPyConnection, *, m: int, ef_construction: int) -> None:
    """Builds the graph over the table `vectors`, into its file; the caller has loaded vss and checkpoints."""
    # Its dangers are changes and an unfinished log; this file is checkpointed and never changed again.
    connection.execute("SET hnsw_enable_experimental_persistence = true")
    connection.execute(
        f"CREATE INDEX graph ON vectors USING HNSW (vector) WITH (metric = 'cosine', M = {m}, ef_construction = {ef_construction})"
    )


def nearest(cursor: duckdb.DuckDBPyConnection, table: str, query: NDArray[np.float32], n: int, *, ef_search: int) -> NDArray[np.int64]:
    """The positions of about the `n` nearest rows of a vector table, nearest first; `query` is a unit vector (dimension,)."""
    with _one_at_a_time:
        cursor.execute(f"SET hnsw_ef_search = {ef_search}")
        rows = cursor.execute(_sql(table, query, n)).fetchall()
    return np.array([row[0] for row in rows], dtype=np.int64)


def explain_nearest(cursor: duckdb.DuckDBPyConnection, table: str, query: NDArray[np.float32], n: int) -> str:
    """DuckDB's plan for `nearest`; it names HNSW_INDEX_SCAN when the graph answers."""
    with _one_at_a_time:
        row = cursor.execute(f"EXPLAIN {_sql(table, query, n)}").fetchone()
    return str(row[1]) if row else ""


def _sql(table: str, query: NDArray[np.float32], n: int) -> str:
    # In this form alone the graph is used: a tie-break, a filter or another distance falls back to a scan.
    # The query as a literal: any parameter makes DuckDB import pandas, half a second at the first question.
    literal = f"{quoted(query.tolist())}::FLOAT[{len(query)}]"
    return f"SELECT position FROM {table} ORDER BY array_cosine_distance(vector, {literal}) LIMIT {n}"


def measure_recall(cursor: duckdb.DuckDBPyConnection, table: str, vectors: Matrix, queries: Matrix, *, ef_search: int) -> float:
    """Recall@10 of the graph against exact over the queries, unit rows (queries, dimension); 0 to 1, and 1 without any.

    A hit counts when it is no farther than the exact tenth. The index's own vectors would flatter: each finds itself.
    """
    k = min(RECALL_AT, len(vectors))
    found = 0
    for query in queries:
        similarity = vectors @ query
        tenth = np.partition(similarity, len(similarity) - k)[len(similarity) - k]
        found += int(np.sum(similarity[nearest(cursor, table, query, k, ef_search=ef_search)] >= tenth - TOLERANCE))
    return found / (k * len(queries)) if k and len(queries) else 1.0

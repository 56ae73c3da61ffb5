"""How the chunks of an index lie in memory: their numbers as arrays, their words as one run of UTF-8."""

import json
from dataclasses import dataclass

import duckdb
import numpy as np
from numpy.typing import NDArray

from sitt_core.types import Chunk

READ_CHUNKS = 10_240
"""Chunks read at once; more at a time were no faster and took more memory."""
_NUL = "\0"
"""Parts what belongs to one chunk; no stored text holds one (`text.normalise`)."""


@dataclass(frozen=True, slots=True)
class ChunkRows:
    """Every chunk of an index by position; as objects of Python they would take three times the memory.

    `starts`, `ends` (code points of the document) and `tokens` have shape (chunks,); the words of chunk i are
    `words[offsets[i]:offsets[i + 1]]`.
    """

    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    tokens: NDArray[np.int32]
    words: bytes
    offsets: NDArray[np.int64]

    def chunk(self, position: int, *, id_: str, document_id: str) -> Chunk:
        """The chunk at a position, under its ids."""
        text, header, path = self.words[self.offsets[position] : self.offsets[position + 1]].decode().split(_NUL)
        start, end, tokens = int(self.starts[position]), int(self.ends[position]), int(self.tokens[position])
        return Chunk(id_, document_id, start, end, text, tuple(json.loads(path)), tokens, header)


def read_rows(cursor: duckdb.DuckDBPyConnection, table: str, *, count: int) -> ChunkRows:
    """The rows of a table of `count` chunks, in slices: read whole, they would be in memory three times."""
    numbers = {name: np.empty(count, dtype=np.int32) for name in ("start_at", "end_at", "tokens")}
    lengths = np.empty(count, dtype=np.int64)
    words = []
    for start in range(0, count, READ_CHUNKS):
        stop = min(start + READ_CHUNKS, count)
        rows = (
            f"SELECT *, concat_ws(chr(0), text, header, heading_path) AS words FROM {table} WHERE position >= {start} AND position < {stop}"
        )
        read = cursor.execute(f"SELECT start_at, end_at, tokens, strlen(words) AS length FROM ({rows}) ORDER BY position").fetchnumpy()
        for name, column in numbers.items():
            column[start:stop] = read[name]
        lengths[start:stop] = read["length"]
        joined = cursor.execute(f"SELECT encode(string_agg(words, '' ORDER BY position)) FROM ({rows})").fetchone()
        words.append(joined[0] if joined else b"")
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return ChunkRows(numbers["start_at"], numbers["end_at"], numbers["tokens"], b"".join(words), offsets)

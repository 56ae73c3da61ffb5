"""The append-only cache of vectors beside the generations: what survives a kill, so that no text is embedded twice."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from sitt_core.store.layout import storage_errors
from sitt_core.types import Matrix

KEY_BYTES = 32


class VectorCache:
    """Vectors of one embedder by the SHA-256 of the embedded text.

    The file is a row of records: 32 bytes of key, then `dimension` float32. A record cut short by a kill, or one
    whose vector is not a unit vector, is passed over and embedded again.
    """

    def __init__(self, folder: Path, *, fingerprint: str, dimension: int) -> None:
        self.path = folder / cache_name(fingerprint)
        self.record = np.dtype([("key", np.uint8, KEY_BYTES), ("vector", np.float32, dimension)])
        self._rows: dict[bytes, int] = {}
        self._records: NDArray[np.void] = np.empty(0, dtype=self.record)
        self.reload()

    def reload(self) -> None:
        """Reads what is on disk now."""
        if not self.path.is_file():
            return
        count = self.path.stat().st_size // self.record.itemsize
        if count == 0:
            return
        self._records = np.memmap(self.path, dtype=self.record, mode="r", shape=(count,))
        with np.errstate(over="ignore", invalid="ignore"):  # whatever bytes are there
            norms = np.linalg.norm(self._records["vector"], axis=1)
        keys = self._records["key"].tobytes()
        sound = np.flatnonzero(np.abs(norms - 1.0) < 1e-3)  # NaN compares false: passed over as well
        self._rows = {keys[row * KEY_BYTES : (row + 1) * KEY_BYTES]: row for row in sound.tolist()}

    def __contains__(self, key: bytes) -> bool:
        return key in self._rows

    def get(self, keys: Sequence[bytes]) -> Matrix:
        """The vectors of keys that are all in the cache, shape (len(keys), dimension)."""
        rows = [self._rows[key] for key in keys]
        return np.ascontiguousarray(self._records["vector"][rows])

    def append(self, keys: Sequence[bytes], vectors: Matrix) -> None:
        """Adds records at the end of the file; they survive a kill of this process when this returns. `get` sees them after `reload`."""
        records = np.empty(len(keys), dtype=self.record)
        records["key"] = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(len(keys), KEY_BYTES)
        records["vector"] = vectors
        with storage_errors(self.path.parent):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Two builds may share an embedder: appending takes turns, and mends a record that a kill cut short.
            with FileLock(self.path.with_suffix(".lock")), self.path.open("ab") as file:
                file.truncate(file.tell() // self.record.itemsize * self.record.itemsize)
                file.write(records.tobytes())
                file.flush()


def cache_name(fingerprint: str) -> str:
    """The name of the file that holds the vectors of that embedder."""
    return f"{hashlib.sha256(fingerprint.encode()).hexdigest()[:16]}.vectors"


def text_key(text: str) -> bytes:
    """The cache key of an embedded text: the SHA-256 of its UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()

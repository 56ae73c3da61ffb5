"""DuckDB's vss extension from its package: nothing is downloaded."""

import functools
import importlib.util
from pathlib import Path

import duckdb

from sitt_core.errors import StoreError
from sitt_core.store.schema import quoted


@functools.cache
def vss_path() -> Path:
    """The extension file that fits the installed DuckDB; raises StoreError."""
    spec = importlib.util.find_spec("duckdb_extension_vss")
    folders = list(spec.submodule_search_locations or []) if spec else []
    for folder in folders:
        path = Path(folder) / "extensions" / f"v{duckdb.__version__}" / "vss.duckdb_extension"
        if path.is_file():
            return path
    raise StoreError(
        expected=f"duckdb-extension-vss for DuckDB {duckdb.__version__}",
        got="no such file in the installed packages",
        remedy="Install the requirements again: make install",
    )


def vss_version() -> str:
    """Loads the extension into a fresh DuckDB and returns its version; raises StoreError."""
    try:
        with duckdb.connect() as connection:
            connection.execute(f"LOAD {quoted(vss_path())}")
            row = connection.execute("SELECT extension_version FROM duckdb_extensions() WHERE extension_name = 'vss' AND loaded").fetchone()
    except duckdb.Error as error:
        raise StoreError(
            expected="vss to load", got=str(error).splitlines()[0], remedy="Install the requirements again: make install"
        ) from error
    assert row is not None
    return str(row[0])

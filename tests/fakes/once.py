"""What costs a test run much and no test changes: made by one of its processes, used by all."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """A temporary folder that all processes of this test run have in common."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """The folder that `make` fills, whole; whoever asks meanwhile waits. To be copied, not changed."""
    folder = shared_folder(factory) / name
    with FileLock(folder.with_suffix(".lock")):
        if not folder.exists():
            aside = folder.with_suffix(".part")
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir()
            make(aside)
            aside.rename(folder)
    return folder

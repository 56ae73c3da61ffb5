"""Models converted on this machine: made once, whoever asks at the same time, and checked whenever they are read."""

import hashlib
import io
import json
import os
import sys
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout

from sitt_core.errors import ModelError
from sitt_core.types import Matrix

LONGEST_WAIT = 900.0
"""Seconds that one process waits for another to make the same model."""

Say = Callable[[str], None]
"""Told, in a sentence, what takes so long."""


def say_on_stderr(sentence: str) -> None:
    """For a person at a terminal, and for a job's log; standard output is left to results."""
    print(sentence, file=sys.stderr, flush=True)


def converted(path: Path, *, recipe: str, make: Callable[[], Mapping[str, Matrix]], say: Say = say_on_stderr) -> dict[str, Matrix]:
    """The arrays of the model at `path`, made now unless the file there is whole and made by the same `recipe`.

    `recipe` names everything that the arrays follow from, the SHA-256 of the source weights first. A model that is there
    is only read, so that the folder may be read-only. Raises `ModelError` when it can be neither read nor written.
    """
    found = _read(path, recipe)
    if found is not None:
        return found
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock"), timeout=LONGEST_WAIT):
            found = _read(path, recipe)  # another process may have made it meanwhile
            if found is None:
                say(f"Preparing the model {path.stem}, once ({path.parent}) …")
                found = dict(make())
                _write(path, recipe, found)
                say(f"The model {path.stem} is ready.")
    except Timeout as error:
        raise ModelError(
            expected=f"{path.stem} to be ready within {LONGEST_WAIT:.0f} s",
            got="another process that is still making it",
            remedy="Wait for it, or end it and try again.",
        ) from error
    except OSError as error:
        raise ModelError(
            expected=f"to write the model {path.stem} to {path.parent}",
            got=str(error),
            remedy="Make room or give the folder back its write permission; another one can be named as SITT_DATA_DIR.",
        ) from error
    return found


def _read(path: Path, recipe: str) -> dict[str, Matrix] | None:
    """The arrays, or None when the file is missing, damaged or made by another recipe."""
    try:
        line, _, body = path.read_bytes().partition(b"\n")
        facts = json.loads(line)
        if not isinstance(facts, dict) or facts != _facts(recipe, body):
            return None
        with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError):
        return None


def _write(path: Path, recipe: str, arrays: Mapping[str, Matrix]) -> None:
    """One line of facts and the arrays behind it, written aside and renamed into place."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    body = buffer.getvalue()
    aside = path.with_suffix(f".{uuid.uuid4().hex[:8]}.part")
    try:
        with aside.open("wb") as file:
            file.write(json.dumps(_facts(recipe, body)).encode() + b"\n" + body)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def _facts(recipe: str, body: bytes) -> dict[str, str]:
    return {"recipe": recipe, "sha256": hashlib.sha256(body).hexdigest()}

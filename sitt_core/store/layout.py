"""Where a corpus lives on disk: generations, CURRENT, locks, and how a file is put in place."""

import contextlib
import errno
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from sitt_core import jobs
from sitt_core.errors import Busy, InvalidInput, NotFound, StoreError, shown

KEPT_GENERATIONS = 3
CORPUS_FILE = "corpus.duckdb"
UPDATE_LOCK = "update"
"""The lock of whoever publishes a generation, or does something else to a corpus as a whole."""
BACK_REMEDY = "Write the name of another generation folder into CURRENT; if there is none, remove the corpus's folder and run update."
"""What to do about a generation that cannot be served: update needs a sound one to begin from."""
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_GENERATION = re.compile(r"[0-9]{6}")
_INDEX = re.compile(r"([0-9a-f]+)\.([0-9]+)\.duckdb")


def check_corpus_name(name: str) -> str:
    """A corpus name as it is, since it becomes a folder; raises InvalidInput."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            expected="a corpus name of lower-case letters, digits and hyphens, at most 63",
            got=shown(name),
            remedy='Choose a name such as "my-notes".',
        )
    return name


def corpus_names(store_dir: Path) -> tuple[str, ...]:
    """The corpora that have a published generation, sorted."""
    if not store_dir.is_dir():
        return ()
    return tuple(sorted(path.name for path in store_dir.iterdir() if _NAME.fullmatch(path.name) and (path / "CURRENT").is_file()))


def current_generation(corpus_dir: Path) -> str:
    """The name of the generation that is served; raises NotFound or StoreError."""
    try:
        name = (corpus_dir / "CURRENT").read_text(encoding="ascii").strip()
    except FileNotFoundError:
        known = ", ".join(corpus_names(corpus_dir.parent)) or "none"
        raise NotFound(
            expected=f"a corpus (there are: {known})",
            got=shown(corpus_dir.name),
            remedy="Choose one of those, or make it: python -m sitt_core update --source … --corpus NAME",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(corpus_dir / "CURRENT", error) from error
    if not _GENERATION.fullmatch(name) or not (corpus_dir / name / CORPUS_FILE).is_file():
        raise StoreError(
            expected=f"{corpus_dir.name}/CURRENT to name a generation that is there",
            got=shown(name),
            remedy=BACK_REMEDY,
        )
    return name


def _unreadable(path: Path, error: Exception) -> StoreError:
    return StoreError(expected=f"{path.name} to be readable", got=str(error), remedy="Check its permissions and the disk.")


def generations(corpus_dir: Path) -> tuple[str, ...]:
    """The published generations on disk, oldest first."""
    return tuple(folder.name for folder in _generation_folders(corpus_dir) if (folder / CORPUS_FILE).is_file())


def _generation_folders(corpus_dir: Path) -> list[Path]:
    """Also those whose removal was cut short, oldest first."""
    if not corpus_dir.is_dir():
        return []
    return sorted(folder for folder in corpus_dir.iterdir() if _GENERATION.fullmatch(folder.name))


def index_file(generation_dir: Path, index_key: str) -> Path | None:
    """The file of an index in a generation: the one built last, or None when there is none."""
    return index_files(generation_dir).get(index_key)


def index_files(generation_dir: Path) -> dict[str, Path]:
    """The file of every index in a generation by key, each the one built last; files being built are not among them."""
    if not generation_dir.is_dir():
        return {}
    built = sorted((int(found[2]), found[1], path) for path in generation_dir.iterdir() if (found := _INDEX.fullmatch(path.name)))
    return {key: path for _, key, path in built}


def new_index_file(generation_dir: Path, index_key: str) -> Path:
    """Where the next build of an index goes: always a new name, since DuckDB may still hold the file of the old one."""
    last = index_file(generation_dir, index_key)
    number = int(last.name.split(".")[1]) + 1 if last else 1
    return generation_dir / f"{index_key}.{number}.duckdb"


@contextlib.contextmanager
def write_lock(folder: Path, name: str) -> Iterator[None]:
    """One writer of `name` in `folder` at a time; the lock dies with its process. Raises Busy at once, never waits."""
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / f".{name}.lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise _busy(folder, name) from None
        holder = _holder(folder, name)
        try:
            with contextlib.suppress(OSError):  # without it another writer is told less, no more
                holder.write_text(json.dumps({"pid": os.getpid(), "job": str(jobs.current() or "")}), encoding="utf-8")
            yield
        finally:
            with contextlib.suppress(OSError):
                holder.unlink(missing_ok=True)
            lock.release()


def _holder(folder: Path, name: str) -> Path:
    """Where whoever holds a lock says who it is; the lock's own file is emptied by everyone who tries it."""
    return folder / f".{name}.holder"


def _busy(folder: Path, name: str) -> Busy:
    """The error for a second writer: it names the job that writes, with its progress, where there is one."""
    who, remedy = (
        "another process that is writing it now",
        "Wait until it has finished (python -m sitt_core status shows it) and try again.",
    )
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError, NotFound):
        holder = json.loads(_holder(folder, name).read_text(encoding="utf-8"))
        job = jobs.read(Path(holder["job"])) if holder["job"] else None
        if job is not None and job.state == "running":
            who = f"the job {job.id} that is writing it now ({jobs.in_words(job)})"
            remedy = f"Wait until it has finished, or stop it: python -m sitt_core jobs cancel {job.id}"
        elif job is None:
            who = f"process {holder['pid']} that is writing it now"
    return Busy(expected=f"to be the only one writing {name} of {folder.name}", got=who, remedy=remedy)


def require_idle(corpus_dir: Path) -> None:
    """Raises Busy while an index of any generation is being built; the caller holds the corpus's write lock."""
    for lock in sorted(corpus_dir.glob("[0-9]*/.*.lock")):
        if jobs.is_locked(lock):
            raise _busy(lock.parent, lock.name.removeprefix(".").removesuffix(".lock"))


@contextlib.contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turns the system's errors about disks and permissions into StoreError, which says what to do."""
    try:
        yield
    except OSError as error:
        remedy = {
            errno.ENOSPC: "Free some disk space and run it again; nothing that was stored is lost.",
            errno.EACCES: "Give yourself write permission, or set SITT_DATA_DIR to a folder of your own.",
            errno.EPERM: "Give yourself write permission, or set SITT_DATA_DIR to a folder of your own.",
            errno.EROFS: "Set SITT_DATA_DIR to a folder on a disk that can be written.",
        }.get(error.errno or 0, "Check the disk and the folder's permissions.")
        raise StoreError(expected=f"to write in {path.name}", got=error.strerror or type(error).__name__, remedy=remedy) from error


@contextlib.contextmanager
def new_generation(corpus_dir: Path) -> Iterator[Path]:
    """A folder to build the next generation in; published when the block ends, gone when it raises.

    The caller holds the corpus's write lock.
    """
    with storage_errors(corpus_dir):
        for leftover in corpus_dir.glob(".building-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        folders = _generation_folders(corpus_dir)
        served = (
            (corpus_dir / "CURRENT").read_text(encoding="ascii", errors="replace").strip()
            if folders and (corpus_dir / "CURRENT").is_file()
            else ""
        )
        number = int(folders[-1].name) + 1 if folders else 1
        building = corpus_dir / f".building-{number:06d}"
        finished = corpus_dir / f"{number:06d}"
        building.mkdir(parents=True)
        try:
            yield building
            sync(building)
            building.rename(finished)
            sync(corpus_dir)
            replace_text(corpus_dir / "CURRENT", finished.name + "\n")
        except BaseException:
            shutil.rmtree(building, ignore_errors=True)
            if finished.exists() and not _is_current(finished):
                shutil.rmtree(finished, ignore_errors=True)
            raise
        # What was served until now stays even if it is old: after a roll back that is what to roll back to.
        newest_first = sorted(generations(corpus_dir), key=lambda name: (name == finished.name, name == served, name), reverse=True)
        for old in _generation_folders(corpus_dir):
            if old.name not in newest_first[:KEPT_GENERATIONS]:
                shutil.rmtree(old, ignore_errors=True)


def _is_current(generation_dir: Path) -> bool:
    with contextlib.suppress(NotFound, StoreError):
        return current_generation(generation_dir.parent) == generation_dir.name
    return False


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A path beside `path` to build a file at; renamed into place when the block ends, removed when it raises."""
    with storage_errors(path.parent):
        building = path.with_name(f".building-{path.name}")
        building.unlink(missing_ok=True)
        try:
            yield building
            sync(building)
            building.replace(path)
            sync(path.parent)
        finally:
            building.unlink(missing_ok=True)


def replace_text(path: Path, text: str) -> None:
    """Writes a small file so that a reader sees the old text or the new one, never a part."""
    with new_file(path) as building:
        building.write_text(text, encoding="utf-8")


def sync(path: Path) -> None:
    """Asks the system to put a file, or a folder's list of names, on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

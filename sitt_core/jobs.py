"""Long work as a process of its own: a folder with its progress, cancellable, found again by any page."""

import contextlib
import fcntl
import itertools
import json
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from filelock import FileLock, Timeout

from sitt_core.errors import Busy, Cancelled, NotFound, PartlyApplied, SittError, shown
from sitt_core.types import Report

KEPT_JOBS = 50
STARTING_SECONDS = 30.0
"""How long a job may take from its start until it holds its lock."""
LOCK_SECONDS = 10.0
"""How long a job waits for its lock, which others only look at."""

State = Literal["running", "done", "failed", "cancelled", "died"]


_DAMAGE = (OSError, ValueError, TypeError, KeyError, OverflowError)
"""What reading a file of a job's folder may raise when a crash or a hand has spoilt it."""

_starting = threading.Lock()
"""Held while it is asked whether a job runs and that job is started: both clicks of a double click are served at once."""
_children: dict[int, subprocess.Popen[bytes]] = {}
"""What this process started; asking one of them how it is reaps it once it has ended."""
_working_on: list[Path] = []
"""The folder of the job that this process is, if it is one."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job as its folder tells it. `done` of `total` counts the current stage; `seconds_left` is None before it is known."""

    id: str
    title: str
    key: str
    state: State
    started: float
    stage: str = ""
    done: int = 0
    total: int = 0
    seconds_left: float | None = None
    message: str = ""


def start(
    jobs_dir: Path, arguments: Sequence[str], *, title: str, key: str, module: str = "sitt_core", environment: dict[str, str] | None = None
) -> Job:
    """Runs `python -m MODULE ARGUMENTS` in the background, or finds the running job of the same `key`."""
    with _starting:
        running = find_running(jobs_dir, key)
        if running is not None:
            return running
        _prune(jobs_dir)
        folder = jobs_dir / f"{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:6]}"
        folder.mkdir(parents=True)
        pid = _begin([sys.executable, "-m", module, *arguments, "--job", str(folder)], folder, environment or {})
        _write_whole(folder / "job.json", {"title": title, "key": key, "pid": pid, "started": time.time()})
        return read(folder)


def _begin(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> int:
    """The id of a process that outlives this one; what it says goes to output.log."""
    with (folder / "output.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - our own module with arguments built by our own code
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=Path(__file__).resolve().parents[1],
            env={**os.environ, **environment},
        )
    _children[process.pid] = process
    return process.pid


def _write_whole(path: Path, value: object) -> None:
    """Writes JSON so that no reader meets half of it."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(value), encoding="utf-8")
    part.replace(path)


def read(folder: Path) -> Job:
    """What a job's folder says now; raises NotFound."""
    facts = _read_object(folder / "job.json")
    try:
        title, key, pid, started = str(facts["title"]), str(facts["key"]), int(facts["pid"]), float(facts["started"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise NotFound(
            expected="a job's folder", got=shown(folder.name), remedy="python -m sitt_core jobs lists those that there are."
        ) from error
    state, message = _state(folder, pid, started)
    lines = _progress(folder)
    stage, done, total = lines[-1][1:] if lines else ("", 0, 0)
    left = seconds_left([(at, done) for at, name, done, _ in lines if name == stage], total)
    return Job(folder.name, title, key, state, started, stage, done, total, left, message)


def in_words(job: Job) -> str:
    """A job on one line: its title and how far it is."""
    return f"{job.title}: {job.stage} {job.done:,} of {job.total:,}" if job.stage else f"{job.title}: starting"


def _read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file; an empty one when there is none, or something else."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _state(folder: Path, pid: int, started: float) -> tuple[State, str]:
    locked = is_locked(folder / "running.lock")  # before the result is looked for: a job that ends in between has left it behind
    result = _read_object(folder / "result.json")
    if result.get("state") in get_args(State):
        return result["state"], str(result.get("message", ""))
    if locked:
        return "running", ""
    starting = time.time() - started < STARTING_SECONDS and _alive(pid)
    return ("running", "") if starting else ("died", "The process ended without a word; output.log in its folder holds its last output.")


def is_locked(path: Path) -> bool:
    """Whether a living process holds the lock of that file.

    Asked with a shared lock, so that those who ask at the same time do not take each other for the holder.
    """
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return False  # nobody has taken it yet
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def _alive(pid: int) -> bool:
    """Whether the process runs; a child that ended is reaped, so that it does not count."""
    if pid in _children:
        return _children[pid].poll() is None
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _progress(folder: Path) -> list[tuple[float, str, int, int]]:
    """The complete lines of progress.jsonl; the last may be half written, and a line of another shape is passed over."""
    lines = []
    with contextlib.suppress(OSError):
        for line in (folder / "progress.jsonl").read_text(encoding="utf-8", errors="replace").splitlines():
            with contextlib.suppress(*_DAMAGE):
                at, stage, done, total = json.loads(line)
                lines.append((float(at), str(stage), int(done), int(total)))
    return lines


def seconds_left(points: Sequence[tuple[float, int]], total: int) -> float | None:
    """The time a stage still needs at its pace so far, from (time, done) points; None before two of them differ."""
    if len(points) < 2 or points[-1][1] <= points[0][1]:
        return None
    (first, done_then), (last, done_now) = points[0], points[-1]
    return max(0.0, (last - first) / (done_now - done_then) * (total - done_now))


def recent(jobs_dir: Path, n: int = 20) -> list[Job]:
    """The latest jobs, newest first."""
    return list(itertools.islice(_newest_first(jobs_dir), n))


def _newest_first(jobs_dir: Path) -> Iterator[Job]:
    """Every job; a folder that cannot be read, or that another process is just removing, is passed over."""
    for path in sorted(jobs_dir.glob("*/job.json"), reverse=True):
        with contextlib.suppress(NotFound):
            yield read(path.parent)


def find_running(jobs_dir: Path, key: str) -> Job | None:
    """The running job of that key, if there is one."""
    return next((job for job in _newest_first(jobs_dir) if job.key == key and job.state == "running"), None)


def cancel(jobs_dir: Path, job_id: str) -> None:
    """Asks a job to stop at its next step; what it has finished is kept. Raises NotFound."""
    folder = jobs_dir / job_id
    if not (folder / "job.json").is_file():
        raise NotFound(expected="a job's id", got=shown(job_id), remedy="python -m sitt_core jobs lists those that there are.")
    (folder / "cancel").touch()


def leave(name: str, value: object) -> None:
    """Leaves JSON under a name in the folder of the job that this process is, for pages to read; without a job nothing happens."""
    folder = current()
    if folder is not None:
        _write_whole(folder / f"{name}.json", value)


def left(folder: Path, name: str) -> dict[str, Any]:
    """What a job has left under a name; nothing when it has not."""
    return _read_object(folder / f"{name}.json")


def current() -> Path | None:
    """The folder of the job that this process works on, or None."""
    return _working_on[-1] if _working_on else None


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Report]:
    """Inside a job's process: holds its lock, yields the function to report to, and leaves the result behind."""
    os.nice(10)  # the page that started it stays quick
    with _own(folder), (folder / "progress.jsonl").open("a", encoding="utf-8", buffering=1) as progress:

        def report(stage: str, done: int, total: int) -> None:
            with contextlib.suppress(OSError):  # a full disk: whoever writes what matters says so
                progress.write(json.dumps([round(time.time(), 3), stage, done, total]) + "\n")
            if (folder / "cancel").exists():
                raise Cancelled(expected="to finish", got="a request to stop", remedy="Start it again to go on from here.")

        state: State = "failed"
        message = "It ended unexpectedly; output.log in its folder holds its last output."
        try:
            yield report
            state, message = "done", ""
        except Cancelled:
            state, message = "cancelled", "Stopped. What was embedded is kept; starting it again goes on from here."
            raise
        except PartlyApplied as error:
            state, message = "done", str(error)
            raise
        except SittError as error:
            message = str(error)
            raise
        finally:
            with contextlib.suppress(OSError):
                _write_whole(folder / "result.json", {"state": state, "message": message})


@contextlib.contextmanager
def _own(folder: Path) -> Iterator[None]:
    """Holds a job's lock; raises Busy when another process works on the same folder."""
    lock = FileLock(folder / "running.lock", timeout=LOCK_SECONDS)
    try:
        lock.acquire()
    except Timeout:
        raise Busy(expected="a job of its own", got=f"{folder.name}, on which another process works", remedy="Start it anew.") from None
    _working_on.append(folder)
    try:
        yield
    finally:
        _working_on.remove(folder)
        lock.release()


def _prune(jobs_dir: Path) -> None:
    """Only the latest jobs' folders are kept; those of running ones always."""
    import shutil

    for job in itertools.islice(_newest_first(jobs_dir), KEPT_JOBS, None):
        if job.state != "running":
            shutil.rmtree(jobs_dir / job.id, ignore_errors=True)

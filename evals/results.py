"""Where a run is kept: its manifest, its rows as they come, and the one file that they become; the only reader of either."""

import contextlib
import csv
import json
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Literal

import duckdb
import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from evals import judged
from evals.judged import About
from sitt_core.configuration import BY_NAME, Configuration, applies, configure
from sitt_core.errors import Busy, InvalidInput, NotFound, StoreError, shown
from sitt_core.jobs import is_locked

MANIFEST, QUESTIONS, ROWS, TABLE, END = "manifest.json", "questions.json", "rows.jsonl", "rows.parquet", "end.json"
LOCK_SECONDS = 2.0
STAGES = ("embed", "dense", "keyword", "fusion", "passages", "answer", "total")
"""What is timed of a question, in milliseconds; null where a stage did not run."""
RANKED = ("dense", "keyword", "fusion")
"""The stages in whose rankings the gold is looked for."""
_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4}")

State = Literal["running", "done", "stopped"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A configuration of a run: the key, the readable slug and every field by dotted name."""

    key: str
    slug: str
    fields: Mapping[str, str | int | float]

    @property
    def configuration(self) -> Configuration:
        """The configuration itself; raises InvalidInput for one that this version cannot read."""
        return configure(self.fields)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a run, as the run needs it later: its text, its kind, what it belongs to and what was expected."""

    id: str
    text: str
    kind: str
    primary: str
    documents: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    stale: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a run is: everything that decides its rows. Rows name configurations and questions by their places here.

    `golden_place` is where the questions can be read again, as `evals.subject.reopen` takes it.
    """

    id: str
    name: str
    started: float
    corpus: str
    corpus_sha256: str
    golden: str
    golden_place: str
    golden_sha256: str
    metrics: tuple[str, ...]
    configurations: tuple[Entry, ...]
    skipped: tuple[str, ...] = ()
    baseline: str = ""
    seed: int = 0
    code: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """A run on disk."""

    folder: Path
    manifest: Manifest
    questions: tuple[Asked, ...]
    state: State
    failures: Mapping[str, str]
    seconds: float
    judged: About | None = None

    @property
    def metrics(self) -> tuple[str, ...]:
        """Its metrics, those that its answers were judged by after its own."""
        return (*self.manifest.metrics, *(self.judged.metrics if self.judged else ()))

    @property
    def wanted(self) -> int:
        """How many rows it has when it is whole."""
        return len(self.questions) * (len(self.manifest.configurations) - len(self.failures))

    def place_of(self, key: str) -> int:
        """The place of the configuration whose key begins so; raises NotFound, or InvalidInput when several do."""
        found = [at for at, entry in enumerate(self.manifest.configurations) if entry.key.startswith(key)]
        if len(found) == 1:
            return found[0]
        names = tell_apart(self.manifest.configurations)
        keys = ", ".join(f"{entry.key} ({name})" for entry, name in zip(self.manifest.configurations, names, strict=True))
        if found:
            raise InvalidInput(
                expected="the key of one configuration", got=f"{shown(key)}, with which {len(found)} begin", remedy=f"One of: {keys}"
            )
        raise NotFound(expected=f"a configuration of run {self.manifest.id}", got=shown(key), remedy=f"One of: {keys}")


def tell_apart(entries: Sequence[Entry]) -> list[str]:
    """A name for each configuration that tells it from the others: the values of the fields that vary, or its slug."""
    varying = [name for name in BY_NAME if len({str(entry.fields.get(name)) for entry in entries}) > 1]
    # A field that another decides is not said again.
    varying = [name for name in varying if not any(follows(name, leader, entries) for leader in varying)]
    if len(entries) == 1 or not varying:
        return [entry.slug for entry in entries]
    return [" · ".join(_named_value(name, entry) for name in varying if applies(name, entry.configuration)) for entry in entries]


FOLLOWS = {"chunking.strategy": ("chunking.size", "chunking.overlap"), "answer.provider": ("answer.model",)}
"""What a field brings along unless it is said: a strategy its size and overlap, a provider its model."""


def follows(name: str, leader: str, entries: Sequence[Entry]) -> bool:
    """Whether a field is in all entries what another one brings along, so that it is no difference of its own."""
    return name in FOLLOWS.get(leader, ()) and all(
        entry.fields[name] == configure({leader: entry.fields[leader]})[name] for entry in entries
    )


def _named_value(name: str, entry: Entry) -> str:
    value = str(entry.fields.get(name))
    plain = name in ("chunking.strategy", "embedder")
    return value if plain else f"{BY_NAME[name].label} {value}"


def create(runs_dir: Path, manifest: Manifest, questions: Sequence[Asked]) -> Run:
    """A new run's folder, empty but for its manifest and questions; raises StoreError."""
    folder = runs_dir / manifest.id
    try:
        folder.mkdir(parents=True)
        _write_whole(folder / QUESTIONS, [asdict(question) for question in questions])
        _write_whole(folder / MANIFEST, asdict(manifest))
    except OSError as error:
        raise _unwritable(folder, error) from error
    return open_run(runs_dir, manifest.id)


def new_id() -> str:
    """An id for a run that starts now, by its time in UTC to 1/65,536 of a second; later ones sort later."""
    now = time.time()
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{int(now % 1 * 0x10000):04x}"


def open_run(runs_dir: Path, run_id: str) -> Run:
    """The run of that id, or of the only id that begins so, or `latest`; raises NotFound, InvalidInput or StoreError."""
    there = _run_ids(runs_dir)
    found = there[-1:] if run_id == "latest" else [each for each in there if run_id and each.startswith(run_id)]
    if len(found) > 1 and run_id not in found:
        raise InvalidInput(
            expected="the id of one run", got=f"{shown(run_id)}, with which {len(found)} begin", remedy="python -m evals runs lists them."
        )
    if not found:
        raise NotFound(expected="the id of a run", got=shown(run_id), remedy="python -m evals runs lists them.")
    return _read(runs_dir / (run_id if run_id in found else found[0]))


def runs(runs_dir: Path) -> list[Run]:
    """Every run that can be read, the newest first."""
    read = []
    for id_ in reversed(_run_ids(runs_dir)):
        with contextlib.suppress(StoreError):  # one that was just removed, or that another version wrote
            read.append(_read(runs_dir / id_))
    return read


def delete(runs_dir: Path, run_id: str) -> None:
    """Removes a run; raises NotFound, or Busy while it is running."""
    run = open_run(runs_dir, run_id)
    if run.state == "running":
        raise Busy(expected="a run that has ended", got=f"{run.manifest.id}, which is running", remedy="Stop it first.")
    try:
        shutil.rmtree(run.folder)
    except OSError as error:
        raise _unwritable(run.folder, error) from error


def rename(runs_dir: Path, run_id: str, name: str) -> None:
    """Gives a run another name; raises NotFound or StoreError."""
    run = open_run(runs_dir, run_id)
    try:
        _write_whole(run.folder / MANIFEST, asdict(run.manifest) | {"name": name.strip()[:200]})
    except OSError as error:
        raise _unwritable(run.folder, error) from error


def _run_ids(runs_dir: Path) -> list[str]:
    return sorted(path.parent.name for path in runs_dir.glob(f"*/{MANIFEST}") if _ID.fullmatch(path.parent.name))


def _read(folder: Path) -> Run:
    running = is_locked(folder / "running.lock")  # before the end is looked for: a run that ends in between has left it behind
    try:
        held = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        asked = json.loads((folder / QUESTIONS).read_text(encoding="utf-8"))
        end = json.loads((folder / END).read_text(encoding="utf-8")) if (folder / END).is_file() else {}
        entries = tuple(Entry(**entry) for entry in held.pop("configurations"))
        held |= {name: tuple(held[name]) for name in ("metrics", "skipped", "notes")}
        manifest = Manifest(configurations=entries, **held)
        questions = tuple(Asked(**each | {"documents": tuple(each["documents"]), "about": tuple(each["about"])}) for each in asked)
        done, failures, seconds = bool(end.get("done")), dict(end.get("failures", {})), float(end.get("seconds", 0.0))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreError(
            expected=f"run {folder.name} to be readable", got=" ".join(str(error).split()), remedy="Delete its folder, or run it again."
        ) from error
    state: State = "running" if running else "done" if done else "stopped"
    return Run(folder, manifest, questions, state, failures, seconds, judged.about(folder))


def _write_whole(path: Path, value: object) -> None:
    """Writes JSON so that no reader meets half of it."""
    with _whole(path) as part:
        part.write_text(json.dumps(value), encoding="utf-8")  # in ASCII, which can hold a lone surrogate


@contextlib.contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A file beside `path` that takes its place when the block ends well, and is gone when it does not."""
    part = path.with_name(f"{path.name}.part")
    try:
        yield part
        part.replace(path)
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def _unwritable(folder: Path, error: Exception) -> StoreError:
    return StoreError(
        expected=f"to write the run {folder.name}",
        got=str(error).splitlines()[0],
        remedy=f"Check the free space and the permissions of {folder.parent}, or set SITT_DATA_DIR to another folder.",
    )


class Writer:
    """Appends a run's rows, each whole in the file before the next begins; what a crash left half written is cut off first."""

    def __init__(self, run: Run) -> None:
        """Raises StoreError."""
        self.run = run
        path = run.folder / ROWS
        try:
            _take_out_broken_off(path)
            self.finished = _repair(path)
            (run.folder / TABLE).unlink(missing_ok=True)  # the lines count again until they are whole
            self._file: TextIOWrapper = path.open("a", encoding="utf-8", buffering=1)
        except OSError as error:
            raise _unwritable(run.folder, error) from error
        self._started = time.monotonic()

    def append(self, row: Mapping[str, Any]) -> None:
        """One row, as `columns` describes it; raises StoreError."""
        try:
            self._file.write(json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n")
        except OSError as error:
            raise _unwritable(self.run.folder, error) from error

    def close(self, *, failures: Mapping[str, str]) -> None:
        """Ends the run as it is: done when no row is missing, then as one Parquet file; raises StoreError."""
        try:
            self._file.close()
            wanted = [place for place, entry in enumerate(self.run.manifest.configurations) if entry.key not in failures]
            finished = _repair(self.run.folder / ROWS)
            done = all((place, at) in finished for place in wanted for at in range(len(self.run.questions)))
            if done:
                _compact(self.run)
            seconds = self.run.seconds + time.monotonic() - self._started
            _write_whole(self.run.folder / END, {"done": done, "failures": dict(failures), "seconds": seconds})
        except OSError as error:
            raise _unwritable(self.run.folder, error) from error


@contextlib.contextmanager
def writing(run: Run) -> Iterator[None]:
    """Holds a run for one writer; raises Busy when another process works on it."""
    lock = FileLock(run.folder / "running.lock", timeout=LOCK_SECONDS)
    try:
        lock.acquire()
    except OSError as error:
        if not isinstance(error, Timeout):
            raise _unwritable(run.folder, error) from error
        raise Busy(
            expected=f"run {run.manifest.id} for itself", got="another process that works on it", remedy="Wait for it, or stop it."
        ) from None
    try:
        yield
    finally:
        lock.release()


def _repair(path: Path) -> set[tuple[int, int]]:
    """The places (configuration, question) of the rows in a file, whose torn end is cut off."""
    finished: set[tuple[int, int]] = set()
    if not path.is_file():
        return finished
    with path.open("r+b") as file:
        whole = 0
        for line in file:
            if not line.endswith(b"\n"):
                break
            try:
                row = json.loads(line)
                finished.add((row["c"], row["q"]))
            except (ValueError, TypeError, KeyError):  # what a power failure left; the rows behind it are made again
                break
            whole += len(line)
        file.truncate(whole)
    return finished


def _take_out_broken_off(path: Path) -> None:
    """Leaves out the rows whose answer broke off, so that they are made again: the service that was down may be up."""
    if not path.is_file():
        return
    marked = f'"error":"{ANSWERING}'.encode()
    with path.open("rb") as file:
        if not any(marked in line for line in file):
            return
        file.seek(0)
        with _whole(path) as part, part.open("wb") as kept:
            kept.writelines(line for line in file if marked not in line)


def columns(metrics: Sequence[str]) -> dict[str, str]:
    """The columns of a run's rows with their DuckDB types.

    `c` and `q` are the places of configuration and question in the manifest. A metric is null where `why` (JSON: metric to
    reason) says why it is undefined, or where `error` says what kept the question from being scored. Ranks are 1-based, null
    where a stage did not rank the gold; `lost_at` is empty when it is shown. `tokens` counts what is shown. `found` is JSON: the first passages as
    [document, start, end, score]; `answer` is JSON, null where none was asked for.
    """
    return {
        "c": "INTEGER",
        "q": "INTEGER",
        **dict.fromkeys(metrics, "DOUBLE"),
        "why": "JSON",
        "error": "VARCHAR",
        **{f"rank_{stage}": "INTEGER" for stage in (*RANKED, "shown")},
        "evidence_rank": "INTEGER",
        "lost_at": "VARCHAR",
        "tokens": "INTEGER",
        **{f"ms_{stage}": "DOUBLE" for stage in STAGES},
        "found": "JSON",
        "answer": "JSON",
    }


def _source(run: Run) -> str:
    """What DuckDB reads the rows from: the Parquet file where there is one, else the lines so far."""
    if (run.folder / TABLE).is_file():
        return f"read_parquet({_literal(run.folder / TABLE)})"
    types = ", ".join(f"{_literal(name)}: {_literal(type_)}" for name, type_ in columns(run.manifest.metrics).items())
    # A row that is just being written is half a line, of which ignore_errors makes a row of nulls.
    lines = f"read_json({_literal(run.folder / ROWS)}, format = 'newline_delimited', columns = {{{types}}}, ignore_errors = true)"
    return f"(SELECT * FROM {lines} WHERE c IS NOT NULL)"


def _literal(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _compact(run: Run) -> None:
    """Writes the rows as one Parquet file, all of it or nothing; raises OSError or StoreError."""
    (run.folder / TABLE).unlink(missing_ok=True)
    try:
        with _whole(run.folder / TABLE) as part, duckdb.connect() as connection:
            # Without DuckDB's own temporary file, which a full disk would leave behind.
            options = "FORMAT parquet, USE_TMP_FILE false"
            connection.execute(f"COPY (SELECT * FROM {_source(run)} ORDER BY c, q) TO {_literal(part)} ({options})")
    except duckdb.Error as error:
        raise _unwritable(run.folder, error) from error


@contextlib.contextmanager
def _reading(run: Run) -> Iterator[duckdb.DuckDBPyConnection]:
    try:
        with duckdb.connect() as connection:
            yield connection
    except duckdb.Error as error:
        raise StoreError(
            expected=f"to read the rows of run {run.manifest.id}", got=str(error).splitlines()[0], remedy="Run it again, or resume it."
        ) from error


def matrix(run: Run, column: str) -> NDArray[np.float64]:
    """One numeric column as (questions, configurations), NaN where there is no value; raises InvalidInput or StoreError."""
    return matrices(run, [column])[column]


def matrices(run: Run, names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Several numeric columns, each as (questions, configurations), NaN where there is no value; one look at the file."""
    known = [name for name, type_ in columns(run.manifest.metrics).items() if type_ in ("DOUBLE", "INTEGER")]
    unknown = [name for name in names if name not in (*known, *run.metrics)]
    if unknown:
        raise InvalidInput(
            expected=f"metrics of run {run.manifest.id}: {', '.join(run.metrics)}",
            got=", ".join(map(shown, unknown)),
            remedy="Choose from those, or run it again with --metrics.",
        )
    shape = (len(run.questions), len(run.manifest.configurations))
    made = {name: np.full(shape, np.nan) for name in names}
    measured, later = [name for name in names if name in known], [name for name in names if name not in known]
    if measured and has_rows(run):
        with _reading(run) as connection:
            listed = ", ".join(f"{_name(name)}::DOUBLE AS {_name(name)}" for name in measured)
            read = connection.execute(f"SELECT c, q, {listed} FROM {_source(run)}").fetchnumpy()
        places = np.asarray(read["q"]), np.asarray(read["c"])
        for name in measured:
            made[name][places] = np.ma.filled(np.ma.asarray(read[name], dtype=np.float64), np.nan)
    for (c, q), row in judged.own(run.folder).items() if later else ():
        for name in later:
            made[name][q, c] = row["scores"].get(name, np.nan)
    return made


def has_rows(run: Run) -> bool:
    """Whether any row has been finished."""
    return any((run.folder / name).is_file() and (run.folder / name).stat().st_size > 0 for name in (TABLE, ROWS))


def rows(run: Run, *, configuration: int | None = None, question: int | None = None) -> list[dict[str, Any]]:
    """Whole rows by column, of one configuration, one question or both, in their order; JSON columns are parsed."""
    if not has_rows(run):
        return []
    wanted = [f"{name} = {int(value)}" for name, value in (("c", configuration), ("q", question)) if value is not None]
    where = f"WHERE {' AND '.join(wanted)}" if wanted else ""
    with _reading(run) as connection:
        read = connection.execute(f"SELECT * FROM {_source(run)} {where} ORDER BY c, q")
        names = [column[0] for column in read.description]
        found = [dict(zip(names, values, strict=True)) for values in read.fetchall()]
    return [row | {name: json.loads(row[name]) if row[name] else None for name in ("why", "found", "answer")} for row in found]


def count(run: Run) -> int:
    """How many rows there are."""
    if not has_rows(run):
        return 0
    with _reading(run) as connection:
        row = connection.execute(f"SELECT count(*) FROM {_source(run)}").fetchone()
    return int(row[0]) if row else 0


ANSWERING = "answer: "
"""How the error of a row begins whose retrieval was scored and whose answer broke off."""


def errors(run: Run, *, answers: bool = True) -> dict[int, int]:
    """How many rows of each configuration (by its place) have an error, answers that broke off among them unless `answers` is off."""
    if not has_rows(run):
        return {}
    but = "" if answers else f" AND NOT starts_with(error, {_literal(ANSWERING)})"
    with _reading(run) as connection:
        return dict(connection.execute(f"SELECT c, count(*) FROM {_source(run)} WHERE error <> ''{but} GROUP BY c").fetchall())


def unfinished(run: Run) -> list[int]:
    """How many rows of each configuration going on would make: those that are missing, and those whose answer broke off."""
    finished: dict[int, int] = {}
    if has_rows(run):
        whole = f"NOT starts_with(coalesce(error, ''), {_literal(ANSWERING)})"
        with _reading(run) as connection:
            finished = dict(connection.execute(f"SELECT c, count(*) FROM {_source(run)} WHERE {whole} GROUP BY c").fetchall())
    return [len(run.questions) - finished.get(place, 0) for place in range(len(run.manifest.configurations))]


@dataclass(frozen=True, slots=True)
class Reasons:
    """Why a configuration lacks scores: its errors, and the reasons of each metric that is undefined, with how many rows each."""

    errors: Mapping[str, int]
    undefined: Mapping[str, Mapping[str, int]]


def reasons(run: Run) -> list[Reasons]:
    """Of every configuration why scores are missing, the most frequent reason first; raises StoreError."""
    errors_ = [Counter[str]() for _ in run.manifest.configurations]
    undefined: list[dict[str, Counter[str]]] = [{} for _ in run.manifest.configurations]
    if has_rows(run):
        with _reading(run) as connection:
            told = connection.execute(f"SELECT c, error, why, count(*) FROM {_source(run)} GROUP BY c, error, why").fetchall()
        for place, error, why, rows_ in told:
            if error:
                errors_[place][error] += rows_
            for metric, reason in (json.loads(why) or {}).items() if why else ():
                undefined[place].setdefault(metric, Counter())[reason] += rows_
    return [
        Reasons(dict(each.most_common()), {metric: dict(counted_.most_common()) for metric, counted_ in undefined[place].items()})
        for place, each in enumerate(errors_)
    ]


def export_csv(run: Run, path: Path) -> int:
    """Writes every row with its question and configuration as CSV, whole or not at all; returns how many. Raises StoreError."""
    exported = 0
    try:
        with _whole(path) as part, part.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            names = [name for name in columns(run.manifest.metrics) if name not in ("c", "q", "found", "answer")]
            later, verdicts = run.judged.metrics if run.judged else (), judged.own(run.folder)
            writer.writerow(["configuration", "key", "question", "kind", "text", "expected", *names, *later])
            for row in rows(run):
                entry, asked = run.manifest.configurations[row["c"]], run.questions[row["q"]]
                values = [json.dumps(row[name], ensure_ascii=False) if name == "why" and row[name] else row[name] for name in names]
                scores = verdicts[row["c"], row["q"]]["scores"] if (row["c"], row["q"]) in verdicts else {}
                values += [scores.get(name) for name in later]
                writer.writerow([entry.slug, entry.key, asked.id, asked.kind, asked.text, " ".join(asked.documents), *values])
                exported += 1
    except OSError as error:
        raise StoreError(expected=f"to write {path}", got=str(error), remedy="Choose another place.") from error
    return exported

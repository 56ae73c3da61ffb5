"""What the Lab page reads of runs, kept as long as their files are the same: every session of this process shares it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from evals import analysis, judged, results, verdicts
from evals.analysis import Board, Duel, Effect
from evals.findings import findings
from evals.metrics import ANSWER_METRICS
from evals.report import default_metric
from evals.results import END, MANIFEST, ROWS, TABLE, Run
from evals.run import corpus_sha256
from evals.verdicts import Noise
from sitt_core import jobs, notes
from sitt_core.errors import NotFound, SittError
from sitt_core.jobs import Job
from sitt_core.settings import Settings
from sitt_core.store.reading import Corpus
from sitt_core.surfaces.dashboard.state import workshop

Stamp = tuple[object, ...]
KEPT = 64
"""How many figures of each sort are kept; what is not asked for again goes."""


def settings() -> Settings:
    """Where this process keeps its data."""
    return workshop().settings


def stamp(run: Run) -> Stamp:
    """Changes whenever a run's figures might: with its rows, its state and what failed; a new name changes nothing."""
    files = (TABLE, ROWS, judged.ROWS)
    sizes = [(run.folder / name).stat().st_size if (run.folder / name).is_file() else -1 for name in files]
    return (run.manifest.id, run.state, *sizes, run.judged, *run.failures)


def all_runs() -> list[Run]:
    """Every run, the newest first; their files are read again only when one of them has changed."""
    folder = settings().runs_dir
    found: list[object] = [str(folder)]
    for manifest in sorted(folder.glob(f"*/{MANIFEST}")):
        paths = (manifest, manifest.with_name(END), manifest.with_name(judged.ABOUT))
        times = [path.stat().st_mtime_ns if path.exists() else 0 for path in paths]
        found.append((manifest.parent.name, *times, jobs.is_locked(manifest.with_name("running.lock"))))
    return _runs(tuple(found))


@st.cache_resource(show_spinner=False, max_entries=4)
def _runs(seen: Stamp) -> list[Run]:
    del seen  # it decides only when they are read anew
    return results.runs(settings().runs_dir)


def run_of(run_id: str) -> Run | None:
    """The run of that id; None for one that is gone."""
    return next((run for run in all_runs() if run.manifest.id == run_id), None)


def job_key(run_id: str) -> str:
    """What the job of a run is found by."""
    return f"eval:{run_id}"


def judge_key(run_id: str) -> str:
    """What the judging of a run is found by: one at a time."""
    return f"judge:{run_id}"


def job_of(run: Run) -> Job | None:
    """The latest job of a run: running, or how it ended; None for a run from a terminal. A run that is done has none to look for."""
    return None if run.state == "done" else latest_job(job_key(run.manifest.id))


def latest_job(key: str) -> Job | None:
    """The latest job of a key: running, or how it ended; None when there is none."""
    folder = settings().jobs_dir
    # Reading a job means reading all its progress, so only the one that is asked for is read again.
    job_id = _job_ids(tuple(path.parent.name for path in sorted(folder.glob("*/job.json")))).get(key)
    try:
        return jobs.read(folder / job_id) if job_id else None
    except NotFound:  # it was just removed
        return None


@st.cache_data(show_spinner=False, max_entries=4)
def _job_ids(seen: tuple[str, ...]) -> dict[str, str]:
    """The latest job of each key."""
    del seen
    return {job.key: job.id for job in reversed(jobs.recent(settings().jobs_dir, jobs.KEPT_JOBS))}


HASH: dict[str | type[Any], Callable[[Any], Any]] = {Run: stamp}


@st.cache_resource(show_spinner="Comparing the configurations …", max_entries=KEPT, hash_funcs=HASH)
def board_of(run: Run, metric: str) -> Board:
    """The leaderboard by a metric."""
    return analysis.board(run, metric)


@st.cache_data(show_spinner="Putting it in words …", max_entries=KEPT, hash_funcs=HASH)
def findings_of(run: Run, tried: int) -> list[str]:
    """The findings paragraph; `tried` is how many configurations were ever run on these questions."""
    del tried  # it decides only when the words are to be found anew
    note = analysis.drawing_note(run)
    made = board_of(run, default_metric(run)) if any(name != "refused" for name in run.manifest.metrics) else None
    return [*findings(run, all_runs(), made=made), *([note] if note else [])]


@st.cache_data(show_spinner="Drawing the curves …", max_entries=KEPT, hash_funcs=HASH)
def curve_of(run: Run, family: str, budgets: bool) -> list[dict[str, Any]]:
    """The rows of a curve."""
    return analysis.curve(run, family, budgets=budgets)


@st.cache_data(show_spinner="Slicing by kind …", max_entries=KEPT, hash_funcs=HASH)
def kinds_of(run: Run, metric: str) -> list[dict[str, Any]]:
    """The rows by kind of question."""
    return analysis.by_kind(run, metric)


@st.cache_data(show_spinner="Counting refusals …", max_entries=KEPT, hash_funcs=HASH)
def refusals_of(run: Run) -> list[dict[str, Any]]:
    """The rows of refusals; none for a run without answers."""
    return analysis.abstention_rows(run)


@st.cache_resource(show_spinner="Matching configurations …", max_entries=KEPT, hash_funcs=HASH)
def effects_of(run: Run, metric: str) -> list[Effect]:
    """What every field that varies does, where configurations differ in nothing else."""
    fields = analysis.varying_fields(run)
    found = (analysis.effect(run, field, analysis.effect_metric(run, field, metric)) for field in fields)
    return [each for each in found if each is not None]


@st.cache_resource(show_spinner="Comparing the two …", max_entries=KEPT, hash_funcs=HASH)
def duel_of(run: Run, one: int, other: int, metric: str) -> Duel:
    """Two configurations head to head."""
    return analysis.duel((run, one), (run, other), metric)


@st.cache_data(show_spinner="Sorting the questions …", max_entries=KEPT, hash_funcs=HASH)
def order_of(run: Run, metric: str, only_different: bool) -> list[int]:
    """The places of the questions, those in which configurations differ most first."""
    return analysis.disagreement(run, metric, only_different=only_different)[0]


@st.cache_data(show_spinner="Reading the cells …", max_entries=KEPT, hash_funcs=HASH)
def cells_of(run: Run, metric: str, questions: Sequence[int], columns: Sequence[int]) -> list[dict[str, Any]]:
    """The cells of a part of the heat map."""
    return analysis.cells(run, metric, questions, columns)


@st.cache_data(show_spinner="Reading what could not be scored …", max_entries=KEPT, hash_funcs=HASH)
def trouble_of(run: Run) -> list[dict[str, Any]]:
    """What could not be scored, by reason."""
    return analysis.trouble(run)


@st.cache_data(show_spinner=False, max_entries=KEPT, hash_funcs=HASH)
def errors_of(run: Run) -> Mapping[int, int]:
    """How many rows of each configuration could not be scored."""
    return results.errors(run)


def is_answered(run: Run) -> bool:
    """Whether a run asked for answers."""
    return any(name in ANSWER_METRICS for name in run.manifest.metrics)


@st.cache_data(show_spinner="Reading the verdicts …", max_entries=KEPT, hash_funcs=HASH)
def qualities_of(run: Run) -> list[dict[str, Any]]:
    """The rows of every metric of answers and configuration."""
    return verdicts.quality_rows(run)


@st.cache_data(show_spinner="Putting it in words …", max_entries=KEPT, hash_funcs=HASH)
def verdict_findings_of(run: Run) -> list[str]:
    """What judged answers say, in sentences."""
    return verdicts.verdict_findings(run)


@st.cache_resource(show_spinner="Comparing the repeats …", max_entries=KEPT, hash_funcs=HASH)
def noise_of(run: Run) -> list[Noise]:
    """How much verdicts vary when nothing changed."""
    return verdicts.noise(run)


def logged() -> list[notes.Logged]:
    """The answers that were given on Ask and have a thumb, of any corpus: the run's may be called otherwise now. Raises StoreError."""
    folder = settings().notes_dir
    found: list[notes.Logged] = []
    for conversation in notes.conversations(folder, most=MOST_CONVERSATIONS):
        try:
            found += [each for each in notes.conversation_answers(folder, conversation.id) if each.thumb]
        except NotFound:  # deleted in another window since it was listed
            continue
    return found


MOST_CONVERSATIONS = 1_000


def corpus_changed(run: Run) -> str:
    """What to say when the run's corpus is gone, or holds other documents than it did; empty when it is as it was."""
    try:
        now = _corpus_identity(workshop().corpus(run.manifest.corpus))
    except SittError:
        return f"The corpus {run.manifest.corpus} is not here any more: its questions cannot be opened in Explore."
    if now != run.manifest.corpus_sha256:
        return f"The corpus {run.manifest.corpus} has changed since this run: Explore may show other passages than were scored."
    return ""


@st.cache_data(show_spinner=False, max_entries=16, hash_funcs={Corpus: lambda corpus: corpus.identity})
def _corpus_identity(corpus: Corpus) -> str:
    return corpus_sha256(corpus)

"""The Lab page's confirmation of a choice on sealed questions: what it would be, the job that asks them, and every use so far."""

import os
import time
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from evals import confirm
from evals.analysis import Board
from evals.charts import number
from evals.confirm import Confirmation
from evals.findings import metric_words
from evals.golden import FLOOR, UNANSWERABLE, GoldenSet
from evals.metrics import ANSWER_METRICS
from evals.qualities import BY_QUALITY
from evals.report import default_metric
from evals.results import Run
from evals.statistics import confirmation_level
from evals.subject import DATASET, Subject
from evals.summary import labels
from sitt_core import jobs
from sitt_core.errors import SittError
from sitt_core.jobs import Job
from sitt_core.surfaces.dashboard import cards, lab_data, lab_new, lab_runs, state
from sitt_core.surfaces.dashboard.told import told
from sitt_core.surfaces.progress import human_seconds

DEFAULT = ""
"""What stands for the default configuration among the baselines, as it does on the command line."""
CHOSEN, AGAINST, TICK = "lab confirm configuration", "lab confirm baseline", "lab confirm tick"
Option = TypeVar("Option", int, str)
ASKED = "Ask the sealed questions"


def draw_confirm(run: Run, made: Board) -> None:
    """The form, the job while it runs, and the uses so far; nothing for a run on its way, or a public collection, which has no sealed questions."""
    if run.state != "done" or run.manifest.golden_place.startswith(DATASET):
        return
    st.html(
        '<h2 class="sl-h">Confirm the choice</h2><div class="sl-small">The best of many looks better than it is. The sealed questions, which no '
        "page and no run sees, say whether it holds. Every use of them is counted, and makes the next one stricter.</div>"
    )
    lab_runs.say_refused()
    try:
        subject = subject_of(run)
        path = confirm.log_file(subject, lab_data.settings())
        uses = confirm.uses(path)
    except SittError as error:
        st.html(cards.notice([f"It cannot be confirmed here: expected {error.expected}; got {error.got}. {error.remedy}"]))
        return
    sealed = counted_sealed(subject.golden)
    if not sealed:
        st.html(cards.notice([f"{subject.golden.name} has no answerable sealed question, so nothing can be confirmed."]))
        return
    job = lab_data.latest_job(job_key(run))
    if job is not None and job.state == "running":
        _watch(job.id)
    else:
        if job is not None and job.state in ("failed", "died"):
            st.html(cards.notice([f"The last confirmation did not end: {job.message}"], problem=True))
        _draw_form(run, made, sealed=sealed, use=len(uses) + 1, path=path)
    _draw_uses(uses, path)


def subject_of(run: Run) -> Subject:
    """The golden set and the corpus of a run, as they are now; raises NotFound, InvalidInput or StoreError."""
    manifest = run.manifest
    corpus = state.workshop().corpus(manifest.corpus)
    return lab_new.subject_of(corpus, manifest.golden_place, lab_new.file_stamp(manifest.golden_place, manifest.corpus))


def counted_sealed(golden: GoldenSet) -> int:
    """How many sealed questions the headline counts: the answerable ones that were written by hand, or all answerable ones if none was."""
    kinds = [question.kind for question in golden.questions if question.split == "sealed" and question.kind != UNANSWERABLE]
    return sum(kind != FLOOR for kind in kinds) or len(kinds)


def job_key(run: Run) -> str:
    """What the confirmation of a golden set is found by: one at a time."""
    return f"confirm:{run.manifest.corpus}:{run.manifest.golden_place}"


def _draw_form(run: Run, made: Board, *, sealed: int, use: int, path: Path) -> None:
    """What would be compared by what, which use this is, the tick and the button."""
    metric = confirmed_metric(run, made.metric)
    if not metric:
        st.html(cards.notice(["Only a metric of retrieval can be confirmed, and this run has none."]))
        return
    names, order = labels(run), [row.place for row in made.rows]
    left, right = st.columns(2)
    place = _choose(
        left,
        "Configuration to confirm",
        f"{CHOSEN} {run.manifest.id}",
        order,
        order[0],
        {at: names[at] for at in order},
    )
    others = baselines(run, names, order)
    key = _choose(right, "Baseline", f"{AGAINST} {run.manifest.id}", list(others), first_baseline(run, place, list(others)), others)
    same = baseline_key(key) == run.manifest.configurations[place].key
    st.html(f'<div class="sl-line">{use_html(sealed=sealed, use=use, metric=metric, log=path.name)}</div>')
    if same:
        st.html(cards.notice(["Both are the same configuration: choose another baseline."]))
    # A new use wants a new tick, and so does another comparison.
    ticked = st.checkbox("I want to spend this use", key=f"{TICK} {use} {place} {key} {metric}", disabled=same)
    st.button(
        ASKED,
        type="primary",
        icon=":material/lock_open:",
        disabled=same or not ticked,
        on_click=_start,
        args=(run, place, key, metric),
        key="lab confirm now",
    )


def _choose(where: DeltaGenerator, label: str, key: str, options: Sequence[Option], first: Option, names: Mapping[Option, str]) -> Option:
    if st.session_state.get(key) not in options:
        st.session_state[key] = first
    with where:
        return st.selectbox(label, options, key=key, format_func=lambda each: names.get(each, ""), persist_state="session")


def confirmed_metric(run: Run, metric: str) -> str:
    """The metric that the page is by, or the run's own where that one judges answers; empty where both do."""
    return next((each for each in (metric, default_metric(run)) if each not in ANSWER_METRICS and each not in BY_QUALITY), "")


def baselines(run: Run, names: Sequence[str], order: Sequence[int]) -> dict[str, str]:
    """What a configuration may be compared with, by key: the others of the run, and the default configuration unless a baseline was named."""
    made = {run.manifest.configurations[place].key: names[place] for place in order}
    default = lab_data.settings().defaults
    if run.manifest.baseline or default.key in made:
        return made
    return {DEFAULT: f"the default configuration: {default.slug}", **made}


def first_baseline(run: Run, place: int, keys: Sequence[str]) -> str:
    """The baseline named before the run, else the default configuration, else the best of the others."""
    chosen = run.manifest.configurations[place].key
    wanted = (run.manifest.baseline, DEFAULT, lab_data.settings().defaults.key)
    return next((key for key in (*wanted, *keys) if key in keys and baseline_key(key) != chosen), keys[0])


def baseline_key(key: str) -> str:
    """The key of the configuration that a baseline is."""
    return key or lab_data.settings().defaults.key


def use_html(*, sealed: int, use: int, metric: str, log: str) -> str:
    """What a confirmation would be, escaped."""
    return (
        f"By <b>{escape(metric_words(metric))}</b>, over {sealed:,} sealed questions under both; only totals are shown, never a question. "
        f"<b>This is use {use:,}: it confirms at p ≤ {confirmation_level(use):g}</b>, and is logged in {escape(log)} before the questions are asked, "
        "so it counts even if it is stopped."
    )


def _start(run: Run, place: int, baseline: str, metric: str) -> None:
    state.acted()
    held, manifest = lab_data.settings(), run.manifest
    configuration = f"{manifest.id}:{manifest.configurations[place].key}"
    arguments = ["confirm", configuration, "--metric", metric, "--yes", *(["--baseline", baseline] if baseline else [])]
    environment = {**os.environ, "SITT_DATA_DIR": str(held.data_dir)}
    try:
        jobs.start(held.jobs_dir, arguments, title="Lab: confirm", key=job_key(run), module="evals", environment=environment)
    except OSError as error:
        st.session_state[lab_runs.REFUSED] = f"It could not be started: {error}. Check the disk and the folder's permissions."


@st.fragment(run_every=lab_runs.POLL_SECONDS)
def _watch(job_id: str) -> None:
    """How far the job is; the page anew when it has ended."""
    try:
        job = jobs.read(lab_data.settings().jobs_dir / job_id)
    except SittError as error:  # its folder was removed
        st.session_state[lab_runs.REFUSED] = told(error)
        st.rerun()
    if job.state != "running":
        st.rerun()
    share, words = progress(job)
    st.progress(share, text=words)


def progress(job: Job) -> tuple[float, str]:
    """How far a confirmation is, as a share and in words; what it reports names no question."""
    if not job.stage:
        return 0.0, "Asking the sealed questions: starting …"
    left = f" (about {human_seconds(job.seconds_left)} left)" if job.seconds_left and job.done < job.total else ""
    return min(
        1.0, job.done / job.total if job.total else 0.0
    ), f"Asking the sealed questions: {job.stage} {job.done:,} of {job.total:,}{left}"


def _draw_uses(uses: Sequence[Confirmation], path: Path) -> None:
    """The last use in a sentence, and all of them as a table."""
    if not uses:
        return
    last = uses[-1]
    st.html(cards.notice([f"Use {last.use:,}, {_when(last)}: {last.configuration} against {last.baseline}.", said(last)]))
    with st.expander(f"All uses so far: {len(uses):,}, logged in {path.name}"):
        st.dataframe([use_row(each) for each in reversed(uses)], hide_index=True, key="lab uses", placeholder="–")


def _when(made: Confirmation) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(made.when))


def said(made: Confirmation) -> str:
    """What came of a use, in a sentence."""
    return "Begun and not ended yet; it counts." if unended(made) else confirm.sentence(made)


def unended(made: Confirmation) -> bool:
    """Whether a use was begun and has no result: it is on its way, or was broken off."""
    return made.n == 0 and made.mean is None


def use_row(made: Confirmation) -> dict[str, Any]:
    """A use as a line of the table."""
    limits = f"{made.low:+.3f} to {made.high:+.3f}" if made.low is not None and made.high is not None else None
    return {
        "use": made.use,
        "when": _when(made),
        "outcome": "not ended" if unended(made) else "confirmed" if made.confirmed else "not confirmed",
        "configuration": made.configuration,
        "baseline": made.baseline,
        "metric": made.metric,
        "n": made.n,
        "mean": number(made.mean),
        "of the baseline": number(made.baseline_mean),
        "difference": limits and f"{made.difference:+.3f} ({limits})",
        "p": None if unended(made) else round(made.p, 4),
        "level": made.level,
    }

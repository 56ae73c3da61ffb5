"""The Lab page's runs as such: one on its way, with what it has so far, stopped and resumed; and all there are, renamed or deleted."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import streamlit as st

from evals import analysis, results
from evals.charts import number
from evals.findings import metric_words
from evals.report import default_metric
from evals.results import Run
from sitt_core import jobs
from sitt_core.errors import SittError
from sitt_core.jobs import Job
from sitt_core.surfaces.dashboard import cards, lab_data, state
from sitt_core.surfaces.dashboard.told import told
from sitt_core.surfaces.progress import human_seconds

RUN = "lab run"
"""The session's key of the chosen run's id."""
VIEW = "lab view"
"""The session's key of the open view, by its label."""
RESULTS, NEW, RUNS = "Results", "New run", "All runs"
REFUSED = "lab refused"
"""The session's key of why the last button did nothing, said at the next run."""
POLL_SECONDS = 1.0
JOB_SHARE, ROWS_SHARE = 20, 30
"""A job's progress and a run's rows are read again after so many times what the last reading took: that must not slow the run."""
DELETING, NAME = "lab deleting", "lab name"


def chosen() -> Run | None:
    """The run that the page shows: the chosen one, else one that is on its way, else the newest; None when there is none."""
    found = lab_data.all_runs()
    wanted = next((run for run in found if run.manifest.id == st.session_state.get(RUN)), None)
    taken = wanted or next((run for run in found if on_its_way(run)), None) or next(iter(found), None)
    if taken is not None:
        st.session_state[RUN] = taken.manifest.id
    return taken


def choose(run_id: str) -> None:
    """Shows the results of a run."""
    state.acted()
    st.session_state[RUN], st.session_state[VIEW] = run_id, RESULTS


def run_name(run: Run) -> str:
    """A run on one line: its name or what it asked, when, how large, and its state unless it is done."""
    manifest = run.manifest
    what = manifest.name or f"{manifest.golden} on {manifest.corpus}"
    size = f"{len(run.questions):,} × {len(manifest.configurations):,}"
    now = "running" if on_its_way(run) else run.state
    return " · ".join([what, when(run), size, *([now] if now != "done" else [])])


def on_its_way(run: Run) -> bool:
    """Whether somebody works on a run; its job may not have begun to write yet."""
    job = lab_data.job_of(run)
    return run.state == "running" or (job is not None and job.state == "running")


def when(run: Run) -> str:
    """When a run was started, in this machine's time."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(run.manifest.started))


def say_refused() -> None:
    """Shows why the last button did nothing, once."""
    if refused := st.session_state.pop(REFUSED, None):
        st.html(cards.notice([refused], problem=True))


def start_job(run: Run) -> None:
    """Works on a run's missing rows in the background; a job that does so already goes on."""
    held, run_id = lab_data.settings(), run.manifest.id
    st.session_state.pop(f"lab stopping {run_id}", None)
    try:
        jobs.start(
            held.jobs_dir,
            ["run", "--resume", run_id, "--quiet"],
            title=f"Lab: {run.manifest.name or run_id}",
            key=lab_data.job_key(run_id),
            module="evals",
            environment={**os.environ, "SITT_DATA_DIR": str(held.data_dir)},
        )
    except OSError as error:
        st.session_state[REFUSED] = f"The run could not be started: {error}. Check the disk and the folder's permissions, then resume it."


def resume(run: Run) -> None:
    """Goes on with a stopped run."""
    choose(run.manifest.id)
    start_job(run)


@dataclass(slots=True)
class Watch:
    """The last look at a run on its way, and when the next ones are due (seconds of the monotonic clock)."""

    job_due: float = 0.0
    rows_due: float = 0.0
    job: Job | None = None
    rows: Sequence[Mapping[str, Any]] = field(default_factory=list)
    problem: str = ""


def draw_state(run: Run) -> bool:
    """What there is to say of a run that is not done; True while it is on its way, and then what it has so far is drawn."""
    say_refused()
    job = lab_data.job_of(run)
    if (job is not None and job.state == "running") or run.state == "running":
        _draw_running(run.manifest.id, job.id if job is not None and job.state == "running" else "")
        return True
    if run.state == "done":
        return False
    if job is not None and job.state in ("failed", "died"):
        st.html(cards.notice([f"The last go at this run failed: {job.message}"], problem=True))
    done = results.count(run)
    with st.container(border=True, horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="lab-stopped"):
        alone = " What follows is about these alone." if done else ""
        st.html(f'<div class="sl-line"><b>Stopped at {done:,} of {run.wanted:,} rows.</b>{alone}</div>')
        st.button("Resume", type="primary", icon=":material/play_arrow:", on_click=resume, args=(run,), key="lab resume")
    return False


@st.fragment(run_every=POLL_SECONDS)
def _draw_running(run_id: str, job_id: str) -> None:
    """Progress, what there is so far, and the button that stops it; looks again no oftener than the run can bear."""
    held: Watch = st.session_state.setdefault(f"lab watch {run_id}", Watch())
    run = lab_data.run_of(run_id)
    if run is None:
        st.rerun()
    look(held, run, job_id)
    if not (held.job is not None and held.job.state == "running") and run.state != "running":
        st.session_state.pop(f"lab watch {run_id}", None)
        st.rerun()
    total = len(run.questions) * len(run.manifest.configurations)
    share, words = progress(held.job, held.rows, total)
    stopping = bool(st.session_state.get(f"lab stopping {run_id}"))
    st.progress(share, text="Stopping after this step …" if stopping else words)
    if job_id:
        st.button("Stop", icon=":material/stop:", on_click=_stop, args=(run_id, job_id), disabled=stopping, key="lab stop")
    else:
        st.html('<div class="sl-small">It was started from a terminal: Ctrl-C stops it there.</div>')
    if held.problem:
        st.html(cards.notice([held.problem], problem=True))
    elif rows := [partial_row(row) for row in held.rows if row["done"]]:
        metric = default_metric(run)
        st.html(
            f'<h2 class="sl-h">So far</h2><div class="sl-small">Partial: {escape(metric_words(metric))} of the questions that each configuration '
            "has been asked until now. They are not the same for all, so nothing is said yet of which is better. "
            f"Begun: {len(rows):,} of {len(held.rows):,} configurations.</div>"
        )
        st.dataframe(rows, hide_index=True, height=min(520, 38 + 35 * len(rows)), column_config=_PARTIAL, key=f"lab partial {run_id}")


_PARTIAL = {"asked": st.column_config.ProgressColumn("asked", min_value=0, max_value=100, format="%d %%")}


def look(held: Watch, run: Run, job_id: str) -> None:
    """Looks at how far a run's job is and at what its rows amount to, each when that is due, and says when it will be again."""
    try:
        if job_id and time.monotonic() >= held.job_due:
            started = time.perf_counter()
            held.job = jobs.read(lab_data.settings().jobs_dir / job_id)
            held.job_due = time.monotonic() + JOB_SHARE * (time.perf_counter() - started)
        if time.monotonic() >= held.rows_due:
            started = time.perf_counter()
            held.rows, held.problem = analysis.so_far(run, default_metric(run)), ""
            held.rows_due = time.monotonic() + ROWS_SHARE * (time.perf_counter() - started)
    except SittError as error:
        held.problem = f"Expected {error.expected}; got {error.got}. {error.remedy}"


def progress(job: Job | None, rows: Sequence[Mapping[str, Any]], total: int) -> tuple[float, str]:
    """How far a run is, as a share and in words: the stage of its job, or the rows that there are."""
    done = sum(row["done"] for row in rows)
    if job is not None and job.stage and job.stage != "evaluate":
        share = job.done / job.total if job.total else 0.0
        return min(1.0, share), f"First, {job.stage}: {job.done:,} of {job.total:,}{_left(job)}"
    if job is not None and job.stage:
        return min(1.0, job.done / total if total else 0.0), f"{job.done:,} of {total:,} rows{_left(job)}"
    return min(1.0, done / total if total else 0.0), f"{done:,} of {total:,} rows" if done else "Starting …"


def _left(job: Job) -> str:
    return f" (about {human_seconds(job.seconds_left)} left)" if job.seconds_left and job.done < job.total else ""


def partial_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration of a run on its way, as a line of the table."""
    limits = f" ({number(row['low'])}–{number(row['high'])})" if row["low"] is not None else ""
    return {
        "configuration": row["configuration"],
        "asked": 100 * row["done"] // row["questions"] if row["questions"] else 0,
        "rows": row["done"],
        "mean so far": f"{number(row['mean'])}{limits}",
        "n": row["n"],
    }


def _stop(run_id: str, job_id: str) -> None:
    st.session_state[f"lab stopping {run_id}"] = True
    try:
        jobs.cancel(lab_data.settings().jobs_dir, job_id)
    except SittError as error:  # it has ended, and its folder is gone
        st.session_state[REFUSED] = told(error)


def draw_runs() -> None:
    """Every run as a table; the ticked one is opened, renamed or deleted below it."""
    say_refused()
    found = lab_data.all_runs()
    if not found:
        draw_none()
        return
    current = chosen()
    assert current is not None
    st.html(f'<div class="sl-small">{len(found):,} runs, the newest first. Tick one to choose it.</div>')
    ids = [run.manifest.id for run in found]
    st.dataframe(
        [run_row(run) for run in found],
        hide_index=True,
        height=min(520, 38 + 35 * len(found)),
        key="lab runs",
        on_select=lambda: _take_run(ids),
        selection_mode="single-row",
        selection_default={"selection": {"rows": [ids.index(current.manifest.id)]}},
        alt="All runs of the lab",
    )
    st.html(f'<h2 class="sl-h" dir="auto">{escape(run_name(current))}</h2>')
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.button("Open its results", type="primary", on_click=choose, args=(current.manifest.id,), key="lab open")
        if current.state == "stopped":
            st.button("Resume it", on_click=resume, args=(current,), key="lab resume here", icon=":material/play_arrow:")
    st.session_state.setdefault(f"{NAME} {current.manifest.id}", current.manifest.name)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input("Name", key=f"{NAME} {current.manifest.id}", max_chars=200, placeholder=current.manifest.id)
        st.button("Rename", on_click=_rename, args=(current.manifest.id,), key="lab rename")
    _draw_delete(current)


def draw_none() -> None:
    """What stands where there is no run."""
    with st.container(border=True):
        st.html('<h2 class="sl-h">Nothing has been measured yet</h2>')
        st.write("A run asks golden questions, whose answers are known, under one or many configurations, and says what may be concluded.")
        st.button("Plan a first run", type="primary", on_click=go_new, key="lab first")


def go_new() -> None:
    """Opens the form of a new run."""
    state.acted()
    st.session_state[VIEW] = NEW


def run_row(run: Run) -> dict[str, Any]:
    """A run as a line of the table."""
    manifest = run.manifest
    return {
        "name": manifest.name or manifest.id,
        "started": when(run),
        "state": "running" if on_its_way(run) else run.state,
        "golden set": manifest.golden,
        "corpus": manifest.corpus,
        "questions": len(run.questions),
        "configurations": len(manifest.configurations),
        "took": human_seconds(run.seconds) if run.seconds else "",
        "skipped": len(manifest.skipped),
        "failed": len(run.failures),
        "judged by": run.judged.judge if run.judged else "",
        "run": manifest.id,
    }


def _take_run(ids: Sequence[str]) -> None:
    rows = st.session_state["lab runs"].selection.rows
    if rows and rows[0] < len(ids):
        st.session_state[RUN] = ids[rows[0]]
        st.session_state.pop(DELETING, None)


def _rename(run_id: str) -> None:
    try:
        results.rename(lab_data.settings().runs_dir, run_id, st.session_state[f"{NAME} {run_id}"])
    except SittError as error:
        st.session_state[REFUSED] = told(error)


def _draw_delete(run: Run) -> None:
    """Deleting asks first."""
    if st.session_state.get(DELETING) != run.manifest.id:
        st.button("Delete …", icon=":material/delete:", on_click=_ask_delete, args=(run.manifest.id,), key="lab delete")
        return
    with st.container(border=True):
        st.write(f"Delete this run with its {results.count(run):,} rows? They cannot be had back but by running it again.")
        with st.container(horizontal=True):
            st.button("Delete it for good", type="primary", on_click=_delete, args=(run.manifest.id,), key="lab delete for good")
            st.button("Keep it", on_click=_ask_delete, args=("",), key="lab keep")


def _ask_delete(run_id: str) -> None:
    st.session_state[DELETING] = run_id


def _delete(run_id: str) -> None:
    st.session_state.pop(DELETING, None)
    try:
        results.delete(lab_data.settings().runs_dir, run_id)
    except SittError as error:
        st.session_state[REFUSED] = told(error)

"""The Lab page's judge: who it is, what judging a run would take, the job that does it, and going on after a stop."""

import os
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from evals import judged
from evals.qualities import BY_QUALITY, QUALITIES
from evals.results import Run
from evals.subject import Subject
from evals.summary import counted
from sitt_core import jobs
from sitt_core.build import JudgeModel
from sitt_core.errors import SittError
from sitt_core.jobs import Job
from sitt_core.surfaces.dashboard import cards, lab_confirm, lab_data, lab_new, lab_runs, state
from sitt_core.surfaces.dashboard.plain import plain_label
from sitt_core.surfaces.dashboard.told import told
from sitt_core.surfaces.progress import human_seconds

if TYPE_CHECKING:
    from evals.judging import JudgePlan

PART = "lab answers part"
"""The session's key of the open part of the section, by its label."""
CHARTS, SIDES, TRUST, JUDGE = "Charts", "Side by side", "Noise and agreement", "Judge"
METRICS, KINDS, REPEATS, DOLLARS, TOKENS, AGAIN, STOPPING = (
    "lab judge metrics",
    "lab judge kinds",
    "lab judge repeats",
    "lab judge dollars",
    "lab judge tokens",
    "lab judge again",
    "lab judge stopping",
)
BUDGET_ENDED = "expected the budget to last"
"""How the message of a job begins that ended with its budget."""
VARIABLES = (
    "Set ANTHROPIC_API_KEY, OPENAI_API_KEY or GROQ_API_KEY and start SITT Lab again; JUDGE_PROVIDER and JUDGE_MODEL choose among several, and a "
    "server of your own needs its address as well, such as OPENAI_BASE_URL."
)
CHOOSE_ANOTHER = "Whoever judges its own answers is kinder to them: set JUDGE_PROVIDER to another one if you can."


def draw_state(run: Run) -> bool:
    """A judging on its way, or how the last one ended; True while it is on its way."""
    lab_runs.say_refused()
    job = lab_data.latest_job(lab_data.judge_key(run.manifest.id))
    if job is not None and job.state == "running":
        _watch(run.manifest.id, job.id)
        return True
    st.session_state.pop(f"{STOPPING} {run.manifest.id}", None)
    if judged.is_being_judged(run.folder):
        _watch(run.manifest.id, "")
        return True
    if job is not None and (sentence := ended_in_words(job)) and not _went_on_since(run, job):
        st.html(cards.notice([sentence], problem=job.state != "cancelled"))
        if st.session_state.get(PART) != JUDGE:
            st.button("Go on …", on_click=_open_judge, key="lab judge go on", icon=":material/play_arrow:")
    return False


def _went_on_since(run: Run, job: Job) -> bool:
    """Whether somebody judged on, from a terminal, after the job had ended."""
    rows, end = run.folder / judged.ROWS, lab_data.settings().jobs_dir / job.id / "result.json"
    return rows.is_file() and end.is_file() and rows.stat().st_mtime_ns > end.stat().st_mtime_ns


def ended_in_words(job: Job) -> str:
    """How a judging ended that is not whole; empty for one that is."""
    if job.state == "cancelled":
        return "The last judging was stopped. Its verdicts are kept; Go on asks for the rest."
    if job.state == "failed" and job.message.startswith(BUDGET_ENDED):
        return f"The budget ended the last judging: {job.message.partition('got ')[2].partition('. ')[0]}. Raise it and go on: finished verdicts stay."
    return f"The last judging did not end: {job.message}" if job.state in ("failed", "died") else ""


def _open_judge() -> None:
    state.acted()
    st.session_state[PART] = JUDGE


@st.fragment(run_every=lab_runs.POLL_SECONDS)
def _watch(run_id: str, job_id: str) -> None:
    """How far the judging is, and the button that stops it; the page anew when it has ended."""
    run = lab_data.run_of(run_id)
    if run is None:
        st.rerun()
    try:
        job = jobs.read(lab_data.settings().jobs_dir / job_id) if job_id else None
    except SittError as error:  # its folder was removed
        st.session_state[lab_runs.REFUSED] = told(error)
        st.rerun()
    if (job is not None and job.state != "running") or (job is None and not judged.is_being_judged(run.folder)):
        st.rerun()
    share, words = progress(job, len(judged.rows(run.folder)))
    stopping = bool(st.session_state.get(f"{STOPPING} {run_id}"))
    st.progress(share, text="Stopping after the answers at hand …" if stopping else words)
    if job_id:
        st.button("Stop judging", icon=":material/stop:", on_click=_stop, args=(run_id, job_id), disabled=stopping, key="lab judge stop")
    else:
        st.html('<div class="sl-small">It was started from a terminal: Ctrl-C stops it there.</div>')


def progress(job: Job | None, rows: int) -> tuple[float, str]:
    """How far a judging is, as a share and in words; `rows` are what is judged, for one from a terminal."""
    if job is None:
        return 0.0, f"Being judged: {counted(rows, 'answer')} so far."
    if not job.stage:
        return 0.0, "Judging: starting …"
    if job.stage != "judge":
        return 0.0, f"Judging: first, {job.stage} …"
    left = f" (about {human_seconds(job.seconds_left)} left)" if job.seconds_left and job.done < job.total else ""
    return min(1.0, job.done / job.total if job.total else 0.0), f"Judged: {job.done:,} of {job.total:,} answers{left}"


def _stop(run_id: str, job_id: str) -> None:
    st.session_state[f"{STOPPING} {run_id}"] = True
    try:
        jobs.cancel(lab_data.settings().jobs_dir, job_id)
    except SittError as error:  # it has ended, and its folder is gone
        st.session_state[lab_runs.REFUSED] = told(error)


def draw_judge(run: Run, *, running: bool) -> None:
    """Who would judge, by what, how often, for how much; the plan, and the button that begins or goes on."""
    answered = lab_data.is_answered(run)
    try:
        judge = state.workshop().judge(
            {entry.configuration.answer_provider for entry in run.manifest.configurations} if answered else set()
        )
        st.html(who_html(judge, run.judged))
        names, kinds, repeats, again = _choose(run, judge)
        subject = lab_confirm.subject_of(run)
        plan = plan_of(run, subject, names, kinds, repeats, again)
    except SittError as error:
        st.html(cards.notice([f"Expected {error.expected}; got {error.got}. {error.remedy}"], problem=True))
        return
    dollars, tokens = _choose_budget(run, plan)
    with st.container(border=True):
        st.html(f'<h2 class="sl-h">What it takes</h2>{plan_html(plan)}')
    allowed = _confirm_cost(plan)
    st.button(
        "Go on" if plan.finished else "Judge",
        type="primary",
        icon=":material/gavel:",
        on_click=_start,
        args=(run, arguments_of(run, names, kinds, repeats, again=again, dollars=dollars, tokens=tokens)),
        disabled=running or not plan.units or not allowed,
        key="lab judge now",
    )


def who_html(judge: JudgeModel | None, held: judged.About | None) -> str:
    """Who would judge and who has, escaped."""
    if judge is None:
        without = ", ".join(each.name for each in QUALITIES if not each.judged)
        said = [f"<b>No judge: no provider has a key.</b> Without one these can be had: {escape(without)}.", escape(VARIABLES)]
    else:
        at = f" at {judge.address}" if judge.address else ""
        said = [f"Judge: <b>{escape(f'{judge.provider} {judge.model}{at}')}</b>."]
        if judge.own:
            said.append(f"<b>It wrote some of the answers itself.</b> {escape(CHOOSE_ANOTHER)}")
    if held is not None:
        said.append(f"So far judged by {escape(held.judge)}: {counted(len(held.metrics), 'metric')}.")
    return "".join(f'<div class="sl-line">{line}</div>' for line in said)


def _choose(run: Run, judge: JudgeModel | None) -> tuple[tuple[str, ...], tuple[str, ...], int, bool]:
    """Metrics, kinds, repeats, and whether all is judged anew; those of the last judging unless others are chosen."""
    run_id, held = run.manifest.id, run.judged
    there = [
        each.name
        for each in QUALITIES
        if (judge is not None or not each.judged) and (lab_data.is_answered(run) or "answer" not in each.needs)
    ]
    if f"{METRICS} {run_id}" not in st.session_state and held is not None:
        kept = [name for name in there if name in held.metrics]
        st.session_state[f"{METRICS} {run_id}"] = kept if kept != there else []
    if f"{REPEATS} {run_id}" not in st.session_state:
        st.session_state[f"{REPEATS} {run_id}"] = held.repeats if held else 1
    names = st.multiselect(
        "Metrics of answers",
        there,
        key=f"{METRICS} {run_id}",
        placeholder=f"all {len(there)} that can be had",
        persist_state="session",
    )
    with st.expander("What each of them says and needs"):
        st.dataframe([quality_row(name) for name in BY_QUALITY], hide_index=True, key="lab qualities")
    left, right = st.columns([3, 1])
    counts: dict[str, int] = {}
    for asked in run.questions:
        counts[asked.kind] = counts.get(asked.kind, 0) + 1
    kinds = left.multiselect(
        "Kinds of questions",
        list(counts),
        key=f"{KINDS} {run_id}",
        format_func=lambda kind: f"{kind} ({counts.get(kind, 0):,})",
        placeholder="all",
        persist_state="session",
    )
    repeats = right.number_input(
        "Repeats",
        1,
        20,
        key=f"{REPEATS} {run_id}",
        help="3 to 5 show how much verdicts, and answers, vary when nothing has changed; each costs as much as the first.",
        persist_state="session",
    )
    again = held is not None and st.checkbox(
        "Judge everything anew",
        key=f"{AGAIN} {run_id}",
        help="Forgets the verdicts that there are; needed when another judge is to follow. What was asked before comes from the cache.",
    )
    return tuple(names), tuple(kinds), int(repeats), bool(again)


def quality_row(name: str) -> dict[str, Any]:
    """A metric of answers as a line of a table."""
    each = BY_QUALITY[name]
    return {
        "metric": name,
        "says": each.meaning,
        "needs": ", ".join(sorted(each.needs)),
        "judge": "asked" if each.judged else "not needed",
    }


def _choose_budget(run: Run, plan: "JudgePlan") -> tuple[float | None, int | None]:
    """The most that all judging of the run may take, in dollars and in tokens; None for no limit."""
    no_price = plan.calls > 0 and plan.judge is not None and plan.judge.price is None
    left, right = st.columns(2)
    dollars = left.number_input(
        "Budget in dollars",
        min_value=0.0,
        value=None,
        step=0.5,
        key=f"{DOLLARS} {run.manifest.id}",
        placeholder="set a budget in tokens: no price is known" if no_price else "no limit",
        disabled=no_price,
        help="For all judging of this run, what it took so far included. Set JUDGE_PRICE_INPUT and JUDGE_PRICE_OUTPUT where no price is known.",
        persist_state="session",
    )
    tokens = right.number_input(
        "Budget in tokens",
        min_value=0,
        value=None,
        step=100_000,
        key=f"{TOKENS} {run.manifest.id}",
        placeholder="no limit",
        help="The same in tokens, read and written.",
        persist_state="session",
    )
    spent = judged.spent(run.folder)
    if spent.input_tokens:
        st.html(f'<div class="sl-small">{escape(spent_words(spent.input_tokens + spent.output_tokens, spent.dollars))}</div>')
    return None if no_price else dollars, tokens


def spent_words(tokens: int, dollars: float | None) -> str:
    """What judging a run took so far."""
    return f"Judging it took so far: {tokens:,} tokens, {'at an unknown price' if dollars is None else f'${dollars:,.2f}'}."


def _no_report(stage: str, done: int, total: int) -> None:
    del stage, done, total


_HASH: dict[str | type[Any], Callable[[Any], Any]] = {
    Run: lab_data.stamp,
    Subject: lambda subject: (subject.place, subject.golden.sha256, subject.corpus.identity),
}


@st.cache_resource(show_spinner="Counting what judging takes …", max_entries=16, hash_funcs=_HASH)
def plan_of(run: Run, subject: Subject, names: tuple[str, ...], kinds: tuple[str, ...], repeats: int, again: bool) -> "JudgePlan":
    """What judging takes; nobody is asked. Raises InvalidInput, NotFound or StoreError."""
    from evals.judging import plan_judging  # with pydantic, which no other page waits for

    return plan_judging(state.workshop(), run, subject, names, repeats=repeats, kinds=kinds, again=again)


def plan_html(plan: "JudgePlan") -> str:
    """A plan in sentences, escaped."""
    if not plan.units:
        return f'<div class="sl-line"><b>Everything is judged</b>: {counted(plan.finished, "answer")} by these metrics.</div>'
    said = [
        f"<b>{counted(len(plan.units), 'answer')} to be judged</b>, {plan.finished:,} are already, by {escape(plan.about.judge)}.",
        f"By {escape(', '.join(plan.metrics))}.",
    ]
    if plan.rewritten:
        said.append(f"{counted(plan.rewritten, 'answer')} written anew, which shows how much the generator varies.")
    if plan.calls or plan.rewritten:
        cached = " What is in the cache costs nothing." if plan.repeats == 1 else ""
        said.append(f"{escape(cost_words(plan))}.{cached}")
    else:
        said.append("Nobody is asked and nothing charged.")
    return "".join(f'<div class="sl-line">{line}</div>' for line in said)


def cost_words(plan: "JudgePlan") -> str:
    """Calls, tokens and dollars of a plan, in words; all are estimates from above."""
    cost = (
        "at a price that is not known here"
        if plan.dollars is None
        else f"at most about ${plan.dollars:,.2f}"
        if plan.dollars
        else "no charge"
    )
    calls = f"About {counted(plan.calls, 'call')} of the judge, " if plan.calls else "About "
    return f"{calls}{plan.tokens:,} tokens, {cost}"


def _confirm_cost(plan: "JudgePlan") -> bool:
    """Whether judging may start: one that costs money, or may, wants its own tick, and another plan a new one."""
    if not plan.units or not (plan.calls or plan.rewritten) or plan.dollars == 0.0:
        return True
    key = f"lab judge spend {len(plan.units)} {plan.tokens} {plan.dollars}"
    return st.checkbox(plain_label(f"Spend that: {cost_words(plan)}"), key=key)


def arguments_of(
    run: Run,
    names: Sequence[str],
    kinds: Sequence[str],
    repeats: int,
    *,
    again: bool,
    dollars: float | None,
    tokens: int | None,
) -> list[str]:
    """The command of a judging."""
    chosen: Mapping[str, Sequence[object]] = {
        "--metrics": names,
        "--kinds": kinds,
        "--repeats": [repeats],
        "--budget-usd": [] if dollars is None else [dollars],
        "--budget-tokens": [] if tokens is None else [tokens],
    }
    listed = [f"{option}={value}" for option, values in chosen.items() for value in values]
    return ["ragas", run.manifest.id, *listed, *(["--again"] if again else []), "--yes"]


def _start(run: Run, arguments: Sequence[str]) -> None:
    state.acted()
    held = lab_data.settings()
    environment = {**os.environ, "SITT_DATA_DIR": str(held.data_dir)}
    try:
        jobs.start(
            held.jobs_dir,
            arguments,
            title=f"Lab: judge {run.manifest.name or run.manifest.id}",
            key=lab_data.judge_key(run.manifest.id),
            module="evals",
            environment=environment,
        )
    except OSError as error:
        st.session_state[lab_runs.REFUSED] = f"It could not be started: {error}. Check the disk and the folder's permissions."
        return
    st.session_state.pop(f"{STOPPING} {run.manifest.id}", None)
    st.session_state.pop(f"{AGAIN} {run.manifest.id}", None)
    st.session_state[PART] = CHARTS


def ask_for_answers() -> None:
    """Opens the form of a new run with answers ticked."""
    state.acted()
    st.session_state[lab_new.ANSWERS] = True
    st.session_state[lab_runs.VIEW] = lab_runs.NEW

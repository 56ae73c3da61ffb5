"""The Questions page's panel that drafts questions by a language model: what it takes, starting it, watching it, what came of it."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from evals import editing
from evals.editing import Shelf
from evals.summary import counted
from sitt_core import jobs
from sitt_core.errors import IndexMissing, KeyMissing, SittError
from sitt_core.jobs import Job
from sitt_core.store.reading import Corpus
from sitt_core.surfaces.cli_drafting import came_to
from sitt_core.surfaces.dashboard import building, cards, state
from sitt_core.surfaces.dashboard.questions_data import KNOWN_BY, main_button, settings, waiting_drafts
from sitt_core.surfaces.dashboard.questions_html import told_plainly
from sitt_core.surfaces.dashboard.told import told
from sitt_core.surfaces.desk import money

if TYPE_CHECKING:
    from evals.drafting import DraftPlan

# evals.drafting brings pydantic, which only an opened panel waits for.


def draw_drafting(corpus: Corpus) -> None:
    """What is being drafted, or what came of it, and the panel that begins it."""
    from evals import drafting

    key = drafting.job_key(corpus.name)
    if jobs.find_running(settings().jobs_dir, key) is not None:
        with st.container(border=True):
            st.html('<h2 class="sl-h">Questions are being drafted</h2>')
            building.watch(key)
        return
    building.watch(key)
    _draw_outcome(corpus, key)
    panel = st.expander("Draft questions by a language model", icon=":material/auto_awesome:", key="draft questions", on_change=state.acted)
    if panel.open:
        with panel:
            _draw_plan(corpus, key)


def _draw_outcome(corpus: Corpus, key: str) -> None:
    """What came of the drafting that this session watched, also of one that was stopped."""
    from evals import drafting

    known = st.session_state.get(f"job {key}")
    if known is None:
        return
    job: Job = jobs.read(settings().jobs_dir / known)
    st.html(
        f'<div class="sl-line" role="status"><b>{escape(came_to(drafting.counts_since(settings(), corpus.name, job.started)))}</b></div>'
    )


def _draw_plan(corpus: Corpus, key: str) -> None:
    """How many passages, what they take, and the button; or what is to be done first."""
    from evals import drafting

    count = int(
        st.number_input(
            "Passages to ask about",
            1,
            drafting.MAX_COUNT,
            drafting.DEFAULT_COUNT,
            key=f"draft count {corpus.name}",
            on_change=state.acted,
            help="One call each, and at most one draft. One passage of every document comes before a second of any.",
        )
    )
    shelf = editing.open_shelf(settings(), corpus.name)
    held = (*sorted(drafting.asked_before(settings(), corpus.name)), *(draft.id for draft in waiting_drafts(corpus)))
    try:
        plan = _planned(corpus, shelf, count, held)
    except KeyMissing as error:
        st.html(cards.notice(["Nobody can draft here yet.", told_plainly(error)]))
        return
    except IndexMissing:
        st.write("Drafts are tried out on the default configuration's index, which is not there yet.")
        building.offer_index(corpus, drafting.tried_on(state.workshop()))
        return
    except SittError as error:
        st.error(told(error))
        return
    st.html(plan_html(plan))
    if plan.passages:
        _draw_start(plan, count, key)


@st.cache_resource(show_spinner="Counting what that takes …", max_entries=8, ttl=600, hash_funcs=KNOWN_BY)
def _planned(corpus: Corpus, shelf: Shelf, count: int, held: Sequence[str]) -> "DraftPlan":
    """The plan, as long as nothing is asked, drafted or written meanwhile: that is what `shelf` and `held` are for."""
    from evals import drafting

    del shelf, held
    return drafting.plan_drafting(state.workshop(), corpus.name, count=count)


def plan_html(plan: "DraftPlan") -> str:
    """A plan in words."""
    before = f" {counted(plan.asked_before, 'passage')} asked about before." if plan.asked_before else ""
    if not plan.passages:
        return f'<div class="sl-line">No passage is left to ask about.{before}</div>'
    what = f"{counted(len(plan.passages), 'passage')} of {counted(plan.documents, 'document')}, by {plan.model.provider} {plan.model.model}"
    takes = (
        f"At most about {plan.tokens:,} tokens, {cost_words(plan)}; what a model thinks comes on top, what is in the cache costs nothing."
    )
    return f'<div class="sl-line"><b>{escape(what)}.</b>{escape(before)}<br><span>{escape(takes)}</span></div>'


def cost_words(plan: "DraftPlan") -> str:
    """What a plan costs, in words."""
    return "for a price that is not known here" if plan.dollars is None else money(plan.dollars) if plan.dollars else "no charge"


def _draw_start(plan: "DraftPlan", count: int, key: str) -> None:
    limit, agreed = None, True
    if plan.dollars != 0:
        unit, step = ("tokens", 1000.0) if plan.dollars is None else ("dollars", 0.01)
        limit = st.number_input(
            f"Stop at, in {unit}",
            0.0,
            None,
            None,
            step=step,
            placeholder="no limit",
            key=f"draft limit {unit}",
            on_change=state.acted,
            help="A call that could go beyond it is not made; going on later asks about what is left.",
        )
        agreed = st.checkbox(
            f"Spend that: {cost_words(plan)}", key=f"draft agreed {plan.corpus} {count} {plan.dollars}", on_change=state.acted
        )
    st.button(
        "Draft questions",
        type=main_button(enabled=agreed),
        icon=":material/auto_awesome:",
        disabled=not agreed,
        on_click=_start,
        args=(plan, count, limit, key),
        key="start drafting",
    )


def _start(plan: "DraftPlan", count: int, limit: float | None, key: str) -> None:
    from evals import drafting

    state.acted()
    budget = {} if limit is None else {"budget_tokens": int(limit)} if plan.dollars is None else {"budget_dollars": limit}
    st.session_state.pop(f"unstarted {key}", None)
    try:
        st.session_state[f"job {key}"] = drafting.start_job(settings(), plan.corpus, count=count, **budget).id
    except OSError as error:
        st.session_state[f"unstarted {key}"] = f"Drafting could not be started: {error}. Check the disk and the folder's permissions."

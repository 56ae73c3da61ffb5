"""A quotation looked up as it is typed: where it stands in its document, which of several places is meant, what it is most like."""

from html import escape

import streamlit as st

from evals import editing
from evals.editing import LookUp, Sight
from evals.golden import Quote
from sitt_core.errors import InvalidInput
from sitt_core.quotes import check_quote
from sitt_core.surfaces.dashboard import state
from sitt_core.surfaces.dashboard.questions_html import nearest_html, sight_html
from sitt_core.surfaces.dashboard.told import told
from sitt_core.types import Document


def draw_place(document: Document, quote: str, *, prefix: str) -> Sight | None:
    """Says where a quotation stands, and returns the place that is meant; None for one that is not there.

    The session keeps the quotation under "PREFIX quote", where the nearest text is put at a click, and its place, from 0, under "PREFIX place".
    """
    try:
        found = editing.look_up(Quote(document.id, check_quote(quote)), document)
    except InvalidInput as error:
        st.error(told(error))
        return None
    if found.state == "absent":
        words = f"These words are not in {escape(document.title)}."
        st.html(f'<div class="sl-evidence sl-near" role="status"><div class="sl-small">{words}</div>{nearest_html(found)}</div>')
        if found.nearest is not None:
            st.button(
                "Take the nearest text",
                key=f"{prefix} nearest",
                on_click=_take,
                args=(prefix, found.nearest.quote),
                type="primary",
                icon=":material/healing:",
            )
        return None
    at = 0
    if found.state == "several":
        st.html(f'<div class="sl-small" role="status">These words stand there {found.count:,} times.</div>')
        at = choose_place(found, f"{prefix} place")
    st.html(f'<div class="sl-evidence" role="status">{sight_html(found.sights[at], document.title)}</div>')
    return found.sights[at]


def _take(prefix: str, quote: str) -> None:
    state.acted()
    st.session_state[f"{prefix} quote"] = quote


def choose_place(found: LookUp, key: str) -> int:
    """Which of the places of a quotation is meant, by its number from 0."""
    if st.session_state.get(key) not in range(len(found.sights)):
        st.session_state[key] = 0
    return st.selectbox(
        "Which place is meant",
        range(len(found.sights)),
        key=key,
        on_change=state.acted,
        format_func=lambda at: f"{at + 1}: {found.sights[at].section or 'before the first heading'}, character {found.sights[at].start:,}",
    )

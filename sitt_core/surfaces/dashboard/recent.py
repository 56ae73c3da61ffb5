"""Recent questions beside the examples: asked again with a click, under the configuration they were asked under."""

from pathlib import Path

import streamlit as st

from sitt_core import notes
from sitt_core.configuration import configure_leniently
from sitt_core.errors import SittError
from sitt_core.surfaces.address import Address
from sitt_core.surfaces.dashboard import state
from sitt_core.surfaces.dashboard.plain import plain_label
from sitt_core.types import Filters

OPEN, TROUBLE, FORGOTTEN = "recent open", "recent trouble", "recent forgotten"
FILTERS = ("category", "region", "origin")


def draw_recent(corpus: str) -> None:
    """A popover with the questions lately asked of a corpus; its list is read when it is opened."""
    popover = st.popover("Recent", icon=":material/history:", key=OPEN, on_change=state.acted)
    if not popover.open:
        return
    with popover:
        try:
            asked = notes.recent(_folder(), corpus)
        except SittError as error:
            st.error(str(error))
            return
        if trouble := st.session_state.get(TROUBLE):
            st.warning(trouble)
        if not asked:
            st.write("Questions that you ask of this corpus will be listed here, with the configuration they were asked under.")
            return
        with st.container(height=320 if len(asked) > 6 else "content", border=False, gap=None):
            for at, each in enumerate(asked):
                _draw_one(at, each, corpus)
        st.html(f'<div class="sl-small">Kept on this machine, the latest {notes.KEPT_RECENT} of each corpus.</div>')
        st.button("Forget them all", icon=":material/delete:", on_click=_forget, args=(corpus, None), key="recent forget")


def _draw_one(at: int, each: notes.Recent, corpus: str) -> None:
    configuration, _ = configure_leniently(each.fields, state.workshop().settings.defaults)
    under = " · ".join([configuration.slug, *(value for name in FILTERS for value in each.filters.get(name, ()))])
    with st.container(horizontal=True, vertical_alignment="center", wrap=False):
        st.button(
            plain_label(each.question, length=90),
            key=f"recent {at}",
            on_click=_ask_again,
            args=(each,),
            help=plain_label(under),
            type="tertiary",
            width="stretch",
        )
        st.button(
            "Forget",
            icon=":material/close:",
            key=f"forget {at}",
            on_click=_forget,
            args=(corpus, each.question),
            type="tertiary",
        )


def remember(corpus: str, now: Address) -> None:
    """Notes the question that was just answered; a note that cannot be written never stands in the answer's way.

    A question that was forgotten while it stood in the box is not noted again before another one was asked.
    """
    if st.session_state.get(FORGOTTEN) == (corpus, now.question.strip()):
        return
    st.session_state.pop(FORGOTTEN, None)
    filters = {name: values for name in FILTERS if (values := getattr(now.filters, name))}
    try:
        notes.remember(_folder(), corpus, now.question.strip(), now.configuration.to_dict(), filters)
        st.session_state.pop(TROUBLE, None)
    except SittError as error:
        st.session_state[TROUBLE] = f"The last question was not noted. {error}"


def _folder() -> Path:
    return state.workshop().settings.notes_dir


def _ask_again(each: notes.Recent) -> None:
    configuration, _ = configure_leniently(each.fields, state.workshop().settings.defaults)
    filters = Filters(*(tuple(each.filters.get(name, ())) for name in FILTERS))
    state.adopt(configuration=configuration, question=each.question, filters=filters)
    st.session_state[OPEN] = False


def _forget(corpus: str, question: str | None) -> None:
    state.acted()
    current = state.address().question.strip()
    if question in (None, current):
        st.session_state[FORGOTTEN] = (corpus, current)
    try:
        notes.forget(_folder(), corpus, question)
    except SittError as error:
        st.session_state[TROUBLE] = str(error)

"""The Questions page's drafts: what waits for review, accepted into the form or rejected."""

import streamlit as st

from evals import editing
from evals.editing import Shelf
from sitt_core import notes
from sitt_core.errors import SittError
from sitt_core.store.reading import Corpus
from sitt_core.surfaces.address import to_parameters
from sitt_core.surfaces.dashboard import cards, state
from sitt_core.surfaces.dashboard.questions_data import Edit, begin, document_of, done, main_button, reviewed, settings, waiting_drafts
from sitt_core.surfaces.dashboard.questions_drafting import draw_drafting
from sitt_core.surfaces.dashboard.questions_html import draft_html


def draw_drafts(corpus: Corpus) -> None:
    """The panel that drafts by a model, and what waits for review, each with the answer it was made from and what was thought of that."""
    shelf, _ = reviewed(corpus)
    draw_drafting(corpus)
    waiting = waiting_drafts(corpus)
    if not waiting:
        st.html(
            cards.notice(
                [
                    "No draft waits. Under an answer on Ask, “Make this a golden question” brings it here, with what it quoted; "
                    "on Explore, select words of a passage; above, a language model drafts some."
                ]
            )
        )
        st.page_link("pages/ask.py", label="Open Ask", icon=":material/chat:", query_params=to_parameters(state.address()))
        return
    st.html(
        '<div class="sl-small">Nothing joins the set by itself: accepting opens a draft as a question of your own, to be checked and kept.</div>'
    )
    for draft in waiting:
        with st.container(border=True):
            _draw_draft(corpus, shelf, draft)


def _draw_draft(corpus: Corpus, shelf: Shelf, draft: notes.Draft) -> None:
    try:
        behind = notes.answer_behind(settings().notes_dir, draft)
    except SittError:
        behind = None
    refused = bool(behind and behind.record["refused"])
    question = editing.question_from_draft(draft, lambda id_: document_of(corpus, id_), shelf, refused=refused)
    needs = [[editing.look_up(quote, document_of(corpus, quote.document)) for quote in need] for need in question.evidence]
    st.html(draft_html(draft, behind, needs))
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Accept …",
            type=main_button(enabled=shelf.trouble is None),
            key=f"accept {draft.id}",
            on_click=begin,
            args=(Edit(corpus.name, question, draft=draft.id),),
            icon=":material/check:",
            disabled=shelf.trouble is not None,
        )
        with st.popover("Reject …", icon=":material/close:", key=f"reject {draft.id}"):
            st.write("Forget this draft? The answer it was made from stays.")
            st.button("Reject it", type="primary", key=f"reject now {draft.id}", on_click=_reject, args=(draft.id,))


def _reject(draft_id: str) -> None:
    done(lambda: notes.delete_draft(settings().notes_dir, draft_id), "The draft is rejected.")

"""Words of a passage as the evidence of a golden question: selected in a card or pasted, looked up, kept as a draft."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from evals import editing
from sitt_core import notes
from sitt_core.errors import SittError
from sitt_core.pipeline import Engine
from sitt_core.surfaces.dashboard import state
from sitt_core.surfaces.dashboard.questions_evidence import draw_place
from sitt_core.surfaces.dashboard.questions_html import style_sheet
from sitt_core.surfaces.dashboard.theme import Palette
from sitt_core.surfaces.dashboard.told import told
from sitt_core.text import check_question
from sitt_core.types import Retrieval

LABEL = "Make a golden question of this"
OPEN, KEPT, PICKS = "quoting open", "quoting kept", "quoting picks"
"""The session's keys: whether the dialog is open, what was kept by it, what was selected in a card."""
PREFIX = "quoting"

_FOLDER = Path(__file__).parent
_listen = st.components.v2.component(
    "sitt_quoting",
    html='<button type="button" hidden></button>',
    css=(_FOLDER / "quoting.css").read_text(encoding="utf-8"),
    js=(_FOLDER / "quoting.js").read_text(encoding="utf-8"),
)


def draw_open(result: Retrieval) -> None:
    """The button that opens the dialog with nothing selected: for the keyboard, and for words of another program."""
    first = result.passages[0].chunk.document_id if result.passages else ""
    st.button(
        "Golden question",
        icon=":material/edit_note:",
        on_click=_open,
        args=(result.question, first),
        key="quote",
        disabled=not result.passages,
        help="Keep words of a passage as the evidence of a golden question. Or select them in a card.",
    )


def _open(question: str, document_id: str, quote: str = "", place: int = 0) -> None:
    state.acted()
    values: Mapping[str, object] = {"question": question, "document": document_id, "quote": quote, "place": place}
    st.session_state.update({f"{PREFIX} {name}": value for name, value in values.items()})
    st.session_state[OPEN] = True


def _close() -> None:
    state.acted()
    st.session_state.pop(OPEN, None)


def draw_quoting(result: Retrieval, engine: Engine, colours: Palette) -> None:
    """Offers to quote what is selected in the cards, and draws the dialog while it is open."""
    inks = {name: getattr(colours, name) for name in ("text", "accent", "card")}
    _listen(key=PICKS, data={"label": LABEL, "colours": inks}, on_picked_change=lambda: _take(result, engine))
    if kept := st.session_state.pop(KEPT, None):
        st.toast(kept, icon=":material/edit_note:")
    if st.session_state.get(OPEN):
        _dialog(result, engine, colours)


def _take(result: Retrieval, engine: Engine) -> None:
    """Opens the dialog on what was selected; a browser may send anything."""
    state.acted()
    picked = st.session_state[PICKS].get("picked")
    try:
        id_, start, end = str(picked["document"]), int(picked["start"]), int(picked["end"])
        quote = editing.quote_at(engine.corpus.document(id_), max(0, start), max(0, end))
    except (SittError, KeyError, TypeError, ValueError):
        return
    if quote.quote:
        _open(result.question, id_, quote.quote, max(0, quote.occurrence - 1))


@st.dialog("A golden question", width="medium", on_dismiss=_close, icon=":material/edit_note:")
def _dialog(result: Retrieval, engine: Engine, colours: Palette) -> None:
    st.html(style_sheet(colours))
    st.html(
        '<div class="sl-small">The question, and the words of the corpus that answer it. It is kept as a draft, which is reviewed on Questions before it joins the golden set.</div>'
    )
    question = st.text_area("Question", key=f"{PREFIX} question", height=70)
    titles = {document.id: document.title for document in engine.corpus.documents}
    offered = dict.fromkeys([passage.chunk.document_id for passage in result.passages])
    chosen = str(st.session_state[f"{PREFIX} document"])
    id_ = st.selectbox(
        "Words of",
        list(dict.fromkeys([*offered, chosen])),
        key=f"{PREFIX} document",
        format_func=lambda id_: f"{titles.get(id_, '')} · {id_}",
    )
    words = st.text_area(
        "Quotation",
        key=f"{PREFIX} quote",
        height=96,
        placeholder="Paste or type words of it …",
        help="Looked up as soon as you leave the box, or with Ctrl+Enter.",
    )
    document = engine.corpus.document(id_)
    sight = draw_place(document, words, prefix=PREFIX) if words.strip() else None
    if (
        st.button(
            "Keep as a draft", type="primary" if sight else "secondary", key="quoting keep", disabled=sight is None, icon=":material/check:"
        )
        and sight
    ):
        evidence = {"document": id_, "start": sight.start, "end": sight.end, "quote": sight.quote}
        try:
            _keep(engine.corpus.name, question, evidence)
        except SittError as error:
            st.error(told(error))
        else:
            st.rerun()


def _keep(corpus: str, question: str, evidence: Mapping[str, Any]) -> None:
    """Keeps the draft, and closes the dialog; raises InvalidInput, StoreError or Busy."""
    asked = check_question(question)
    draft = notes.add_to_draft(state.workshop().settings.notes_dir, corpus=corpus, question=asked, evidence=evidence)
    count = len(draft.evidence)
    st.session_state[KEPT] = f"Kept as a draft with {count} quotation{'s' * (count > 1)}; it waits for review on Questions."
    _close()

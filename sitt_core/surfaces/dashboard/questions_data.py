"""What the Questions page keeps in its session and reads once: the checked questions, what is being edited, what was just done."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import streamlit as st

from evals import editing
from evals.editing import Review, Shelf
from evals.golden import Finding, Question
from sitt_core import notes
from sitt_core.errors import NotFound, SittError
from sitt_core.settings import Settings
from sitt_core.store.reading import Corpus
from sitt_core.surfaces.dashboard import state
from sitt_core.surfaces.dashboard.plain import plain_label
from sitt_core.surfaces.dashboard.told import told
from sitt_core.types import Document

SECTION, OPENED, EDITED, SAID, TROUBLE = "questions section", "question opened", "question edited", "questions said", "questions trouble"
"""The session's keys: the open section, the opened row as (whose, version), what is being edited, what was done, what went wrong."""
SET, DRAFTS, FILES = "Questions", "Drafts", "Import and export"
LISTED = 2000
"""How many rows, and how many documents in a choice, are listed at once."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A question about a corpus being edited: in the place of one's own `was`, whose version was `seen`, or of a draft, or as a new one."""

    corpus: str
    question: Question
    was: str = ""
    seen: str = ""
    draft: str = ""


def settings() -> Settings:
    """The process's settings."""
    return state.workshop().settings


def identity(corpus: Corpus) -> str:
    """What a cache knows a corpus by."""
    return corpus.identity


def own_identity(shelf: Shelf) -> str:
    """What a cache knows a shelf by: the bundled questions stay as they are while the process runs."""
    return hashlib.sha256("".join([shelf.corpus, *map(editing.version, shelf.own)]).encode()).hexdigest()


KNOWN_BY: dict[str | type[Any], Callable[[Any], Any]] = {Corpus: identity, Shelf: own_identity}


@st.cache_resource(show_spinner=False, max_entries=8, ttl=1800, hash_funcs=KNOWN_BY)
def documents_of(corpus: Corpus, shelf: Shelf) -> tuple[Document, ...]:
    """The documents that the shelf's questions are checked against. Raises StoreError."""
    return editing.documents_for(corpus, shelf)


@st.cache_resource(show_spinner="Checking the questions …", max_entries=8, ttl=1800, hash_funcs=KNOWN_BY)
def _bundled_findings(corpus: Corpus) -> list[Finding]:
    shelf = editing.open_shelf(settings(), corpus.name)
    return editing.findings_of_bundled(shelf, documents_of(corpus, replace(shelf, own=())))


@st.cache_resource(show_spinner=False, max_entries=32, ttl=1800, hash_funcs=KNOWN_BY)
def _reviewed(corpus: Corpus, shelf: Shelf) -> tuple[Shelf, Review]:
    """The shelf with its generated questions, and all of it reviewed."""
    whole = editing.open_shelf(settings(), corpus.name, [(document.id, document.title) for document in corpus.documents])
    whole = replace(whole, own=shelf.own)
    return whole, editing.review(whole, _bundled_findings(corpus), editing.findings_of_own(whole, documents_of(corpus, shelf)))


def reviewed(corpus: Corpus) -> tuple[Shelf, Review]:
    """The corpus's questions and what is wrong with each; computed once as long as neither changes. Raises StoreError."""
    shelf = editing.open_shelf(settings(), corpus.name)
    whole, review = _reviewed(corpus, shelf)
    return replace(whole, trouble=shelf.trouble), review


def document_of(corpus: Corpus, document_id: str) -> Document | None:
    """A document of the corpus, or None."""
    try:
        return corpus.document(document_id)
    except NotFound:
        return None


def waiting_drafts(corpus: Corpus) -> tuple[notes.Draft, ...]:
    """The drafts about the corpus; notes that cannot be read are told on the page."""
    try:
        return notes.drafts(settings().notes_dir, corpus.name)
    except SittError as error:
        st.error(told(error))
        return ()


def say_what_happened() -> None:
    """Shows once what the last button did, or why it did nothing."""
    if said := st.session_state.pop(SAID, None):
        st.toast(said, icon=":material/check:")
    if trouble := st.session_state.pop(TROUBLE, None):
        st.error(trouble)


def done(act: Callable[[], None], said: str) -> bool:
    """Does something that may be refused, and keeps for the next run what there is to say."""
    state.acted()
    try:
        act()
    except SittError as error:
        st.session_state[TROUBLE] = told(error)
        return False
    st.session_state[SAID] = plain_label(said)
    return True


def open_section(name: str) -> None:
    """Shows another section."""
    state.acted()
    st.session_state[SECTION] = name


def begin(edit: Edit) -> None:
    """Opens the form on a question."""
    state.acted()
    st.session_state[EDITED] = edit
    for name in ("evidence document", "evidence quote", "evidence place", "evidence counts"):
        st.session_state.pop(name, None)


def is_editing(corpus: Corpus) -> bool:
    """Whether a question about that corpus is being edited; one about another waits until that is open again."""
    held: Edit | None = st.session_state.get(EDITED)
    return held is not None and held.corpus == corpus.name


def main_button(*, enabled: bool) -> Literal["primary", "secondary"]:
    """The style of a section's main button; the label of a primary one that is disabled would be lost in its ground."""
    return "primary" if enabled else "secondary"

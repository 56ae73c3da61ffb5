"""The Corpus page's shelf: corpora made, opened, renamed and deleted."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from sitt_core import jobs
from sitt_core.errors import InvalidInput, SittError
from sitt_core.retrieval.words import LANGUAGES
from sitt_core.settings import DEFAULT_CORPUS
from sitt_core.store import admin
from sitt_core.store.layout import check_corpus_name, corpus_names
from sitt_core.store.reading import Corpus
from sitt_core.surfaces import status
from sitt_core.surfaces.dashboard import building, checks, found_html, sources, state
from sitt_core.surfaces.dashboard.corpus import SECTION
from sitt_core.surfaces.dashboard.theme import Palette
from sitt_core.surfaces.dashboard.told import told
from sitt_core.surfaces.dashboard.versions import REFUSED, heading, say_refused
from sitt_core.surfaces.renaming import rename_corpus
from sitt_core.types import Filters

MADE = "corpus being made"
"""The session's key of the name of a corpus whose first update this session started."""
UNMADE = "corpus not made"
"""The session's key of what keeps a corpus from being made, said at the next run."""
PREFIX = "make"
"""How the keys of the form's fields begin."""
REBUILD = "Rebuild"
"""The section where a corpus's sources are."""


def draw_corpora(corpus: Corpus, colours: Palette) -> None:
    """The corpora there are, a form for another, and what can be done to the one that is open."""
    del colours
    say_refused()
    heading("Corpora")
    names = corpus_names(state.workshop().settings.store_dir)
    st.dataframe([corpus_row(name, opened=name == corpus.name) for name in names], hide_index=True)
    others = [name for name in names if name != corpus.name]
    if others:
        with st.container(horizontal=True):
            for name in others:
                st.button(f"Open {name}", key=f"open {name}", on_click=open_corpus, args=(name,))
    draw_make()
    left, right = st.columns(2, gap="medium")
    with left:
        _draw_rename(corpus)
    with right:
        _draw_delete(corpus)


def corpus_row(name: str, *, opened: bool) -> dict[str, Any]:
    """A corpus as a line of the table; one that cannot be read says so."""
    try:
        corpus = state.workshop().corpus(name)
    except SittError as error:
        return {"corpus": name, "open": opened, "documents": None, "generation": "", "language": "", "sources": str(error)}
    return {
        "corpus": name,
        "open": opened,
        "documents": len(corpus.documents),
        "generation": corpus.generation,
        "language": corpus.meta.get("language", ""),
        "sources": ", ".join(status.sources_of(corpus).values()),
    }


def open_corpus(name: str) -> None:
    """Makes a corpus the current one; filters belong to the one before."""
    st.session_state.pop(MADE, None)
    state.choose(corpus=name, filters=Filters())


def draw_make() -> None:
    """A form that makes a corpus out of any source, the progress of that, and what could not be read."""
    heading("Make a corpus of your own")
    settings = state.workshop().settings
    known = jobs.recent(settings.jobs_dir, jobs.KEPT_JOBS)
    names = corpus_names(settings.store_dir)
    other = checks.being_made(known, names if names else [DEFAULT_CORPUS])  # the field guide has a panel of its own above
    made = other or st.session_state.get(MADE)
    if made is not None:
        st.session_state[MADE] = made
        if _draw_made(made):
            return
    last = checks.latest(known, checks.update_key(made)) if made else None
    sources.give_back(PREFIX, whole=last is not None and last.state != "done")
    kind = sources.draw_kind(PREFIX)
    with st.form("make corpus"):
        left, right = st.columns([2, 1])
        left.text_input("Name", key="make name", placeholder="my-notes", help="Lower-case letters, digits and hyphens.")
        right.selectbox("Language", list(LANGUAGES), key="make language", help="For stemming and stop words; none for neither.")
        sources.draw_fields(PREFIX, kind)
        st.form_submit_button("Make it", type="primary", on_click=_make, disabled=sources.is_missing(kind))
    if refused := st.session_state.pop(UNMADE, None):
        st.error(refused)


def _draw_made(name: str) -> bool:
    """How the making goes, or went; whether it still does."""
    key = checks.update_key(name)
    if building.watch(key):
        return True
    if name != state.address().corpus and name in corpus_names(state.workshop().settings.store_dir):
        st.success(f"{name} is made.", icon=":material/check:")
        st.button(f"Open {name}", type="primary", key="open made", on_click=open_corpus, args=(name,))
        if job_id := st.session_state.get(f"job {key}"):
            _draw_stayed(name, state.workshop().settings.jobs_dir / job_id)
    return False


def _draw_stayed(name: str, folder: Path) -> None:
    """What the first update could not read; trying again opens the corpus where that is shown."""
    failures, places = checks.failures_of(folder)
    if failures:
        with st.expander(f"Not read: {len(failures):,}", expanded=True, key="made without"):
            st.html(found_html.failures_html([(id_ or place, reason) for place, id_, reason in failures]))
            st.button("Try again", key="again made", on_click=_try_again, args=(name, places), icon=":material/refresh:")


def _try_again(name: str, places: Sequence[str]) -> None:
    _open_rebuild(name)
    sources.start_check(name, places)


def _open_rebuild(name: str) -> None:
    """Opens a corpus where its sources are, and how its last update ended."""
    open_corpus(name)
    st.session_state[SECTION] = REBUILD


def _make() -> None:
    """Begins the first update; what is wrong with the name or the source is said at once, and nothing is started."""
    name, language = (str(st.session_state[f"make {part}"]).strip() for part in ("name", "language"))
    try:
        check_corpus_name(name)
        if (state.workshop().settings.store_dir / name / "CURRENT").exists():
            raise InvalidInput(
                expected="a name that no corpus has", got=repr(name), remedy="Choose another, or open that one and update it."
            )
        spec = sources.take_source(PREFIX)
    except SittError as error:
        st.session_state[UNMADE] = told(error)
        return
    if not corpus_names(state.workshop().settings.store_dir):  # there is no other to be at: this one opens once it is there
        _open_rebuild(name)
    st.session_state[MADE] = name
    sources.hold_fields(PREFIX)
    building.start(checks.make_arguments(name, spec, language), f"Make {name}", checks.update_key(name))


def _draw_rename(corpus: Corpus) -> None:
    heading(f"Rename {corpus.name}")
    typed = st.text_input("New name", key=f"rename {corpus.identity}").strip()
    st.button("Rename", disabled=not typed, on_click=_rename, args=(corpus.name, typed))


def _rename(old: str, new: str) -> None:
    try:
        rename_corpus(state.workshop().settings, old, new)
    except SittError as error:
        st.session_state[REFUSED] = told(error)
    else:
        state.choose(corpus=new)


def _draw_delete(corpus: Corpus) -> None:
    heading(f"Delete {corpus.name}")
    typed = st.text_input(
        f"Type {corpus.name} to delete it",
        key=f"delete {corpus.identity}",
        help="All its generations, indexes and vectors go. Its sources stay, and so do your own questions about it: a corpus made again under this name finds them.",
    )
    st.button("Delete for good", disabled=typed.strip() != corpus.name, on_click=_delete, args=(corpus.name,), icon=":material/delete:")


def _delete(name: str) -> None:
    store = state.workshop().settings.store_dir
    try:
        admin.delete_corpus(store, name)
    except SittError as error:
        st.session_state[REFUSED] = told(error)
    else:
        left = corpus_names(store)
        open_corpus(left[0] if left else DEFAULT_CORPUS)

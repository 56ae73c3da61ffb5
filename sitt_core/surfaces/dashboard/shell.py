"""What stands around every page: the style sheet, the address, the sidebar."""

import importlib
from collections.abc import Sequence
from urllib.parse import urlencode

import streamlit as st

from sitt_core.errors import SittError, shown
from sitt_core.store.layout import corpus_names
from sitt_core.store.reading import Corpus
from sitt_core.surfaces.address import to_parameters
from sitt_core.surfaces.dashboard import cards, sidebar, state
from sitt_core.surfaces.dashboard.theme import Palette, palette, style_sheet

# Plotly 7.1.0 looks whether pandas stands in sys.modules, and falls over one that st.dataframe in another session's thread has half imported.
importlib.import_module("pandas")

ICON = "🌲"


def colours() -> Palette:
    """The palette of the theme that the reader's browser shows."""
    return palette(st.context.theme.type)


WITH_CONTROLS = ("Explore", "Ask", "Corpus")
"""The pages beside which the configuration stands as controls; elsewhere a line says what it is."""


def open_page(pages: Sequence[st.Page], current: st.Page) -> None:
    """Takes over the URL and draws what stands before the page's own content, the links to the other pages first."""
    st.html(style_sheet(colours()))
    state.read_url()
    state.keep_widgets()
    _draw_navigation(pages)
    corpus = _open_corpus()
    if corpus is not None:
        state.drop_unknown_filters(corpus)
    if dropped := st.session_state["dropped"]:
        st.html(cards.notice(["This link holds what cannot be used here; everything else in it counts.", *dropped], problem=True))
    st.session_state["corpus object"] = corpus
    st.session_state["costs"] = sidebar.draw_sidebar(corpus, controls=current.title in WITH_CONTROLS)


def _draw_navigation(pages: Sequence[st.Page]) -> None:
    """A link per page that carries the address: Streamlit's own menu would drop it, and the way back would end there."""
    with st.container(horizontal=True, gap="small", key="navigation"):
        for page in pages:
            st.page_link(page, query_params=to_parameters(state.address()))


def close_page() -> None:
    """Writes the URL, and the link that the sidebar offers."""
    state.write_url()
    base = (st.context.url or "").split("?")[0]
    st.session_state["link place"].code(f"{base}?{_query()}", language=None, wrap_lines=True)


def _query() -> str:
    return urlencode(to_parameters(state.address()), doseq=True)


def _open_corpus() -> Corpus | None:
    """The address's corpus; what is wrong with it is told on the page, with those that are there."""
    names = corpus_names(state.workshop().settings.store_dir)
    wanted = state.address().corpus
    if not names:
        return None
    if wanted not in names:
        st.html(cards.notice([f"There is no corpus named {shown(wanted)} here. There are: {', '.join(names)}."], problem=True))
        for name in names:
            st.button(f"Open {name}", on_click=state.choose, kwargs={"corpus": name})
        st.stop()
    try:
        return state.workshop().corpus(wanted)
    except SittError as error:
        st.html(cards.notice([str(error)], problem=True))
        st.stop()

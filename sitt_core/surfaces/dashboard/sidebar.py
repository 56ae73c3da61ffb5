"""The configuration as controls: what each one costs, and which choices still need building."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from sitt_core.configuration import BY_NAME, SIZING, Configuration, configure
from sitt_core.store.layout import corpus_names
from sitt_core.store.reading import Corpus
from sitt_core.surfaces.dashboard import cards, state
from sitt_core.surfaces.dashboard.state import widget
from sitt_core.surfaces.dashboard.theme import LOGO
from sitt_core.types import Filters

BRAND = f'<div class="sl-brand">{LOGO}<div><b>SITT Lab</b><span>Something in the Trees</span></div></div>'


def draw_sidebar(corpus: Corpus | None) -> dict[str, DeltaGenerator]:
    """Draws the controls; returns the places where their costs are written once a result is there."""
    costs: dict[str, DeltaGenerator] = {}
    with st.sidebar:
        st.html(BRAND)
        if corpus is not None:
            _corpus_and_filters(corpus)
        _chunking(corpus, costs)
        _retrieval(costs)
        _more()
        if refused := st.session_state.get("refused"):
            st.html(cards.notice([refused], problem=True))
        left, right = st.columns(2)
        left.button("Reset", on_click=state.reset, width="stretch", help="Back to the default configuration.")
        with right.popover("Link", width="stretch", help="A link that reproduces this page."):
            st.html('<div class="sl-small">This address holds the whole configuration, the corpus, the filters and the question.</div>')
            st.session_state["link place"] = st.empty()
    return costs


def _corpus_and_filters(corpus: Corpus) -> None:
    names = corpus_names(state.workshop().settings.store_dir)
    if len(names) > 1:
        st.selectbox(
            "Corpus",
            names,
            key=widget("corpus"),
            on_change=lambda: state.choose(corpus=st.session_state[widget("corpus")], filters=Filters()),
        )
    for name, label in (("category", "Category"), ("region", "Region")):
        values = corpus.values(name)
        if values:
            st.multiselect(
                label,
                list(values),
                key=widget(name),
                format_func=partial(_counted, values),
                placeholder="all",
                on_change=_filter,
                args=(name,),
            )


def _counted(values: Mapping[str, int], value: str) -> str:
    return f"{value} ({values.get(value, 0)})"


def _filter(name: str) -> None:
    state.choose(filters=replace(state.address().filters, **{name: tuple(st.session_state[widget(name)])}))


def _flip(name: str) -> None:
    """A widget's new value; a segment that was clicked away stays as it was."""
    value = st.session_state[widget(name)]
    state.flip(name, state.configuration()[name] if value is None else value)


def _flip_toggle(name: str, key: str, on: str) -> None:
    state.flip(name, on if st.session_state[widget(key)] else "off")


def unbuilt(corpus: Corpus | None, now: Configuration) -> list[str]:
    """The chunking strategies whose index, all else as it is, has not been built."""
    choices = {name: now if name == now.chunking_strategy else configure({"chunking.strategy": name}, now) for name in SIZING}
    return [name for name, choice in choices.items() if corpus is None or not corpus.has_index(choice.index_key)]


def _chunking(corpus: Corpus | None, costs: dict[str, DeltaGenerator]) -> None:
    now = state.configuration()
    # The labels stay the same when an index gets built: Streamlit loses the selection of a radio whose labels change.
    st.radio(
        "Chunking",
        list(SIZING),
        key=widget("chunking.strategy"),
        on_change=_flip,
        args=("chunking.strategy",),
        help="Where documents are cut: by heading and paragraph, at sentence ends, or into windows of tokens.",
    )
    missing = unbuilt(corpus, now)
    st.html(f'<div class="sl-cost">{"needs building: " + ", ".join(missing) if missing else "all built: a flip shows at once"}</div>')
    sizing = SIZING[now.chunking_strategy]
    left, right = st.columns(2)
    for column, name, unit in ((left, "chunking.size", sizing.size_unit), (right, "chunking.overlap", sizing.overlap_unit)):
        field = BY_NAME[name]
        column.number_input(
            f"{field.label}, {unit}", field.least, field.most, key=widget(name), on_change=_flip, args=(name,), help=field.help, step=1
        )
    st.toggle(
        "Title and headings before each chunk",
        key=widget("header.on"),
        on_change=_flip_toggle,
        args=("chunking.header", "header.on", "on"),
        help=BY_NAME["chunking.header"].help,
    )
    costs["chunking"] = st.empty()


def _retrieval(costs: dict[str, DeltaGenerator]) -> None:
    st.toggle(
        "Dense: minilm vectors",
        key=widget("dense.on"),
        on_change=_flip_toggle,
        args=("dense", "dense.on", "exact"),
        help=BY_NAME["dense"].help,
    )
    costs["dense"] = st.empty()
    field = BY_NAME["keyword"]
    st.segmented_control(
        "Keyword: BM25",
        field.choices,
        key=widget("keyword"),
        on_change=_flip,
        args=("keyword",),
        help=field.help,
        width="stretch",
        wrap=False,
    )
    costs["keyword"] = st.empty()
    most = min(BY_NAME["top_k"].most, state.configuration().fusion_candidates)
    st.slider("Top K", 1, max(2, most), key=widget("top_k"), on_change=_flip, args=("top_k",), help=BY_NAME["top_k"].help)
    costs["top_k"] = st.empty()


def _more() -> None:
    with st.expander("Fusion and long texts"):
        for name in ("fusion.k", "fusion.candidates"):
            field = BY_NAME[name]
            st.number_input(field.label, field.least, field.most, key=widget(name), on_change=_flip, args=(name,), help=field.help, step=1)
        field = BY_NAME["overlong"]
        st.segmented_control(
            field.label, field.choices, key=widget("overlong"), on_change=_flip, args=("overlong",), help=field.help, width="stretch"
        )

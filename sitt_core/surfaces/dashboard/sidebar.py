"""The configuration as controls: what each one costs, and which choices still need building."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from html import escape

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from sitt_core.configuration import BY_NAME, MODELS, PROVIDER_KEYS, SIZING, UNSIZED, Configuration, applies, configure
from sitt_core.store.layout import corpus_names
from sitt_core.store.reading import Corpus
from sitt_core.surfaces.address import Address
from sitt_core.surfaces.dashboard import cards, presets, state
from sitt_core.surfaces.dashboard.plain import plain_label
from sitt_core.surfaces.dashboard.state import widget
from sitt_core.surfaces.dashboard.theme import LOGO
from sitt_core.surfaces.history import difference, redone, undone
from sitt_core.types import Filters

BRAND = f'<div class="sl-brand">{LOGO}<div><b>SITT Lab</b><span>Something in the Trees</span></div></div>'


def draw_sidebar(corpus: Corpus | None, *, controls: bool) -> dict[str, DeltaGenerator]:
    """Draws the controls, or a line that says what they are set to; returns the places where their costs are written once a result is there."""
    costs: dict[str, DeltaGenerator] = {}
    with st.sidebar:
        st.html(BRAND)
        _steps()
        # Up here, where there is room below: a popover that opens at the sidebar's lower end leaves the window.
        with st.container(horizontal=True, gap="small", wrap=False):
            presets.draw_presets()
            with st.popover("Link", width="stretch", help="A link that reproduces this page."):
                st.html('<div class="sl-small">This address holds the whole configuration, the corpus, the filters and the question.</div>')
                st.session_state["link place"] = st.empty()
        if not controls:
            st.html(chip(state.address()))
            return costs
        if corpus is not None:
            _corpus_and_filters(corpus)
        _chunking(corpus, costs)
        _embedder(corpus)
        _retrieval(corpus, costs)
        _answers()
        _more()
        if refused := st.session_state.get("refused"):
            st.html(cards.notice([refused], problem=True))
    return costs


def chip(now: Address) -> str:
    """The corpus and the configuration on one line, for pages that do not change them."""
    return (
        f'<div class="sl-small">Explore and Ask use <b>{escape(now.configuration.slug)}</b> on {escape(now.corpus)}; '
        "their sidebars change it.</div>"
    )


def _steps() -> None:
    """Undo, redo and reset, each saying what it would change."""
    now, history = state.address(), state.history()
    with st.container(horizontal=True, gap="small", wrap=False):
        for label, step, there in (("Undo", undone, history.past[-1:]), ("Redo", redone, history.future[:1])):
            change = f"{label}: {plain_label(difference(now, there[0]))}" if there else f"Nothing to {label.lower()}."
            st.button(label, on_click=state.step, args=(step,), disabled=not there, width="stretch", help=change, key=label.lower())
        st.button("Reset", on_click=state.reset, width="stretch", help="Back to the default configuration.")


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
    state.flip(name, state.configuration()[name] if value is None else value.strip() if isinstance(value, str) else value)


def _flip_toggle(name: str, key: str, on: str) -> None:
    state.flip(name, on if st.session_state[widget(key)] else "off")


def unbuilt(corpus: Corpus | None, now: Configuration, name: str, values: Sequence[str]) -> list[str]:
    """The values of a field whose index, all else as it is, has not been built."""
    choices = {value: now if value == now[name] else configure({name: value}, now) for value in values}
    return [value for value, choice in choices.items() if corpus is None or not corpus.has_index_for(choice)]


def _unbuilt_line(corpus: Corpus | None, name: str, values: Sequence[str]) -> None:
    missing = unbuilt(corpus, state.configuration(), name, values)
    line = "needs building: " + ", ".join(map(escape, missing)) if missing else "all built: a flip shows at once"
    st.html(f'<div class="sl-cost">{line}</div>')


def _number(name: str, place: DeltaGenerator | None = None) -> None:
    """A whole number's control, greyed while nothing depends on it."""
    field = BY_NAME[name]
    (place or st).number_input(
        field.label,
        field.least,
        field.most,
        key=widget(name),
        on_change=_flip,
        args=(name,),
        help=_help(name),
        step=1,
        disabled=not applies(name, state.configuration()),
    )


def _segments(name: str, label: str = "") -> None:
    """A few choices side by side, of which one is always taken."""
    field = BY_NAME[name]
    st.segmented_control(
        label or field.label,
        field.choices,
        key=widget(name),
        on_change=_flip,
        args=(name,),
        help=_help(name),
        width="stretch",
        wrap=False,
        required=True,
    )


NEEDS = {
    "hnsw.": "dense is hnsw",
    "fusion.alpha": "both retrievers are on and fusion is convex",
    "fusion.k": "both retrievers are on and fusion is rrf",
}


def _help(name: str) -> str:
    """A field's help, with what it takes for the field to matter."""
    needed = next((condition for prefix, condition in NEEDS.items() if name.startswith(prefix)), "")
    return f"{BY_NAME[name].help} Counts only while {needed}." if needed else BY_NAME[name].help


def _models(name: str, current: str) -> list[str]:
    """The choices of an embedder's control: those at hand, then the current one where it is another."""
    return list(dict.fromkeys([*BY_NAME[name].choices, current]))


def _chunking(corpus: Corpus | None, costs: dict[str, DeltaGenerator]) -> None:
    now = state.configuration()
    # The labels stay the same when an index gets built: Streamlit loses the selection of a radio whose labels change.
    st.radio(
        "Chunking",
        list(SIZING),
        key=widget("chunking.strategy"),
        on_change=_flip,
        args=("chunking.strategy",),
        help="Where documents are cut: by heading and paragraph, at sentence ends, into windows of tokens, where the subject changes, or nowhere.",
    )
    _unbuilt_line(corpus, "chunking.strategy", list(SIZING))
    if now.chunking_strategy == "semantic":
        _semantic(now)
    sizing = SIZING[now.chunking_strategy]
    left, right = st.columns(2, vertical_alignment="bottom")
    for column, name, unit in ((left, "chunking.size", sizing.size_unit), (right, "chunking.overlap", sizing.overlap_unit)):
        field = BY_NAME[name]
        column.number_input(
            f"{field.label}, {unit}",
            field.least,
            field.most,
            key=widget(name),
            on_change=_flip,
            args=(name,),
            help=field.help,
            step=1,
            disabled=now.chunking_strategy in UNSIZED,
        )
    st.toggle(
        "Title and headings before each chunk",
        key=widget("header.on"),
        on_change=_flip_toggle,
        args=("chunking.header", "header.on", "on"),
        help=BY_NAME["chunking.header"].help,
    )
    costs["chunking"] = st.empty()


def _semantic(now: Configuration) -> None:
    """What decides where `semantic` cuts."""
    left, right = st.columns(2, vertical_alignment="bottom")
    _number("chunking.breakpoint", left)
    right.selectbox(
        BY_NAME["chunking.embedder"].label,
        _models("chunking.embedder", now.chunking_embedder),
        key=widget("chunking.embedder"),
        on_change=_flip,
        args=("chunking.embedder",),
        help=BY_NAME["chunking.embedder"].help,
    )


def _embedder(corpus: Corpus | None) -> None:
    """The models at hand, and any other by its name."""
    now = state.configuration()
    models = _models("embedder", now.embedder)
    st.selectbox(
        "Embedder",
        models,
        key=widget("embedder"),
        on_change=_flip,
        args=("embedder",),
        help=f"{BY_NAME['embedder'].help} Type st: and its name here.",
        accept_new_options=True,
    )
    _unbuilt_line(corpus, "embedder", models)


def _retrieval(corpus: Corpus | None, costs: dict[str, DeltaGenerator]) -> None:
    _segments("dense", "Dense: vectors")
    if unbuilt(corpus, state.configuration(), "dense", ("hnsw",)):
        st.html('<div class="sl-cost">hnsw needs building</div>')
    costs["dense"] = st.empty()
    _segments("keyword", "Keyword: BM25")
    costs["keyword"] = st.empty()
    most = min(BY_NAME["top_k"].most, state.configuration().fusion_candidates)
    st.slider("Top K", 1, max(2, most), key=widget("top_k"), on_change=_flip, args=("top_k",), help=BY_NAME["top_k"].help)
    costs["top_k"] = st.empty()


def _answers() -> None:
    """Who writes the answers of Ask, and with which model."""
    field, model = BY_NAME["answer.provider"], BY_NAME["answer.model"]
    st.selectbox(
        field.label, list(MODELS), key=widget(field.name), on_change=_flip, args=(field.name,), help=field.help, format_func=_provider_label
    )
    if applies(model.name, state.configuration()):
        st.text_input(model.label, key=widget(model.name), on_change=_flip, args=(model.name,), help=model.help)


def _provider_label(provider: str) -> str:
    """A provider with the key that it needs and has not got."""
    key = PROVIDER_KEYS.get(provider)
    return provider if key is None or key in state.workshop().settings.keys_present else f"{provider} (needs {key})"


def _more() -> None:
    with st.expander("Fusion, stop words, HNSW and long texts"):
        _segments("keyword.stopwords")
        _segments("fusion")
        alpha = BY_NAME["fusion.alpha"]
        st.slider(
            alpha.label,
            float(alpha.least),
            float(alpha.most),
            step=0.05,
            key=widget("fusion.alpha"),
            on_change=_flip,
            args=("fusion.alpha",),
            help=_help("fusion.alpha"),
            disabled=not applies("fusion.alpha", state.configuration()),
        )
        for name in ("fusion.k", "fusion.candidates", "hnsw.ef_search", "hnsw.m", "hnsw.ef_construction"):
            _number(name)
        _segments("overlong")

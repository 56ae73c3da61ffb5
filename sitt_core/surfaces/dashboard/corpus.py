"""The Corpus page's view of what is there: contents, chunks side by side, lengths, the map."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import streamlit as st

from sitt_core import anatomy
from sitt_core.anatomy import Cutting, Projection
from sitt_core.build import language_of
from sitt_core.chunking.chunks import VERSION
from sitt_core.configuration import BY_NAME, SIZING, UNSIZED, Configuration, applies, configure
from sitt_core.errors import IndexMissing, InvalidInput, NotFound, SittError, StoreError
from sitt_core.ingest import Recipe, text_fingerprint
from sitt_core.retrieval.words import words_language
from sitt_core.store.reading import Corpus, DocumentInfo
from sitt_core.surfaces.dashboard import building, cards, chunk_view, corpus_figures, state
from sitt_core.surfaces.dashboard.explore import PLOT_CONFIG, draw_data
from sitt_core.surfaces.dashboard.theme import Palette
from sitt_core.surfaces.dashboard.told import told
from sitt_core.types import Document, Matrix, Span

SECTION = "corpus section"
"""The session's key of the open section, by its label."""
CHUNKS = "Chunks"
CHOSEN = "corpus document"
"""The session's key of the chosen document's id."""
SIDES = ("left", "right")
MAP_POINTS = 2000
"""More marks than this make a browser slow; the plane is computed from all chunks."""
SAMPLED, SAMPLED_SEMANTIC = 400, 24
"""How many documents are cut for the histogram, at most: few where cutting means embedding every sentence."""


def _identity(corpus: Corpus) -> str:
    return corpus.identity


def _chunking(configuration: Configuration) -> tuple[str, str]:
    return configuration.chunking_key, configuration.embedder


def _index(configuration: Configuration) -> str:
    return configuration.index_key


def draw_contents(corpus: Corpus, colours: Palette) -> None:
    """Every document as a table that can be filtered; the chosen one opens below."""
    del colours
    counts = chunk_counts(corpus, state.configuration())
    wanted = st.text_input("Filter", placeholder="title, category, region, source …", key="contents filter", icon=":material/filter_list:")
    shown = [document for document in corpus.documents if matches(document, wanted)]
    chunks = "" if counts is None else f", {sum(counts.values()):,} chunks in the current index"
    sizes = f"{sum(document.characters for document in shown):,} characters"
    st.html(f'<div class="sl-small">{len(shown):,} of {len(corpus.documents):,} documents, {sizes}{chunks}. Tick a row to open it.</div>')
    rows = [content_row(document, counts) for document in shown]
    if rows:
        st.dataframe(
            rows,
            hide_index=True,
            height=min(420, 38 + 35 * len(rows)),
            key=f"contents {corpus.identity} {wanted}",
            on_select=lambda: _take_row(f"contents {corpus.identity} {wanted}", shown),
            selection_mode="single-row",
            alt="The documents of the corpus",
        )
    if st.session_state.get(CHOSEN):
        draw_document(corpus)


def matches(document: DocumentInfo, wanted: str) -> bool:
    """Whether every word of the filter is somewhere in what the table says of a document."""
    held = (
        document.id,
        document.title,
        document.category,
        document.region,
        document.source.title,
        document.origin,
        document.source.license,
    )
    return all(word in " ".join(held).casefold() for word in wanted.casefold().split())


def content_row(document: DocumentInfo, counts: Mapping[str, int] | None) -> dict[str, Any]:
    """A document's line in the table; without an index its chunks are unknown."""
    return {
        "title": document.title,
        "category": document.category,
        "region": document.region,
        **({} if counts is None else {"chunks": counts.get(document.id, 0)}),
        "characters": document.characters,
        "licence": cards.license_words(document.source),
        "source": document.source.title,
        "revision": document.revision or document.sha256[:10],
        "fetched": document.fetched_at[:16].replace("T", " "),
        "id": document.id,
    }


def chunk_counts(corpus: Corpus, configuration: Configuration) -> dict[str, int] | None:
    """How many chunks each document has in the configuration's index, by id; None when there is no such index to be read."""
    words = words_language(language_of(corpus), configuration.keyword_stopwords)
    try:
        index = corpus.index(configuration.index_key, fingerprint=text_fingerprint(str(VERSION), words))
    except (IndexMissing, StoreError):
        return None
    counted = np.bincount(index.document_at, minlength=len(corpus.documents)).tolist()
    return {document.id: count for document, count in zip(corpus.documents, counted, strict=True)}


def _take_row(key: str, shown: list[DocumentInfo]) -> None:
    rows = st.session_state[key].selection.rows
    st.session_state[CHOSEN] = shown[rows[0]].id if rows else ""


def draw_document(corpus: Corpus) -> None:
    """The chosen document: where it is from, and its text; nothing when it is not in this generation."""
    try:
        document = corpus.document(st.session_state[CHOSEN])
    except NotFound:
        return
    st.html(document_html(document))
    st.button("See its chunks", on_click=_open_chunks, icon=":material/content_cut:", key="see chunks")


def _open_chunks() -> None:
    st.session_state[SECTION] = CHUNKS


def document_html(document: Document) -> str:
    """A document with its attribution, as a card; the text scrolls in it."""
    facts = [document.category, document.region, ", ".join(document.countries)]
    named = f'<div class="sl-path" dir="auto">also {escape(", ".join(document.aliases))}</div>' if document.aliases else ""
    known = f"revision {escape(document.revision)}" if document.revision else f"SHA-256 {escape(document.sha256[:10])}"
    origin = [
        cards.source_html(document.source, document),
        f"from {escape(document.origin)}",
        *([] if cards.is_address(document.revision) else [known]),
    ]
    return (
        f'<article class="sl-card" data-document="{escape(document.id)}"><h2 dir="auto">{escape(document.title)}</h2>{named}'
        f'<div class="sl-path" dir="auto">{escape(" · ".join(fact for fact in facts if fact))}</div>'
        f'<div class="sl-small">{" · ".join(origin)}</div>'
        f'<div class="sl-doc" tabindex="0" role="region" aria-label="Text of the document">'
        f'<div class="sl-text" dir="auto">{escape(document.text[: chunk_view.PART])}</div></div></article>'
    )


def draw_chunks(corpus: Corpus, colours: Palette) -> None:
    """One document cut by two strategies, beside each other; nothing is stored."""
    del colours
    document = _choose_document(corpus)
    part = _choose_part(document)
    take_sidebar()
    st.html(chunk_view.LEGEND)
    columns = st.columns(2, gap="medium")
    made: list[Cutting | None] = []
    for side, column in zip(SIDES, columns, strict=True):
        with column:
            draw_side(side)
            made.append(_try_cutting(corpus, document, side_configuration(side)))
    ends = [anatomy.cuts(cutting.chunks) if cutting else None for cutting in made]
    for side, column, cutting, others in zip(SIDES, columns, made, reversed(ends), strict=True):
        if cutting is not None:
            with column:
                _draw_cutting(side, document, cutting, others=others, part=part)


def _choose_document(corpus: Corpus) -> Document:
    titles = {document.id: document.title for document in corpus.documents}
    if st.session_state.get(CHOSEN) not in titles:
        st.session_state[CHOSEN] = next(iter(titles))
    st.session_state["chunks document"] = st.session_state[CHOSEN]
    st.selectbox(
        "Document",
        list(titles),
        key="chunks document",
        format_func=lambda id_: f"{titles.get(id_, '')} · {id_}",
        on_change=lambda: st.session_state.update({CHOSEN: st.session_state["chunks document"]}),
    )
    return corpus.document(st.session_state[CHOSEN])


def _choose_part(document: Document) -> Span:
    parts = anatomy.parts(document.text, chunk_view.PART)
    if len(parts) == 1:
        return parts[0]
    chosen = st.number_input(f"Part of {len(parts)}", 1, len(parts), key=f"part {document.id}", help="The text is too long for one view.")
    return parts[chosen - 1]


def take_sidebar() -> None:
    """Gives the left side the sidebar's chunking whenever that has changed, and the right side another strategy to begin with."""
    now = state.configuration()
    if st.session_state.get("cut from") != now.chunking_key:
        st.session_state["cut from"] = now.chunking_key
        st.session_state["cut left"] = now
        if "cut right" not in st.session_state:
            other = "fixed" if now.chunking_strategy == "structural" else "structural"
            st.session_state["cut right"] = configure({"chunking.strategy": other}, now)


def side_configuration(side: str) -> Configuration:
    """A side's chunking with the sidebar's embedder."""
    held: Configuration = st.session_state[f"cut {side}"]
    return configure({"embedder": state.configuration().embedder}, held)


def draw_side(side: str) -> None:
    """The controls of one side: strategy, size, overlap, and what else the strategy takes."""
    now: Configuration = st.session_state[f"cut {side}"]
    sizing = SIZING[now.chunking_strategy]
    _widget(side, "chunking.strategy")
    st.selectbox(f"Chunking, {side}", list(SIZING), key=f"cut {side} chunking.strategy", on_change=_cut, args=(side, "chunking.strategy"))
    fields = [("chunking.size", sizing.size_unit), ("chunking.overlap", sizing.overlap_unit)]
    if applies("chunking.breakpoint", now):
        fields.append(("chunking.breakpoint", "percentile"))
    for column, (name, unit) in zip(st.columns(len(fields)), fields, strict=True):
        field = BY_NAME[name]
        _widget(side, name)
        column.number_input(
            f"{field.label}, {unit}",
            field.least,
            field.most,
            key=f"cut {side} {name}",
            on_change=_cut,
            args=(side, name),
            help=field.help,
            disabled=now.chunking_strategy in UNSIZED and name != "chunking.breakpoint",
        )
    if refused := st.session_state.pop(f"cut {side} refused", None):
        st.warning(refused)


def _widget(side: str, name: str) -> None:
    st.session_state[f"cut {side} {name}"] = st.session_state[f"cut {side}"][name]


def _cut(side: str, name: str) -> None:
    try:
        st.session_state[f"cut {side}"] = configure({name: st.session_state[f"cut {side} {name}"]}, st.session_state[f"cut {side}"])
    except InvalidInput as error:
        st.session_state[f"cut {side} refused"] = told(error)


def _recipe(corpus: Corpus, configuration: Configuration) -> Recipe:
    return state.workshop().recipe(configuration, language=language_of(corpus))


def _try_cutting(corpus: Corpus, document: Document, configuration: Configuration) -> Cutting | None:
    try:
        return cutting_of(corpus, document.id, configuration)
    except SittError as error:
        st.error(told(error))
        return None


@st.cache_data(show_spinner="Cutting …", max_entries=128, ttl=1800, hash_funcs={Corpus: _identity, Configuration: _chunking})
def cutting_of(corpus: Corpus, document_id: str, configuration: Configuration) -> Cutting:
    """A document as the real chunker cuts it; raises ModelError or NotFound."""
    recipe = _recipe(corpus, configuration)
    return anatomy.cut_up(corpus.document(document_id), recipe.chunk, recipe.embedder)


def _draw_cutting(side: str, document: Document, cutting: Cutting, *, others: Collection[int] | None, part: Span) -> None:
    configuration = side_configuration(side)
    alone = None if others is None else len(anatomy.cuts(cutting.chunks) - set(others))
    summary = anatomy.summarise(cutting)
    st.html(chunk_view.summary_html(summary, limit=cutting.limit, embedder=configuration.embedder, alone=alone))
    st.button(
        "Use this chunking",
        key=f"use {side}",
        on_click=_use,
        args=(side,),
        disabled=configuration.chunking_key == state.configuration().chunking_key,
        help="Sets the sidebar to it, whose chunking the left side follows.",
    )
    st.html(chunk_view.chunks_html(document, cutting, others=others, part=part))
    if cutting.chunks:
        draw_data(chunk_view.chunk_rows(cutting), f"chunks-{side}")


def _use(side: str) -> None:
    chosen = side_configuration(side)
    changes = {name: chosen[name] for name in BY_NAME if name.startswith("chunking.")}
    state.choose(configuration=configure(changes, state.configuration()))


def draw_lengths(corpus: Corpus, colours: Palette) -> None:
    """How long the chunks of two strategies are in the embedder's own tokens, and which of them it cannot read at once."""
    take_sidebar()
    columns = st.columns(2, gap="medium")
    for side, column in zip(SIDES, columns, strict=True):
        with column:
            draw_side(side)
    try:
        measured = {side: lengths_of(corpus, side_configuration(side)) for side in SIDES}
    except SittError as error:
        st.error(told(error))
        return
    reach = max((length for each in measured.values() for length in each.lengths), default=1)
    for side, column in zip(SIDES, columns, strict=True):
        with column:
            _draw_histogram(side, measured[side], colours, reach=max(reach, measured[side].limit))


@dataclass(frozen=True, slots=True)
class Lengths:
    """The lengths of the chunks of `documents` out of `all_documents`, in the embedder's tokens, of which it reads `limit` at once."""

    lengths: tuple[int, ...]
    limit: int
    documents: int
    all_documents: int


@st.cache_data(show_spinner="Cutting the corpus …", max_entries=32, ttl=1800, hash_funcs={Corpus: _identity, Configuration: _chunking})
def lengths_of(corpus: Corpus, configuration: Configuration) -> Lengths:
    """The lengths of the chunks that a configuration makes of the corpus, of a sample where it is large; raises ModelError."""
    recipe = _recipe(corpus, configuration)
    most = SAMPLED_SEMANTIC if configuration.chunking_strategy == "semantic" else SAMPLED
    sampled = [corpus.document(each.id) for each in anatomy.spread(corpus.documents, most)]
    lengths = anatomy.token_lengths(sampled, recipe.chunk, recipe.embedder)
    return Lengths(lengths, recipe.embedder.limit, len(sampled), len(corpus.documents))


def _draw_histogram(side: str, measured: Lengths, colours: Palette, *, reach: int) -> None:
    configuration = side_configuration(side)
    over = sum(length > measured.limit for length in measured.lengths)
    sampled = "" if measured.documents == measured.all_documents else f" of {measured.documents:,} of {measured.all_documents:,} documents"
    means = "embedded in windows" if configuration.overlong == "windows" else "cut when embedded"
    sentence = f"{over:,} longer than the limit: {means}" if over else "none longer than the limit"
    st.html(f'<div class="sl-small">{len(measured.lengths):,} chunks{sampled}; <b>{sentence}</b></div>')
    bins = anatomy.histogram(measured.lengths, limit=measured.limit, width=anatomy.bin_width(reach))
    if bins:
        figure = corpus_figures.length_histogram(bins, colours, limit=measured.limit, reach=reach, name=configuration.embedder)
        name = f"lengths-{side}"
        st.plotly_chart(figure, theme=None, config=PLOT_CONFIG, key=name, alt=f"Chunks by length, {side}: {sentence}")
        draw_data(corpus_figures.length_rows(bins), name)


@dataclass(frozen=True, slots=True)
class Map:
    """The marks of the map, the plane they lie in, and how many chunks that was computed from."""

    rows: list[dict[str, Any]]
    plane: Projection
    chunks: int


def draw_map(corpus: Corpus, colours: Palette) -> None:
    """Every chunk of the current index in two dimensions; a click opens its document."""
    configuration = state.configuration()
    if not corpus.has_index(configuration.index_key):
        building.offer_index(corpus, configuration)
        return
    try:
        made = map_of(corpus, configuration)
        question = state.address().question.strip()
        vector = question_vector(corpus, configuration, question) if question else None
    except SittError as error:
        st.error(told(error))
        return
    shown = f"{len(made.rows):,} of {made.chunks:,}" if len(made.rows) < made.chunks else f"{made.chunks:,}"
    kept = sum(made.plane.explained)
    st.html(
        f'<div class="sl-small">{shown} chunks of {escape(configuration.slug)}. The plane of the two principal components keeps {kept:.0%} of '
        "the variance: what lies apart here is apart, what lies together need not be. Click a mark to open its document.</div>"
    )
    star = None if vector is None else tuple(made.plane.place(vector)[0].tolist())
    figure = corpus_figures.embedding_map(
        made.rows, colours, explained=made.plane.explained, document=st.session_state.get(CHOSEN, ""), question=star
    )
    st.plotly_chart(
        figure,
        theme=None,
        config=PLOT_CONFIG,
        key="map",
        on_select=_take_point,
        selection_mode="points",
        alt="Chunks in the plane of the first two principal components of their vectors, by category",
    )
    draw_data(made.rows, "map")
    if st.session_state.get(CHOSEN):
        draw_document(corpus)


@st.cache_resource(show_spinner="Drawing the map …", max_entries=8, ttl=1800, hash_funcs={Corpus: _identity, Configuration: _index})
def map_of(corpus: Corpus, configuration: Configuration) -> Map:
    """The map of a configuration's index; raises IndexMissing, FingerprintError, StoreError or ModelError."""
    index = corpus.index(configuration.index_key, fingerprint=_recipe(corpus, configuration).fingerprint)
    plane = anatomy.project(index.vectors)
    positions = anatomy.spread(range(len(index.chunk_ids)), MAP_POINTS)
    known = {document.id: document for document in corpus.documents}
    told_of = [
        {
            "document": chunk.document_id,
            "title": known[chunk.document_id].title,
            "heading": " › ".join(chunk.heading_path[-1:]),
            "category": known[chunk.document_id].category,
        }
        for chunk in index.chunks(positions)
    ]
    return Map(corpus_figures.map_rows(plane.points[positions], told_of), plane, len(index.chunk_ids))


@st.cache_data(show_spinner=False, max_entries=64, ttl=1800, hash_funcs={Corpus: _identity, Configuration: _index})
def question_vector(corpus: Corpus, configuration: Configuration, question: str) -> Matrix:
    """The question's vector, shape (1, dimension); raises ModelError."""
    return _recipe(corpus, configuration).embedder.embed_queries([question])


def _take_point() -> None:
    points = st.session_state["map"].selection.points
    if points and points[0].get("customdata"):
        st.session_state[CHOSEN] = points[0]["customdata"][0]

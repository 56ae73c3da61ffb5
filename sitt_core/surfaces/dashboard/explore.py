"""The parts of the Explore page: examples, cards, what each retriever brought, figures, costs."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from sitt_core.configuration import SIZING, UNSIZED
from sitt_core.pipeline import Engine
from sitt_core.retrieval.compare import Comparison
from sitt_core.retrieval.contributions import contributions
from sitt_core.retrieval.weights import asked_as, word_weights
from sitt_core.retrieval.words import tokenize
from sitt_core.surfaces.dashboard import cards, figures, pin, quoting, state
from sitt_core.surfaces.dashboard.theme import Palette
from sitt_core.types import Retrieval

PLOT_CONFIG = {"displayModeBar": False, "responsive": True}


def draw_question() -> None:
    """The box that the question is typed into."""
    st.text_input(
        "Question",
        key=state.widget("question"),
        placeholder="Ask the corpus …",
        on_change=lambda: state.ask(st.session_state[state.widget("question")]),
        label_visibility="collapsed",
        icon=":material/search:",
    )


def draw_examples(examples: Sequence[tuple[str, str]]) -> None:
    """Questions to click on, in one row that wraps; on a phone it scrolls, so that the result is in sight."""
    with st.container(horizontal=True, gap="small", key="examples"):
        for at, (example, shows) in enumerate(examples):
            st.button(example, key=f"example {at}", on_click=state.ask, args=(example,), help=shows)


def draw_costs(result: Retrieval, engine: Engine, places: Mapping[str, DeltaGenerator]) -> None:
    """Beside each control what it cost in this result."""
    lines = cost_lines(result, engine)
    for name, place in places.items():
        place.html(f'<div class="sl-cost">{lines.get(name, "off")}</div>')  # a line for each, so that no control moves


def cost_lines(result: Retrieval, engine: Engine) -> dict[str, str]:
    """What each part of the configuration cost in a result, in words."""
    times = {stage.name: stage.milliseconds for stage in result.trace.stages}
    lines = {}
    if "dense" in times:
        lines["dense"] = f"{times['embed']:.1f} ms to embed, {times['dense']:.1f} ms to rank"
        stage = result.trace.stage("dense")
        if stage and engine.configuration.dense == "hnsw":
            lines["dense"] += f"; {escape(stage.note)}"  # that the graph answered, or why it did not
    if "keyword" in times:
        lines["keyword"] = f"{times['keyword']:.1f} ms"
    sizing = SIZING[engine.configuration.chunking_strategy]
    windowed = int(engine.index.meta["windowed"])
    unsized = engine.configuration.chunking_strategy in UNSIZED
    most = "" if unsized else f" of at most {engine.configuration.chunking_size:,} {sizing.size_unit}"
    lines["chunking"] = f"{len(engine.index.chunk_ids):,} chunks{most}" + (
        f"; {windowed:,} longer than {escape(engine.configuration.embedder)} reads at once" if windowed else ""
    )
    tokens = sum(passage.chunk.tokens for passage in result.passages)
    lines["top_k"] = f"{tokens:,} tokens in {len(result.passages)} passages"
    return lines


def draw_result(result: Retrieval, engine: Engine, colours: Palette) -> None:
    """Cards on the left, what led to them on the right."""
    configuration = engine.configuration
    titles = chunk_titles(result, engine)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.html(
            f'<div class="sl-small">{escape(configuration.slug)} · {len(result.passages)} passages in {result.trace.milliseconds:.0f} ms</div>',
            width="content",
        )
        pin.draw_pin(result, engine)
        quoting.draw_open(result)
    comparison = pin.draw_comparison(result, engine)
    for notice in result.trace.notices:
        st.html(cards.notice([notice]))
    found = contributions(result, configuration.top_k)
    if found:
        st.html(cards.contribution_html(found, result, titles))
    left, right = st.columns([3, 2], gap="large")
    with left:
        _draw_cards(result, engine, comparison)
    with right:
        _draw_figures(result, titles, colours, top_k=configuration.top_k)
    quoting.draw_quoting(result, engine, colours)


def chunk_titles(result: Retrieval, engine: Engine) -> dict[str, str]:
    """Title › last heading of every chunk that any stage ranked near the top, by chunk id."""
    depth = max(figures.FLOW_DEPTH, engine.configuration.top_k)
    wanted = dict.fromkeys(hit.chunk_id for stage in result.trace.stages for hit in stage.hits[:depth])
    chunks = engine.index.chunks([engine.index.position[chunk_id] for chunk_id in wanted])
    names = {document.id: document.title for document in engine.corpus.documents}
    return {chunk.id: _named(names[chunk.document_id], chunk.heading_path) for chunk in chunks}


def _named(title: str, heading_path: Sequence[str]) -> str:
    return " › ".join([title, *cards.headings(title, heading_path)[-1:]])


def offer_retrievers() -> None:
    """What is shown while both retrievers are off: why there is no result, and a button for either."""
    st.html(cards.notice(["Both retrievers are off, so nothing ranks the passages. Turn on dense or keyword."]))
    with st.container(horizontal=True, gap="small"):
        for label, name, value in (("Turn on dense", "dense", "exact"), ("Turn on keyword", "keyword", "bm25s")):
            st.button(label, on_click=state.flip, args=(name, value))


def _draw_cards(result: Retrieval, engine: Engine, comparison: Comparison | None) -> None:
    words = tokenize(result.question, engine.language)
    best, depths = cards.stage_tops(result.trace.stages)
    badges = {change.passage.rank: pin.badge_html(change) for change in comparison.changes} if comparison else {}
    whys = _whys(result, engine, words)
    shown = {id_ for passage in result.passages for id_ in passage.document_ids}
    about = {document.id: document for document in engine.corpus.documents if document.id in shown}
    for passage in result.passages:
        card = cards.passage_card(
            passage,
            words=words,
            language=engine.language,
            best=best,
            depths=depths,
            fusion=engine.configuration.fusion,
            badge=badges.get(passage.rank, ""),
            why=whys.get(passage.rank, ""),
            about=about,
        )
        st.html(card)


def _whys(result: Retrieval, engine: Engine, words: Sequence[str]) -> dict[int, str]:
    """For each rank which words brought the passage there; nothing while keyword is off or the question has no words."""
    if engine.scorer is None or not words:
        return {}
    index = engine.index
    positions = [index.position[passage.chunk.id] for passage in result.passages]
    written = asked_as(result.question, engine.language)
    nowhere = [word for word in words if word not in index.postings.terms]
    found = word_weights(words, index.postings, engine.scorer, positions)
    size = len(index.chunk_ids)
    return {
        passage.rank: cards.why_html(weights, written, nowhere, chunks=size)
        for passage, weights in zip(result.passages, found, strict=True)
    }


def _draw_figures(result: Retrieval, titles: Mapping[str, str], colours: Palette, *, top_k: int) -> None:
    rows = figures.flow_rows(result, titles, top_k=top_k)
    if rows:
        st.html(f'<h2 class="sl-h">From rankings to result</h2><div class="sl-small">{flow_subtitle(result, top_k=top_k)}</div>')
        figure = figures.rank_flow(rows, colours, top_k=top_k)
        st.plotly_chart(figure, theme=None, config=PLOT_CONFIG, key="flow", alt="Rank of each passage at each stage")
        draw_data(rows, "rank-flow")
    total = f"{result.trace.milliseconds:.0f} ms in all, measured once"
    st.html(f'<h2 class="sl-h">Where the time went</h2><div class="sl-small">{total}</div>')
    times = figures.waterfall_rows(result.trace)
    st.plotly_chart(
        figures.waterfall(times, colours, total=result.trace.milliseconds),
        theme=None,
        config=PLOT_CONFIG,
        key="times",
        alt="Milliseconds per stage",
    )
    draw_data(times, "time")


def flow_subtitle(result: Retrieval, *, top_k: int) -> str:
    """How many chunks each retriever ranked, and how far down its list the picture goes."""
    ran = [stage for stage in result.trace.stages if stage.name in ("dense", "keyword")]
    ranked = ", ".join(f"{stage.name} ranked {len(stage.hits):,}" for stage in ran)
    depth = max(figures.FLOW_DEPTH, top_k)
    return f"Of {ran[0].taken:,} chunks {ranked}. Drawn: the first {depth}{' of each' * (len(ran) > 1)}, and what is shown."


def draw_data(rows: Sequence[Mapping[str, Any]], name: str) -> None:
    """The rows behind a chart, as a table and as CSV."""
    import csv
    import io

    with st.expander("data"):
        st.dataframe(list(rows), hide_index=True, width="stretch", column_config={"passage": st.column_config.Column(width=130)})
        out = io.StringIO()
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        st.download_button("CSV", out.getvalue(), f"{name}.csv", "text/csv", key=f"csv {name}")

"""The *Why not?* panel: a document or a quotation, its rank at every stage, and where it was lost."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from sitt_core.errors import SittError
from sitt_core.pipeline import Engine
from sitt_core.store.reading import DocumentInfo
from sitt_core.surfaces.dashboard import state
from sitt_core.types import Filters, Retrieval
from sitt_core.whynot import Explanation, Fate, Standing, explain_document, explain_quote

LISTED = 2000
"""How many documents the list offers at once; a larger corpus is narrowed by a part of the title first."""
SHOWN = 3
"""How many chunks are told at once; the others are folded."""
OPEN = "whynot open"
STAGE_LABELS = {"dense": "dense", "keyword": "keyword", "fused": "fused", "merged": "one per text", "shown": "shown"}


def draw_whynot(result: Retrieval, engine: Engine, filters: Filters) -> None:
    """The panel; it costs nothing while it is folded."""
    panel = st.expander("Why not …? Follow any document or quotation through the stages", key=OPEN, on_change=state.acted)
    if not panel.open:
        return
    with panel:
        left, right = st.columns(2)
        with left:
            chosen = _choose_document(engine.corpus.documents)
        with right:
            quote = st.text_area(
                "or a quotation from one",
                key="whynot quote",
                height=70,
                placeholder="Paste some words of a document …",
                on_change=state.acted,
            )
        try:
            if quote.strip():
                _draw(explain_quote(result, engine, quote=quote, filters=filters), engine)
            elif chosen is not None:
                _draw(explain_document(result, engine, document_id=chosen.id, filters=filters), engine)
        except SittError as error:
            st.error(f"Expected {error.expected}; got {error.got}. {error.remedy}")


def _choose_document(documents: Sequence[DocumentInfo]) -> DocumentInfo | None:
    offered = list(documents)
    if len(offered) > LISTED:
        part = st.text_input("Title or id of a document, in part", key="whynot part").strip().casefold()
        offered = [each for each in offered if part in each.title.casefold() or part in each.id.casefold()][:LISTED] if part else []
    by_id = {document.id: document for document in sorted(offered, key=lambda document: document.title.casefold())}
    if st.session_state.get("whynot document") not in by_id:
        st.session_state["whynot document"] = None  # another corpus, or another part of a title
    chosen = st.selectbox(
        "A document",
        list(by_id),
        index=None,
        key="whynot document",
        format_func=lambda id_: f"{by_id[id_].title} ({id_})" if id_ in by_id else str(id_),
        placeholder="choose one of the corpus",
        on_change=state.acted,
    )
    return by_id.get(chosen) if chosen else None


def _draw(told: Explanation, engine: Engine) -> None:
    titles = {document.id: document.title for document in engine.corpus.documents}
    st.html(explanation_html(told, titles))


def explanation_html(told: Explanation, titles: dict[str, str]) -> str:
    """The sentence, then a table per chunk; all but the first few are folded."""
    first, rest = told.fates[:SHOWN], told.fates[SHOWN:]
    folded = ""
    if rest:
        folded = f"<details><summary>{len(rest)} more chunks</summary>{''.join(fate_html(fate, titles) for fate in rest)}</details>"
    return f'<div class="sl-why" role="status"><p>{escape(told.sentence)}</p>{"".join(fate_html(fate, titles, said=fate.sentence in told.sentence) for fate in first)}{folded}</div>'


def fate_html(fate: Fate, titles: dict[str, str], *, said: bool = False) -> str:
    """A chunk by name and place, a row per stage, and its own sentence unless it is `said` already."""
    chunk = fate.chunk
    name = " › ".join([titles.get(chunk.document_id, chunk.document_id), *chunk.heading_path[-1:]])
    where = f"characters {chunk.start:,}–{chunk.end:,}" + (", without the filter" if fate.excluded else "")
    rows = "".join(_row(standing) for standing in fate.standings)
    sentence = "" if said else f'<div class="sl-small">{escape(fate.sentence)}</div>'
    return (
        f'<div class="sl-fate"><div><b dir="auto">{escape(name)}</b> <span class="sl-small">{where}</span></div>'
        "<table><thead><tr><th>stage</th><th>rank</th><th>score</th><th>last to go on</th><th>outcome</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>{sentence}</div>"
    )


def _row(standing: Standing) -> str:
    ink = f' class="sl-ink-{"fused" if standing.stage in ("merged", "shown") else standing.stage}"'
    rank = f"{standing.rank:,} of {standing.ranked:,}" if standing.rank is not None else f"– of {standing.ranked:,}"
    last = f"#{min(standing.goes_on, standing.ranked):,}: {_score(standing.last_score)}" if standing.last_score is not None else "–"
    verdict = "✓ goes on" if standing.passed else "✗ stops" if standing.rank is not None else "✗ not in it"
    verdict = "✓ shown" if standing.passed and standing.stage == "shown" else verdict
    return (
        f'<tr><th scope="row"{ink}>{STAGE_LABELS[standing.stage]}</th><td>{rank}</td><td>{_score(standing.score)}</td>'
        f"<td>{last}</td><td>{verdict}</td></tr>"
    )


def _score(score: float | None) -> str:
    return "–" if score is None else f"{score:.4f}" if abs(score) < 0.1 else f"{score:.2f}"

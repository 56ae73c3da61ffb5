"""The pinned result A, and what every change since then has brought in, thrown out and moved."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import streamlit as st

from sitt_core.configuration import Configuration
from sitt_core.pipeline import Engine
from sitt_core.retrieval.compare import SHARED, Change, Comparison, compare
from sitt_core.surfaces.dashboard import state
from sitt_core.types import Passage, Retrieval

PINNED = "pinned"


@dataclass(frozen=True, slots=True)
class Pinned:
    """A result that was kept: its passages, and the corpus, configuration and question they came from."""

    corpus: str
    question: str
    configuration: Configuration
    passages: tuple[Passage, ...]


def draw_pin(result: Retrieval, engine: Engine) -> None:
    """The button that keeps this result, or lets go of the one that is kept."""
    if PINNED in st.session_state:
        st.button("Unpin A", icon=":material/keep_off:", on_click=_unpin, key="unpin", help="Stop comparing.")
    else:
        pinned = Pinned(engine.corpus.name, result.question, engine.configuration, result.passages)
        st.button(
            "Pin as A",
            icon=":material/keep:",
            on_click=_pin,
            args=(pinned,),
            key="pin",
            help="Keep this result: from then on every change shows what entered, left and moved.",
        )


def _pin(pinned: Pinned) -> None:
    state.acted()
    st.session_state[PINNED] = pinned


def _unpin() -> None:
    state.acted()
    st.session_state.pop(PINNED, None)


def draw_comparison(result: Retrieval, engine: Engine) -> Comparison | None:
    """What changed against the pinned result, in words; returns it, or None when there is nothing to compare with."""
    pinned: Pinned | None = st.session_state.get(PINNED)
    if pinned is None:
        return None
    if pinned.corpus != engine.corpus.name:
        st.info(f"The pinned result A is of the corpus {pinned.corpus}; it is compared again when you are back there.")
        return None
    same_cut = pinned.configuration.chunking_key == engine.configuration.chunking_key
    found = compare(pinned.passages, result.passages, same_cut=same_cut)
    st.html(comparison_html(found, pinned, question=result.question, same_cut=same_cut))
    return found


def comparison_html(found: Comparison, pinned: Pinned, *, question: str, same_cut: bool) -> str:
    """Pinned A in a line, then what entered, left, moved and stayed, each by name and ranks, and by which rule."""
    rows = [
        _row("entered", [f"{_name(passage)} (#{passage.rank})" for passage in found.entered]),
        _row("left", [f"{_name(passage)} (was #{passage.rank})" for passage in found.left]),
        _row("moved", [f"{_name(change.passage)} (#{change.before} → #{change.passage.rank})" for change in found.moved]),
        _row("stayed", [str(len(found.stayed))] if found.stayed else []),
    ]
    asked = f" · “{escape(pinned.question)}”" if pinned.question != question else ""
    rule = (
        "" if same_cut else f"Cut differently: passages are the same when they share at least {SHARED:.0%} of the shorter one’s characters."
    )
    note = f'<div class="sl-small">{rule}</div>' if rule else ""
    return (
        f'<div class="sl-found sl-pinned"><div><b>Against A</b> <span class="sl-small">{escape(pinned.configuration.slug)}{asked}</span>'
        f"<dl>{''.join(rows)}</dl>{note}</div></div>"
    )


def badge_html(change: Change) -> str:
    """A passage's change as a sign that a screen reader reads out."""
    if change.before is None:
        return _badge("new", "not in A")
    if change.rise == 0:
        return ""
    sign = "▲" if change.rise > 0 else "▼"
    return _badge(f"{sign}{abs(change.rise)}", f"{'up' if change.rise > 0 else 'down'} {abs(change.rise)}, from rank {change.before} in A")


def _badge(text: str, meaning: str) -> str:
    return f'<span class="sl-badge" role="img" aria-label="{meaning}" title="{meaning}">{text}</span>'


def _row(label: str, names: Sequence[str]) -> str:
    return f"<dt>{label}</dt><dd>{'; '.join(escape(name) for name in names) or '–'}</dd>"


def _name(passage: Passage) -> str:
    return " › ".join([passage.title, *passage.chunk.heading_path[-1:]])

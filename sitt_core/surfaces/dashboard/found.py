"""The Corpus page's view of what a check for changes has found: each source's documents in buckets, their differences, what they touch."""

import time
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

import streamlit as st

from evals.preflight import KINDS
from sitt_core.plan import Update, diff
from sitt_core.store.reading import Corpus
from sitt_core.surfaces.dashboard import cards, checks, found_html, sources
from sitt_core.surfaces.dashboard.versions import heading
from sitt_core.surfaces.progress import when
from sitt_core.surfaces.source_forms import describe
from sitt_core.surfaces.updating import BUCKETS, Found, bucket

OPENED = ("changed", "failed", "withheld")
"""The buckets that are open from the beginning."""


def draw_found(corpus: Corpus, seen: Found, folder: Path, checked_at: float) -> None:
    """Every source that was looked at, and what its changes touch."""
    heading("What was found")
    st.html(f'<div class="sl-small">Checked {checks.ago(checked_at, time.time())} ({when(checked_at)}). Nothing has been written.</div>')
    sections = checks.sections_of(folder)
    for update in seen.updates:
        with st.container(border=True):
            _draw_source(corpus, update, sections.get(update.plan.origin, {}))
    if seen.unread:
        with st.container(border=True):
            st.html(cards.notice(["Not read:", *(f"{describe(each.id).name}: {each.reason}" for each in seen.unread)], problem=True))
            places = tuple(each.id for each in seen.unread)
            st.button("Try again", key="again unread", on_click=sources.start_check, args=(corpus.name, places), icon=":material/refresh:")
    _draw_touched(folder)


def _draw_source(corpus: Corpus, update: Update, sections: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    plan, listing = update.plan, update.listing
    ids = {name: bucket(plan, name) for name in BUCKETS}
    st.html(found_html.source_html(update.place, {name: len(each) for name, each in ids.items()}))
    if plan.withheld:
        why = f"{plan.why_withheld[:1].upper()}{plan.why_withheld[1:]}: what is missing from it stays."
        st.html(cards.notice([why]))
    elif not listing.complete and listing.why_incomplete:
        st.html(cards.notice([f"Not read as a whole: {listing.why_incomplete}."]))
    if listing.notices:
        st.html("".join(f'<div class="sl-small" dir="auto">{escape(notice)}</div>' for notice in listing.notices))
    titles = {document.id: document.title for document in corpus.documents} | {each.id: each.title for each in listing.documents}
    for name, listed in ids.items():
        if listed:
            label = f"{name.capitalize()}: {len(listed):,}, {found_html.BUCKETS[name]}"
            with st.expander(label, expanded=name in OPENED, key=f"bucket {plan.origin} {name}"):
                if name == "failed":
                    st.html(found_html.failures_html([(each.id, each.reason) for each in plan.failed]))
                    _draw_again(corpus, update)
                elif name in ("added", "changed", "removed"):
                    _draw_diffs(corpus, update, name, listed, titles, sections)
                else:
                    st.dataframe([{"title": titles.get(id_, ""), "document": id_} for id_ in listed], hide_index=True)


def _draw_again(corpus: Corpus, update: Update) -> None:
    key = f"again failed {update.plan.origin}"
    st.button("Try again", key=key, on_click=sources.start_check, args=(corpus.name, (update.place,)), icon=":material/refresh:")


def _draw_diffs(
    corpus: Corpus,
    update: Update,
    name: str,
    ids: Sequence[str],
    titles: Mapping[str, str],
    sections: Mapping[str, Sequence[tuple[str, str]]],
) -> None:
    chosen = ids[0]
    if len(ids) > 1:
        key = f"diff {update.plan.origin} {name}"
        chosen = st.selectbox(f"Which of the {name}", ids, key=key, format_func=lambda id_: f"{titles.get(id_, '')} · {id_}")
    else:
        st.html(f'<div class="sl-small" dir="auto">{escape(titles.get(chosen, ""))} · {escape(chosen)}</div>')
    if chosen in ids:
        st.html(found_html.sections_html(sections.get(chosen, ())) + found_html.diff_html(diff(corpus, update.listing, chosen)))


def _draw_touched(folder: Path) -> None:
    """The questions, citations and kept answers that rest on what changes."""
    touched = checks.touched_of(folder)
    if touched is None:
        return
    heading("What this touches")
    if found_html.is_untouched(touched):
        st.html('<div class="sl-small">No open question, no citation of past answers and no kept answer rests on what would change.</div>')
    for kind in KINDS:
        touches = [touch for touch in touched.touches if touch.kind == kind]
        if touches:
            with st.expander(found_html.touched_label(touched, kind), expanded=kind == "question", key=f"touched {kind}"):
                st.html(found_html.touches_html(touches))
    if note := found_html.touched_note(touched):
        st.html(f'<div class="sl-small">{escape(note)}</div>')

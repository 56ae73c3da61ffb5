"""The Questions page's list of the golden set: its filters, and a question opened below it."""

import hashlib
from collections.abc import Sequence
from typing import Any

import streamlit as st

from evals import editing
from evals.editing import Review, Row, Shelf
from evals.golden import FLOOR, KINDS, Question
from sitt_core.store.reading import Corpus
from sitt_core.surfaces.address import to_parameters
from sitt_core.surfaces.dashboard import cards, state
from sitt_core.surfaces.dashboard.plain import plain_label
from sitt_core.surfaces.dashboard.questions_data import (
    DRAFTS,
    LISTED,
    OPENED,
    Edit,
    begin,
    document_of,
    done,
    main_button,
    open_section,
    reviewed,
    settings,
    waiting_drafts,
)
from sitt_core.surfaces.dashboard.questions_html import WHOSE, finding_html, question_html, summary_html, told_plainly


def draw_set(corpus: Corpus) -> None:
    """The list with its filters, and the opened question below it."""
    shelf, review = reviewed(corpus)
    if shelf.trouble:
        file = editing.own_file(settings(), corpus.name)
        st.html(cards.notice([f"Your own questions cannot be read: {file}.", told_plainly(shelf.trouble)], problem=True))
    st.html(summary_html(shelf, review))
    for finding in review.others:
        st.html(f'<ul class="sl-findings">{finding_html(finding, name=True)}</ul>')
    waiting = waiting_drafts(corpus)
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Add a question",
            type=main_button(enabled=shelf.trouble is None),
            icon=":material/add:",
            on_click=begin,
            args=(Edit(corpus.name, Question("", "", "detail")),),
            disabled=shelf.trouble is not None,
        )
        if waiting:
            label = f"Review {len(waiting)} draft{'s' * (len(waiting) > 1)}"
            st.button(label, icon=":material/edit_note:", on_click=open_section, args=(DRAFTS,), key="review drafts")
    rows = _filtered(review)
    _draw_table(corpus, rows, of=len(review.rows))
    opened = st.session_state.get(OPENED)
    row = next((each for each in review.rows if (each.whose, each.version) == opened), None)
    if row is not None:
        _draw_row(corpus, shelf, row)


def _filtered(review: Review) -> list[Row]:
    kinds = kinds_of(review)
    left, middle, right, last = st.columns([4, 3, 3, 3], vertical_alignment="bottom")
    search = left.text_input(
        "Search", placeholder="words, a document, an id …", key="questions search", icon=":material/search:", on_change=state.acted
    )
    chosen = middle.multiselect("Kind", kinds, key="questions kinds", placeholder="all", on_change=state.acted)
    whose = right.multiselect(
        "Whose", list(WHOSE), key="questions whose", format_func=WHOSE.__getitem__, placeholder="all", on_change=state.acted
    )
    only = last.toggle(
        "With findings only", key="questions findings", on_change=state.acted, help="Only questions that something is wrong with."
    )
    return editing.selected(review.rows, search=search, kinds=chosen, whose=whose, only_findings=only)


def kinds_of(review: Review) -> list[str]:
    """The kinds that there are, those of the field guide first, in its order."""
    there = {row.question.kind for row in review.rows}
    return [*(kind for kind in (*KINDS[1:], FLOOR) if kind in there), *sorted(there - set(KINDS))]


def _draw_table(corpus: Corpus, rows: Sequence[Row], *, of: int) -> None:
    shown = rows[:LISTED]
    cut = f" The first {LISTED:,} are listed; search for the others." if len(rows) > LISTED else ""
    st.html(f'<div class="sl-small">{len(rows):,} of {of:,} questions. Tick a row to open it, or press Shift+Space in it.{cut}</div>')
    if not shown:
        st.html(cards.notice(["No question is like that. Take something out of the filters, or add a question."]))
        return
    listed = hashlib.sha256("".join(f"{row.whose} {row.version}\n" for row in shown).encode()).hexdigest()[:12]
    key = f"questions table {corpus.name} {listed}"
    st.dataframe(
        [table_row(row) for row in shown],
        hide_index=True,
        height=min(420, 38 + 35 * len(shown)),
        key=key,
        on_select=lambda: _take_row(key, shown),
        selection_mode="single-row",
        alt="The questions of the golden set",
        column_config={
            "question": st.column_config.TextColumn(width=330),
            "documents": st.column_config.TextColumn(width=150),
            "check": st.column_config.TextColumn(width=90, help="What is wrong with it, in a word each"),
            "wording": st.column_config.TextColumn(
                help="The share of its word 3-grams that stand in its evidence: copied wording flatters keyword search"
            ),
        },
    )


def table_row(row: Row) -> dict[str, Any]:
    """A question's line in the table; of a sealed one its kind and number alone."""
    question = row.question
    words = ", ".join(dict.fromkeys(finding.kind for finding in row.findings))
    return {
        "check": f"✗ {words}" if words else "✓ fine",
        "question": f"{question.id}: its text stays hidden" if row.sealed else question.text,
        "kind": question.kind,
        "side": question.split,
        "whose": WHOSE[row.whose],
        "documents": "" if row.sealed else ", ".join(question.documents or question.about),
        "evidence": "" if row.sealed else str(len(question.evidence)),
        "wording": "" if row.shared is None else f"{row.shared:.0%}",
        "id": question.id,
    }


def _take_row(key: str, shown: Sequence[Row]) -> None:
    state.acted()
    rows = st.session_state[key].selection.rows
    st.session_state[OPENED] = (shown[rows[0]].whose, shown[rows[0]].version) if rows else None


def _draw_row(corpus: Corpus, shelf: Shelf, row: Row) -> None:
    """The opened question: all that may be seen of it, and what can be done with it."""
    titles = {document.id: document.title for document in corpus.documents}
    needs = [[editing.look_up(quote, document_of(corpus, quote.document)) for quote in need] for need in row.question.evidence]
    st.html(question_html(row, needs, titles))
    question = row.question
    with st.container(horizontal=True, gap="small"):
        if row.whose == "own":
            if not row.sealed:
                st.button(
                    "Edit",
                    icon=":material/edit:",
                    on_click=begin,
                    args=(Edit(corpus.name, question, question.id, row.version),),
                    key="edit own",
                )
            with st.popover("Delete …", icon=":material/delete:", key=f"delete {row.version}"):
                st.write(f"Delete {plain_label(question.id)} for good?")
                st.button("Delete it", type="primary", on_click=_delete, args=(corpus.name, row), key="delete own")
        elif not row.sealed and question.kind != FLOOR:
            copied = editing.copy_of(question, shelf.ids)
            st.button(
                "Copy as my own", icon=":material/content_copy:", on_click=begin, args=(Edit(corpus.name, copied),), key="copy bundled"
            )
        if not row.sealed:
            st.button("Ask it on Explore", icon=":material/search:", on_click=_ask, args=(question.text,), key="ask question")
        if st.session_state.pop("go to explore", False):
            st.switch_page("pages/explore.py", query_params=to_parameters(state.address()))


def _ask(question: str) -> None:
    state.ask(question)
    st.session_state["go to explore"] = True


def _delete(corpus: str, row: Row) -> None:
    if done(lambda: editing.delete_question(settings(), corpus, row.version), f"{row.question.id} is deleted."):
        st.session_state[OPENED] = None

"""The Questions page's form: a question being edited, its evidence looked up as it is typed, and what stands against it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st

from evals import editing
from evals.editing import Shelf
from evals.golden import FLOOR, KINDS, Question, Quote
from sitt_core.store.reading import Corpus
from sitt_core.surfaces.dashboard import state
from sitt_core.surfaces.dashboard.questions_data import (
    EDITED,
    LISTED,
    OPENED,
    SECTION,
    SET,
    Edit,
    document_of,
    documents_of,
    done,
    reviewed,
    settings,
)
from sitt_core.surfaces.dashboard.questions_evidence import choose_place, draw_place
from sitt_core.surfaces.dashboard.questions_html import look_up_html, verdict_html
from sitt_core.types import Document

OWN_NEED = "a need of its own"


def draw_edit(corpus: Corpus) -> None:
    """The question that is being edited, by itself on the page: nothing is kept before *Keep it*."""
    edit = _now()
    shelf, _ = reviewed(corpus)
    heading = f"Edit {edit.was}" if edit.was else "A draft as a question of your own" if edit.draft else "A question of your own"
    st.html(f'<h2 class="sl-h" dir="auto">{escape(heading)}</h2>')
    left, right = st.columns(2, gap="large")
    with left:
        _draw_fields(corpus, shelf, edit.question)
    with right:
        _draw_evidence(corpus, edit.question)
    _draw_verdict(corpus, shelf, edit)
    with st.container(horizontal=True, gap="small"):
        st.button("Keep it", type="primary", icon=":material/check:", on_click=_keep, args=(corpus.name, shelf), key="keep question")
        st.button("Leave without keeping", on_click=_leave, key="leave question")


def _draw_fields(corpus: Corpus, shelf: Shelf, question: Question) -> None:
    widgets: dict[str, object] = {
        "text": question.text,
        "kind": question.kind,
        "split": question.split,
        "id": question.id,
        "answer": question.answer,
        "facts": "\n".join(question.facts),
        "documents": list(question.grades if question.answerable else question.about),
    }
    for name, value in widgets.items():
        st.session_state[f"edit {name}"] = value
    st.text_area("Question", key="edit text", on_change=_take_text, args=("text",), height=96, placeholder="As a person would ask it")
    kinds = dict.fromkeys([*KINDS[1:], *(each.kind for each in (*shelf.own, *shelf.bundled) if each.kind != FLOOR), question.kind])
    one, two = st.columns(2)
    one.selectbox(
        "Kind",
        list(kinds),
        key="edit kind",
        on_change=_take_kind,
        args=(tuple(kinds),),
        accept_new_options=True,
        help="What kind of difficulty it is; results are broken down by it. Type a kind of your own if none fits.",
    )
    two.segmented_control(
        "Side",
        ["open", "sealed"],
        key="edit split",
        on_change=_take_text,
        args=("split",),
        required=True,
        width="stretch",
        help="Open ones are for looking and tuning; sealed ones only confirm, and their text is hidden once they are kept. "
        "All questions about a document are on one side.",
    )
    label = "Documents that answer it, the primary one first" if question.answerable else "Documents that it seems to be about"
    _choose_documents(corpus, label, list(question.grades if question.answerable else question.about))
    st.text_area(
        "Reference answer", key="edit answer", on_change=_take_text, args=("answer",), height=80, help="For judging answers; optional."
    )
    st.text_area(
        "Facts, one a line", key="edit facts", on_change=_take_facts, height=80, help="What an answer has to hold to be complete; optional."
    )
    st.text_input(
        "Id",
        key="edit id",
        on_change=_take_text,
        args=("id",),
        placeholder="made of its first words",
        help="Its name in results; it stays.",
    )


def _choose_documents(corpus: Corpus, label: str, chosen: Sequence[str]) -> None:
    titles = {document.id: document.title for document in corpus.documents}
    offered = _offered(titles, "edit part", keep=chosen)
    st.multiselect(
        label,
        offered,
        key="edit documents",
        on_change=_take_documents,
        format_func=lambda id_: f"{titles.get(id_, 'not in the corpus')} · {id_}",
        placeholder="choose from the corpus",
    )


def _offered(titles: Mapping[str, str], key: str, *, keep: Sequence[str] = ()) -> list[str]:
    """The ids to choose from, `keep` first; a large corpus is narrowed by a part of the title."""
    ids = list(titles)
    if len(ids) > LISTED:
        part = st.text_input("Title or id of a document, in part", key=key, on_change=state.acted).strip().casefold()
        ids = [id_ for id_ in ids if part and (part in titles[id_].casefold() or part in id_.casefold())][:LISTED]
    return list(dict.fromkeys([*keep, *ids]))


def _take_text(name: str) -> None:
    written: dict[str, Any] = {name: str(st.session_state[f"edit {name}"] or "")}
    _change(replace(_now().question, **written))


def _take_facts() -> None:
    _change(replace(_now().question, facts=tuple(str(st.session_state["edit facts"]).split("\n"))))


def _take_kind(known: Sequence[str]) -> None:
    _change(editing.with_kind(_now().question, meant_kind(str(st.session_state["edit kind"] or ""), known)))


def meant_kind(typed: str, known: Sequence[str]) -> str:
    """The known kind of which someone typed the beginning; anything else is a kind of their own."""
    wanted = typed.strip()
    begun = [kind for kind in known if wanted and kind.startswith(wanted.casefold())]
    return begun[0] if wanted not in known and len(begun) == 1 else wanted


def _take_documents() -> None:
    chosen, question = list(st.session_state["edit documents"]), _now().question
    _change(editing.with_documents(question, chosen) if question.answerable else replace(question, about=tuple(chosen)))


def _draw_evidence(corpus: Corpus, question: Question) -> None:
    """What the question has of evidence, and a place to look up more."""
    if not question.answerable:
        st.html('<div class="sl-small">An unanswerable question has no evidence: a right answer says that the corpus does not say.</div>')
        return
    st.html(
        '<h2 class="sl-h">Evidence</h2><div class="sl-small">All of it is wanted; of alternatives any is enough. Words of a document, so '
        "that it can be found again however documents are cut.</div>"
    )
    for at, need in enumerate(question.evidence):
        with st.container(gap="xsmall"):
            choice = ": any of these is enough" if len(need) > 1 else ""
            st.html(f'<div class="sl-part"><b>Evidence {at + 1} of {len(question.evidence)}</b>{choice}</div>')
            for number, quote in enumerate(need):
                _draw_quote(corpus, at, number, quote, joins=at > 0 and number == len(need) - 1)
    _draw_adding(corpus, question)


def _draw_quote(corpus: Corpus, need: int, number: int, quote: Quote, *, joins: bool) -> None:
    """A piece of evidence and what can be done with it; the last of a need offers to join that to the one before."""
    document = document_of(corpus, quote.document)
    found = editing.look_up(quote, document)
    st.html(look_up_html(found))
    if document is not None and found.state == "several":
        at = choose_place(found, f"mean {need} {number}")
        meant = editing.quote_at(document, found.sights[at].start, found.sights[at].end)
        st.button("This one is meant", key=f"meant {need} {number}", on_click=_put, args=(need, number, meant), icon=":material/check:")
    with st.container(horizontal=True, gap="small"):
        if document is not None and found.nearest is not None:
            st.button(
                "Take the nearest text",
                key=f"take {need} {number}",
                on_click=_put,
                args=(need, number, editing.quote_at(document, found.nearest.start, found.nearest.end)),
                icon=":material/healing:",
            )
        st.button(
            "Remove", key=f"remove {need} {number}", on_click=_put, args=(need, number, None), type="tertiary", icon=":material/close:"
        )
        if joins:
            label = f"Make it an alternative of evidence {need}"
            st.button(label, key=f"join {need}", on_click=_join, args=(need,), type="tertiary", icon=":material/merge:")


def _put(need: int, number: int, quote: Quote | None) -> None:
    _change(editing.with_quote(_now().question, need, number, quote))


def _join(need: int) -> None:
    _change(editing.with_joined(_now().question, need))


def _draw_adding(corpus: Corpus, question: Question) -> None:
    """A document, a quotation, and at once where it stands there."""
    titles = {document.id: document.title for document in corpus.documents}
    with st.container(border=True):
        st.html('<h3 class="sl-h">Add evidence</h3>')
        offered = _offered(titles, "evidence part", keep=[id_ for id_ in question.documents if id_ in titles])
        if st.session_state.get("evidence document") not in offered:
            st.session_state["evidence document"] = offered[0] if question.documents and offered else None
        chosen = st.selectbox(
            "From the document",
            offered,
            key="evidence document",
            on_change=state.acted,
            format_func=lambda id_: f"{titles.get(id_, '')} · {id_}",
            placeholder="choose one of the corpus",
        )
        quote = st.text_area(
            "Quotation",
            key="evidence quote",
            height=96,
            placeholder="Paste or type words of it …",
            on_change=state.acted,
            help="Looked up as soon as you leave the box, or with Ctrl+Enter.",
        )
        document = document_of(corpus, chosen) if chosen else None
        if document is None:
            st.button("Look it up", disabled=True, key="look up nothing", help="Choose a document first.")
        elif not quote.strip():
            st.button("Look it up", on_click=state.acted, key="look up", help="Type or paste a quotation first.")
        else:
            _draw_found(question, document, quote)


def _draw_found(question: Question, document: Document, quote: str) -> None:
    sight = draw_place(document, quote, prefix="evidence")
    if sight is None:
        return
    ways = [OWN_NEED, *(f"an alternative of evidence {number}" for number in range(1, len(question.evidence) + 1))]
    if st.session_state.get("evidence counts") not in ways:
        st.session_state["evidence counts"] = OWN_NEED
    way = st.selectbox("It counts as", ways, key="evidence counts", on_change=state.acted) if len(ways) > 1 else OWN_NEED
    need = None if way == OWN_NEED else ways.index(way) - 1
    st.button(
        "Add this evidence",
        type="primary",
        key="add evidence",
        icon=":material/add:",
        on_click=_add_evidence,
        args=(editing.quote_at(document, sight.start, sight.end), need),
    )


def _add_evidence(quote: Quote, need: int | None) -> None:
    _change(editing.with_need(_now().question, quote, need=need))
    st.session_state["evidence quote"] = ""
    st.session_state["evidence counts"] = OWN_NEED


def ready(edit: Edit, shelf: Shelf) -> Question:
    """The edited question as it would be kept, with an id where none was given."""
    question = editing.tidied(edit.question)
    return question if question.id else replace(question, id=editing.new_id(question.text, shelf.ids))


def _draw_verdict(corpus: Corpus, shelf: Shelf, edit: Edit) -> None:
    """What keeps it from being kept, and what would be marked."""
    question = ready(edit, shelf)
    problems = editing.problems_of(question, shelf.ids - {edit.was})
    named = replace(shelf, own=(question,))
    findings = [] if problems else editing.findings_of_one(shelf, question, documents_of(corpus, named), instead_of=edit.was)
    st.html(
        verdict_html(problems, findings, question, side=editing.side_of(_others(shelf, edit.was), question.documents or question.about))
    )


def _others(shelf: Shelf, id_: str) -> Shelf:
    return replace(shelf, own=tuple(each for each in shelf.own if each.id != id_))


def _keep(corpus: str, shelf: Shelf) -> None:
    edit = _now()
    question = ready(edit, shelf)

    def act() -> None:
        if edit.draft:
            editing.accept_draft(settings(), corpus, edit.draft, question)
        elif edit.was:
            editing.change_question(settings(), corpus, edit.was, edit.seen, question)
        else:
            editing.add_questions(settings(), corpus, [question])

    # From here on a sealed question has no name on any page: its id may tell its words or its document.
    if done(act, f"{question.id if question.split == 'open' else 'The sealed question'} is kept."):
        st.session_state.pop(EDITED)
        st.session_state[OPENED] = ("own", editing.version(question))
        st.session_state[SECTION] = SET


def _leave() -> None:
    state.acted()
    st.session_state.pop(EDITED, None)


def _now() -> Edit:
    held: Edit = st.session_state[EDITED]
    return held


def _change(question: Question) -> None:
    state.acted()
    st.session_state[EDITED] = replace(_now(), question=question)

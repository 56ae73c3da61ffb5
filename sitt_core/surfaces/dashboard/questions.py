"""The Questions page: the golden set as a list that checks itself, a question opened and edited, drafts, import and export."""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal

import streamlit as st

from evals import editing
from evals.editing import Import, LookUp, Review, Row, Shelf, Sight
from evals.golden import CHECKED_FOR_WORDING, FLOOR, KINDS, MAX_CONTAINMENT, Finding, Question, Quote
from sitt_core import notes
from sitt_core.errors import InvalidInput, NotFound, SittError
from sitt_core.quotes import check_quote
from sitt_core.settings import Settings
from sitt_core.store.reading import Corpus
from sitt_core.surfaces.address import to_parameters
from sitt_core.surfaces.dashboard import cards, state
from sitt_core.surfaces.dashboard.plain import plain_label
from sitt_core.surfaces.dashboard.theme import Palette
from sitt_core.surfaces.dashboard.told import told
from sitt_core.types import Document

SECTION, OPENED, EDITED, SAID, TROUBLE = "questions section", "question opened", "question edited", "questions said", "questions trouble"
"""The session's keys: the open section, the opened row as (whose, id), what is being edited, what was done, what went wrong."""
SET, DRAFTS, FILES = "Questions", "Drafts", "Import and export"
LISTED = 2000
"""How many rows, and how many documents in a choice, are listed at once."""
WHOSE = {"own": "your own", "bundled": "bundled", "generated": "generated"}
SEALED = "sealed: its text stays hidden"
PLACES_SHOWN = 3
OWN_NEED = "a need of its own"
THUMBS = {"up": "Thumbs up", "down": "Thumbs down"}


@dataclass(frozen=True, slots=True)
class Edit:
    """A question about a corpus being edited: in the place of one's own `was`, whose version was `seen`, or of a draft, or as a new one."""

    corpus: str
    question: Question
    was: str = ""
    seen: str = ""
    draft: str = ""


def style_sheet(colours: Palette) -> str:
    """The `<style>` of the page's own HTML."""
    return f"""<style>
ul.sl-findings{{margin:.3rem 0 .5rem;padding:0;list-style:none;font-size:.9rem;line-height:1.5}}
.sl-findings li{{margin:.15rem 0;padding:0;overflow-wrap:anywhere;font-size:inherit;color:{colours.text}}}
.sl-word{{display:inline-block;padding:0 .45rem;margin-right:.4rem;border:1px solid {colours.danger};border-radius:6px;color:{colours.danger};font-size:.8rem;font-weight:600}}
.sl-fine .sl-word,.sl-word.sl-fine{{border-color:{colours.faint};color:{colours.faint}}}
.sl-part{{margin:.6rem 0 .1rem;color:{colours.faint};font-size:.84rem}}
.sl-part b{{color:{colours.text};font-weight:650}}
.sl-evidence{{border-left:3px solid {colours.line};padding:.1rem 0 .1rem .8rem;margin:.3rem 0 .5rem;color:{colours.text}}}
.sl-evidence .sl-text{{font-size:.9rem}}
.sl-evidence q{{quotes:"“" "”"}}
.sl-near{{border-left-color:{colours.danger}}}
</style>"""


def settings() -> Settings:
    """The process's settings."""
    return state.workshop().settings


def identity(corpus: Corpus) -> str:
    """What a cache knows a corpus by."""
    return corpus.identity


def own_identity(shelf: Shelf) -> str:
    """What a cache knows a shelf by: the bundled questions stay as they are while the process runs."""
    return hashlib.sha256("".join([shelf.corpus, *map(editing.version, shelf.own)]).encode()).hexdigest()


_KNOWN_BY: dict[str | type[Any], Callable[[Any], Any]] = {Corpus: identity, Shelf: own_identity}


@st.cache_resource(show_spinner=False, max_entries=8, ttl=1800, hash_funcs=_KNOWN_BY)
def _documents(corpus: Corpus, shelf: Shelf) -> tuple[Document, ...]:
    return editing.documents_for(corpus, shelf)


@st.cache_resource(show_spinner="Checking the questions …", max_entries=8, ttl=1800, hash_funcs=_KNOWN_BY)
def _bundled_findings(corpus: Corpus) -> list[Finding]:
    shelf = editing.open_shelf(settings(), corpus.name)
    return editing.findings_of_bundled(shelf, _documents(corpus, replace(shelf, own=())))


@st.cache_resource(show_spinner=False, max_entries=32, ttl=1800, hash_funcs=_KNOWN_BY)
def _reviewed(corpus: Corpus, shelf: Shelf) -> tuple[Shelf, Review]:
    """The shelf with its generated questions, and all of it reviewed."""
    whole = editing.open_shelf(settings(), corpus.name, [(document.id, document.title) for document in corpus.documents])
    whole = replace(whole, own=shelf.own)
    return whole, editing.review(whole, _bundled_findings(corpus), editing.findings_of_own(whole, _documents(corpus, shelf)))


def reviewed(corpus: Corpus) -> tuple[Shelf, Review]:
    """The corpus's questions and what is wrong with each; computed once as long as neither changes. Raises StoreError."""
    shelf = editing.open_shelf(settings(), corpus.name)
    whole, review = _reviewed(corpus, shelf)
    return replace(whole, trouble=shelf.trouble), review


def document_of(corpus: Corpus, document_id: str) -> Document | None:
    """A document of the corpus, or None."""
    try:
        return corpus.document(document_id)
    except NotFound:
        return None


def say_what_happened() -> None:
    """Shows once what the last button did, or why it did nothing."""
    if said := st.session_state.pop(SAID, None):
        st.toast(said, icon=":material/check:")
    if trouble := st.session_state.pop(TROUBLE, None):
        st.error(trouble)


def draw_set(corpus: Corpus, colours: Palette) -> None:
    """The list with its filters, and the opened question below it."""
    del colours
    shelf, review = reviewed(corpus)
    if shelf.trouble:
        file = editing.own_file(settings(), corpus.name)
        st.html(cards.notice([f"Your own questions cannot be read: {file}.", told_plainly(shelf.trouble)], problem=True))
    st.html(summary_html(shelf, review))
    for finding in review.others:
        st.html(f'<ul class="sl-findings">{finding_html(finding, name=True)}</ul>')
    waiting = _drafts(corpus)
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Add a question",
            type=_main_button(enabled=shelf.trouble is None),
            icon=":material/add:",
            on_click=_begin,
            args=(Edit(corpus.name, Question("", "", "detail")),),
            disabled=shelf.trouble is not None,
        )
        if waiting:
            label = f"Review {len(waiting)} draft{'s' * (len(waiting) > 1)}"
            st.button(label, icon=":material/edit_note:", on_click=_open_section, args=(DRAFTS,), key="review drafts")
    rows = _filtered(review)
    _draw_table(corpus, rows, of=len(review.rows))
    opened = st.session_state.get(OPENED)
    row = next((each for each in review.rows if (each.whose, each.question.id) == opened), None)
    if row is not None:
        _draw_row(corpus, shelf, row)


def _main_button(*, enabled: bool) -> Literal["primary", "secondary"]:
    """The style of a section's main button; the label of a primary one that is disabled would be lost in its ground."""
    return "primary" if enabled else "secondary"


def told_plainly(error: SittError) -> str:
    """A named failure as text, for our own HTML."""
    return f"Expected {error.expected}; got {error.got}. {error.remedy}"


def summary_html(shelf: Shelf, review: Review) -> str:
    """The set in a sentence or two: how many, whose, how many are marked, and why some stay hidden."""
    rows = review.rows
    sealed, marked = sum(row.sealed for row in rows), sum(bool(row.findings) for row in rows)
    parts = [f"{len(shelf.own):,} of your own" if shelf.own else "none of your own yet"]
    if shelf.bundled:
        parts.append(f"{len(shelf.bundled):,} bundled (read-only; a copy can be edited)")
    parts.append(f"{len(shelf.generated):,} generated, “Tell me about …” for every document: a new document gets its own by itself")
    hidden = (
        f" The text of {sealed:,} sealed ones stays hidden, so that nobody tunes to them: they only confirm a result, on the command line."
        if sealed
        else ""
    )
    count = f"<b>{len(rows):,} questions about {escape(shelf.corpus)}, {marked:,} with findings.</b>"
    return f'<div class="sl-line">{count}<br><span>{"; ".join(parts)}.{hidden}</span></div>'


def finding_html(finding: Finding, *, name: bool = False) -> str:
    """A finding as a list entry: its word, and the sentence."""
    which = f"{escape(finding.question)}: " if name else ""
    return f'<li><span class="sl-word">{escape(finding.kind)}</span>{which}{escape(finding.message)}</li>'


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
    listed = hashlib.sha256("".join(f"{row.whose} {row.question.id}\n" for row in shown).encode()).hexdigest()[:12]
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
            "question": st.column_config.TextColumn(width=380),
            "check": st.column_config.TextColumn(width=110, help="What is wrong with it, in a word each"),
            "wording": st.column_config.TextColumn(
                help="The share of its word 3-grams that stand in its evidence: copied wording flatters keyword search"
            ),
        },
    )


def table_row(row: Row) -> dict[str, Any]:
    """A question's line in the table; of a sealed one only what may be seen."""
    question = row.question
    words = ", ".join(dict.fromkeys(finding.kind for finding in row.findings))
    return {
        "check": f"✗ {words}" if words else "✓ fine",
        "question": SEALED if row.sealed else question.text,
        "kind": question.kind,
        "side": question.split,
        "whose": WHOSE[row.whose],
        "evidence": "" if row.sealed else str(len(question.evidence)),
        "wording": "" if row.shared is None else f"{row.shared:.0%}",
        "documents": "" if row.sealed else ", ".join(question.documents or question.about),
        "id": question.id,
    }


def _take_row(key: str, shown: Sequence[Row]) -> None:
    state.acted()
    rows = st.session_state[key].selection.rows
    st.session_state[OPENED] = (shown[rows[0]].whose, shown[rows[0]].question.id) if rows else None


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
                    on_click=_begin,
                    args=(Edit(corpus.name, question, question.id, row.version),),
                    key="edit own",
                )
            with st.popover("Delete …", icon=":material/delete:", key=f"delete {row.version}"):
                st.write(f"Delete {plain_label(question.id)} for good?")
                st.button("Delete it", type="primary", on_click=_delete, args=(corpus.name, question.id, row.version), key="delete own")
        elif not row.sealed and question.kind != FLOOR:
            copied = editing.copy_of(question, shelf.ids)
            st.button(
                "Copy as my own", icon=":material/content_copy:", on_click=_begin, args=(Edit(corpus.name, copied),), key="copy bundled"
            )
        if not row.sealed:
            st.button("Ask it on Explore", icon=":material/search:", on_click=_ask, args=(question.text,), key="ask question")
        if st.session_state.pop("go to explore", False):
            st.switch_page("pages/explore.py", query_params=to_parameters(state.address()))


def _ask(question: str) -> None:
    state.ask(question)
    st.session_state["go to explore"] = True


def question_html(row: Row, needs: Sequence[Sequence[LookUp]], titles: Mapping[str, str]) -> str:
    """A question as a card: what is wrong with it first, then what it expects, each quotation where it stands, the answer."""
    question = row.question
    path = " · ".join([question.kind, question.split, WHOSE[row.whose], question.id])
    found = (
        "".join(map(finding_html, row.findings)) or '<li class="sl-fine"><span class="sl-word">fine</span>Nothing is wrong with it.</li>'
    )
    head = (
        f'<article class="sl-card" data-question="{escape(question.id)}"><h2 dir="auto">{escape(question.text) or "A sealed question"}</h2>'
        f'<div class="sl-path">{escape(path)}</div><ul class="sl-findings">{found}</ul>'
    )
    if row.sealed:
        why = "What it asks, its documents and its evidence stay hidden: it is kept for <code>python -m evals confirm</code>, and what nobody has seen nobody has tuned to."
        mine = " Yours can be changed in its file in the notes folder, or deleted here." if row.whose == "own" else ""
        return f'{head}<div class="sl-small">{why}{mine}</div></article>'
    return f"{head}{_expected_html(question, titles)}{_wording_html(row)}{needs_html(needs)}{_answer_html(question)}</article>"


def _expected_html(question: Question, titles: Mapping[str, str]) -> str:
    def named(document: str) -> str:
        grade = question.grades.get(document, 1)
        return f"{escape(titles.get(document, 'not in the corpus'))} ({escape(document)}{f', grade {grade}' if grade != 1 else ''})"

    if question.answerable:
        label = "Expected documents, the primary one first"
        return f'<div class="sl-part"><b>{label}:</b> <span dir="auto">{", ".join(map(named, question.grades))}</span></div>'
    about = ", ".join(map(named, question.about)) or "nothing that the corpus is about"
    return f'<div class="sl-part"><b>The corpus does not answer it.</b> It seems to be about: <span dir="auto">{about}</span></div>'


def _wording_html(row: Row) -> str:
    if row.shared is None:
        return ""
    rule = (
        f"at most {MAX_CONTAINMENT:.0%} may be, or keyword search is flattered"
        if row.question.kind in CHECKED_FOR_WORDING
        else f"no limit for {row.question.kind} questions"
    )
    return f'<div class="sl-part"><b>Shared wording:</b> {row.shared:.0%} of its word 3-grams stand in its evidence; {escape(rule)}.</div>'


def _answer_html(question: Question) -> str:
    answer = (
        f'<div class="sl-part"><b>Reference answer</b></div><div class="sl-text" dir="auto">{escape(question.answer)}</div>'
        if question.answer
        else ""
    )
    facts = "".join(f'<li dir="auto">{escape(fact)}</li>' for fact in question.facts)
    return answer + (
        f'<div class="sl-part"><b>Facts that an answer has to hold</b></div><ul class="sl-findings">{facts}</ul>' if facts else ""
    )


def needs_html(needs: Sequence[Sequence[LookUp]]) -> str:
    """Every need of evidence with its alternatives."""
    html = []
    for number, need in enumerate(needs, start=1):
        choice = ": any of these is enough" if len(need) > 1 else ""
        html.append(f'<div class="sl-part"><b>Evidence {number} of {len(needs)}</b>{choice}</div>{"".join(map(look_up_html, need))}')
    return "".join(html)


def look_up_html(found: LookUp) -> str:
    """A quotation, where it stands, and what stands around it; of one that is not found, the nearest passage."""
    quote = f'<div class="sl-text" dir="auto"><q>{escape(found.quote.quote)}</q></div>'
    if found.state == "found":
        return f'<div class="sl-evidence">{sight_html(found.sights[0], found.title)}</div>'
    if found.state == "several":
        shown = found.sights[:PLACES_SHOWN]
        more = f" The first {len(shown)} are shown." if found.count > len(shown) else ""
        sights = "".join(sight_html(sight, found.title) for sight in shown)
        said = f"{found.count:,} times in {escape(found.title)}: say which is meant.{more}"
        return f'<div class="sl-evidence sl-near">{quote}<div class="sl-small">{said}</div>{sights}</div>'
    if found.state == "missing":
        return f'<div class="sl-evidence sl-near">{quote}<div class="sl-small">{escape(found.quote.document) or "Its document"} is not in the corpus.</div></div>'
    which = f" {found.quote.occurrence} times; it is there {found.count} times" if found.quote.occurrence and found.count else ""
    return f'<div class="sl-evidence sl-near">{quote}<div class="sl-small">Not in {escape(found.title)}{which}.</div>{nearest_html(found)}</div>'


def sight_html(sight: Sight, title: str) -> str:
    """A stretch of a document marked in its surroundings, with its place."""
    place = f"Found at characters {sight.start:,}–{sight.end:,} of {escape(title)}, {section_words(sight)}"
    return (
        f'<div class="sl-text" dir="auto">{escape(sight.before)}<mark>{escape(sight.quote)}</mark>{escape(sight.after)}</div>'
        f'<div class="sl-small">{place}</div>'
    )


def section_words(sight: Sight) -> str:
    """Where in its document a stretch stands, as HTML."""
    return f"in section {escape(sight.section)}" if sight.section else "before the first heading"


def nearest_html(found: LookUp) -> str:
    """The passage that a lost quotation is most like."""
    if found.nearest is None:
        return '<div class="sl-small">Nothing there is like it.</div>'
    near = found.nearest
    share = "the same but for case or typography" if near.share == 1 else f"{near.share:.0%} of the words in common"
    return (
        f'<div class="sl-part"><b>Nearest text</b>, {share}, {section_words(near)}:</div>'
        f'<div class="sl-text" dir="auto">{escape(near.before)}<mark>{escape(near.quote)}</mark>{escape(near.after)}</div>'
    )


def _delete(corpus: str, id_: str, seen: str) -> None:
    if _done(lambda: editing.delete_question(settings(), corpus, id_, seen), f"{id_} is deleted."):
        st.session_state[OPENED] = None


def _done(act: Callable[[], None], said: str) -> bool:
    """Does something that may be refused, and keeps for the next run what there is to say."""
    state.acted()
    try:
        act()
    except SittError as error:
        st.session_state[TROUBLE] = told(error)
        return False
    st.session_state[SAID] = plain_label(said)
    return True


def _open_section(name: str) -> None:
    state.acted()
    st.session_state[SECTION] = name


def _begin(edit: Edit) -> None:
    state.acted()
    st.session_state[EDITED] = edit
    for name in ("evidence document", "evidence quote", "evidence place", "evidence counts"):
        st.session_state.pop(name, None)


def is_editing(corpus: Corpus) -> bool:
    """Whether a question about that corpus is being edited; one about another waits until that is open again."""
    held: Edit | None = st.session_state.get(EDITED)
    return held is not None and held.corpus == corpus.name


def _leave() -> None:
    state.acted()
    st.session_state.pop(EDITED, None)


def _now() -> Edit:
    held: Edit = st.session_state[EDITED]
    return held


def _change(question: Question) -> None:
    state.acted()
    st.session_state[EDITED] = replace(_now(), question=question)


def draw_edit(corpus: Corpus, colours: Palette) -> None:
    """The question that is being edited, by itself on the page: nothing is kept before *Keep it*."""
    del colours
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
        at = _choose_place(found, f"mean {need} {number}")
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


def _choose_place(found: LookUp, key: str) -> int:
    """Which of the places of a quotation is meant, by its number from 0."""
    if st.session_state.get(key) not in range(len(found.sights)):
        st.session_state[key] = 0
    return st.selectbox(
        "Which place is meant",
        range(len(found.sights)),
        key=key,
        on_change=state.acted,
        format_func=lambda at: f"{at + 1}: {found.sights[at].section or 'before the first heading'}, character {found.sights[at].start:,}",
    )


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
    try:
        found = editing.look_up(Quote(document.id, check_quote(quote)), document)
    except InvalidInput as error:
        st.error(told(error))
        return
    if found.state == "absent":
        st.html(
            f'<div class="sl-evidence sl-near" role="status"><div class="sl-small">These words are not in {escape(document.title)}.</div>{nearest_html(found)}</div>'
        )
        if found.nearest is not None:
            st.button(
                "Take the nearest text",
                key="take nearest",
                on_click=_type,
                args=(found.nearest.quote,),
                type="primary",
                icon=":material/healing:",
            )
        return
    at = 0
    if found.state == "several":
        st.html(f'<div class="sl-small" role="status">These words stand there {found.count:,} times.</div>')
        at = _choose_place(found, "evidence place")
    sight = found.sights[at]
    st.html(f'<div class="sl-evidence" role="status">{sight_html(sight, document.title)}</div>')
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


def _type(quote: str) -> None:
    state.acted()
    st.session_state["evidence quote"] = quote


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
    findings = [] if problems else editing.findings_of_one(shelf, question, _documents(corpus, named), instead_of=edit.was)
    st.html(
        verdict_html(problems, findings, question, side=editing.side_of(_others(shelf, edit.was), question.documents or question.about))
    )


def _others(shelf: Shelf, id_: str) -> Shelf:
    return replace(shelf, own=tuple(each for each in shelf.own if each.id != id_))


def verdict_html(problems: Sequence[str], findings: Sequence[Finding], question: Question, *, side: str) -> str:
    """What stands against an edited question, in words; `side` is where the others about its primary document are."""
    if problems:
        listed = "".join(f"<li>{escape(problem)}</li>" for problem in problems)
        return f'<div class="sl-part" role="status"><b>Before it can be kept</b></div><ul class="sl-findings">{listed}</ul>'
    other = question.split != side
    hint = f'<div class="sl-small">Questions about its primary document are {side}: so should this one be.</div>' if other else ""
    if not findings:
        return f'<ul class="sl-findings" role="status"><li class="sl-fine"><span class="sl-word">fine</span>Nothing is wrong with it; it would be kept as {escape(question.id)}.</li></ul>{hint}'
    listed = "".join(map(finding_html, findings))
    return f'<div class="sl-part" role="status"><b>It can be kept, and would be marked</b></div><ul class="sl-findings">{listed}</ul>{hint}'


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

    if _done(act, f"{question.id} is kept."):
        st.session_state.pop(EDITED)
        st.session_state[OPENED] = ("own", question.id)
        st.session_state[SECTION] = SET


def _drafts(corpus: Corpus) -> tuple[notes.Draft, ...]:
    try:
        return notes.drafts(settings().notes_dir, corpus.name)
    except SittError as error:
        st.error(told(error))
        return ()


def draw_drafts(corpus: Corpus, colours: Palette) -> None:
    """What waits for review, each with the answer it was made from and what was thought of that."""
    del colours
    shelf, _ = reviewed(corpus)
    waiting = _drafts(corpus)
    if not waiting:
        st.html(
            cards.notice(["No draft waits. Under an answer on Ask, “Make this a golden question” brings it here, with what it quoted."])
        )
        st.page_link("pages/ask.py", label="Open Ask", icon=":material/chat:", query_params=to_parameters(state.address()))
        return
    st.html(
        '<div class="sl-small">Nothing joins the set by itself: accepting opens a draft as a question of your own, to be checked and kept.</div>'
    )
    for draft in waiting:
        with st.container(border=True):
            _draw_draft(corpus, shelf, draft)


def _draw_draft(corpus: Corpus, shelf: Shelf, draft: notes.Draft) -> None:
    try:
        behind = notes.answer_behind(settings().notes_dir, draft)
    except SittError:
        behind = None
    refused = bool(behind and behind.record["refused"])
    question = editing.question_from_draft(draft, lambda id_: document_of(corpus, id_), shelf, refused=refused)
    needs = [[editing.look_up(quote, document_of(corpus, quote.document)) for quote in need] for need in question.evidence]
    st.html(draft_html(draft, behind, needs))
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Accept …",
            type=_main_button(enabled=shelf.trouble is None),
            key=f"accept {draft.id}",
            on_click=_begin,
            args=(Edit(corpus.name, question, draft=draft.id),),
            icon=":material/check:",
            disabled=shelf.trouble is not None,
        )
        with st.popover("Reject …", icon=":material/close:", key=f"reject {draft.id}"):
            st.write("Forget this draft? The answer it was made from stays.")
            st.button("Reject it", type="primary", key=f"reject now {draft.id}", on_click=_reject, args=(draft.id,))


def _reject(draft_id: str) -> None:
    _done(lambda: notes.delete_draft(settings().notes_dir, draft_id), "The draft is rejected.")


def draft_html(draft: notes.Draft, behind: notes.Logged | None, needs: Sequence[Sequence[LookUp]]) -> str:
    """A draft as a reviewer sees it: the question, where it is from, what was thought of the answer, the answer, its quotations."""
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(draft.made))
    if behind is not None:
        asked = time.strftime("%Y-%m-%d %H:%M", time.localtime(behind.asked))
        provider = behind.record["provider"] or "a provider that was not noted"
        origin = f"from an answer on Ask of {asked}, by {provider}"
    else:
        origin = f"from {draft.origin}" if draft.origin and "/" not in draft.origin else "from an answer that is no longer kept"
    thumb = THUMBS.get(behind.thumb, "No thumb") if behind else "No thumb is known"
    note = f' · note: <span dir="auto">{escape(behind.note)}</span>' if behind and behind.note else ""
    refused = behind is not None and behind.record["refused"]
    reference = (
        f'<div class="sl-part"><b>Its answer</b></div><div class="sl-text" dir="auto">{escape(draft.reference)}</div>'
        if draft.reference
        else f'<div class="sl-part"><b>{"It was answered that the corpus does not say." if refused else "No reference answer."}</b></div>'
    )
    evidence = needs_html(needs) or '<div class="sl-part"><b>No quotation</b> came with it.</div>'
    return (
        f'<div data-draft="{escape(draft.id)}"><h2 class="sl-h" dir="auto">{escape(draft.question)}</h2>'
        f'<div class="sl-small">Drafted {made}, {escape(origin)}</div><div class="sl-part"><b>{thumb}</b>{note}</div>{reference}{evidence}</div>'
    )


def draw_files(corpus: Corpus, colours: Palette) -> None:
    """A file of questions taken in whole or not at all, and the set given out."""
    del colours
    shelf, _ = reviewed(corpus)
    left, right = st.columns(2, gap="large")
    with left:
        _draw_import(corpus, shelf)
    with right:
        _draw_export(corpus, shelf)


def _draw_import(corpus: Corpus, shelf: Shelf) -> None:
    st.html(
        '<h2 class="sl-h">Import</h2><div class="sl-small">A YAML file in the format of docs/golden-sets.md. It is checked whole; its questions '
        "become your own, all of them or none. A BEIR collection is asked as it is: <code>python -m evals run --dataset beir:FOLDER</code>.</div>"
    )
    upload = st.file_uploader("A file of questions", type=["yaml", "yml"], key="questions upload", max_upload_size=1, on_change=state.acted)
    if upload is None:
        return
    data = upload.getvalue()
    checked = _checked(corpus, shelf, data)
    st.html(import_html(checked))
    if checked.problems:
        return
    count = len(checked.questions)
    allowed = not checked.findings or st.checkbox("Take them with what would be marked", key="questions anyway", on_change=state.acted)
    allowed = allowed and shelf.trouble is None
    st.button(
        f"Add {count:,} question{'s' * (count > 1)}",
        type=_main_button(enabled=allowed),
        key="add import",
        disabled=not allowed,
        on_click=_import,
        args=(corpus.name, checked),
        icon=":material/add:",
    )


@st.cache_data(show_spinner="Checking the file …", max_entries=8, ttl=1800, hash_funcs=_KNOWN_BY)
def _checked(corpus: Corpus, shelf: Shelf, data: bytes) -> Import:
    # A large corpus's documents come with their text only where a question names them, and these are not on the shelf yet.
    return editing.read_import(shelf, data, corpus.all_documents())


def _import(corpus: str, checked: Import) -> None:
    count = len(checked.questions)
    said = f"{count:,} question{'s are' if count > 1 else ' is'} added to your own."
    if _done(lambda: editing.add_questions(settings(), corpus, checked.questions), said):
        st.session_state[SECTION] = SET


def import_html(checked: Import) -> str:
    """What a file holds, or everything that is wrong with it."""
    if checked.problems:
        listed = "".join(f'<li><span class="sl-word">problem</span>{escape(problem)}</li>' for problem in checked.problems)
        count = len(checked.problems)
        return f'<div class="sl-part" role="alert"><b>{count:,} problem{"s" * (count > 1)}: nothing of it is taken.</b></div><ul class="sl-findings">{listed}</ul>'
    marked = "".join(finding_html(finding, name=True) for finding in checked.findings)
    sealed = sum(question.split != "open" for question in checked.questions)
    hidden = f" {sealed:,} of them are sealed: their text is hidden once they are taken." if sealed else ""
    count = len(checked.questions)
    told_ = f'<div class="sl-part" role="status"><b>{count:,} question{"s" * (count > 1)} can be taken.</b>{hidden}</div>'
    return told_ + (f'<div class="sl-part"><b>These would be marked</b></div><ul class="sl-findings">{marked}</ul>' if marked else "")


def _draw_export(corpus: Corpus, shelf: Shelf) -> None:
    st.html(
        '<h2 class="sl-h">Export</h2><div class="sl-small">Open questions only. The sealed ones go out with '
        "<code>python -m evals questions export FOLDER --sealed</code> alone.</div>"
    )
    own, open_ = (
        [each for each in shelf.own if each.split == "open"],
        [each for each in (*shelf.bundled, *shelf.own) if each.split == "open"],
    )
    st.download_button(
        f"Your own: {len(own):,} as YAML",
        editing.export_yaml(own),
        f"{corpus.name}-own.yaml",
        "application/yaml",
        key="export own",
        disabled=not own,
        icon=":material/download:",
        on_click="ignore",
    )
    st.download_button(
        f"All: {len(open_):,} as YAML",
        lambda: editing.export_yaml(open_),
        f"{corpus.name}.yaml",
        "application/yaml",
        key="export all",
        disabled=not open_,
        icon=":material/download:",
        on_click="ignore",
    )
    st.html(
        '<div class="sl-small">As a BEIR folder: documents, questions and judgements as other retrieval tools read them, the generated questions too.</div>'
    )
    if st.button("Make the BEIR zip", key="make beir", icon=":material/folder_zip:", on_click=state.acted):
        try:
            with st.spinner("Writing the collection …"):
                data = editing.export_beir(shelf, corpus.all_documents())
        except SittError as error:
            st.error(told(error))
        else:
            st.download_button(
                f"Download {len(data) / 2**20:.1f} MB",
                data,
                f"{corpus.name}-beir.zip",
                "application/zip",
                key="export beir",
                icon=":material/download:",
                on_click="ignore",
            )

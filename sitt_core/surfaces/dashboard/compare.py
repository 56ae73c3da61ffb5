"""The parts of the Compare page: choosing two to four configurations, their passages side by side, what they share, their answers."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from sitt_core import notes
from sitt_core.configuration import BY_NAME, Configuration, configure, configure_leniently, parse_field
from sitt_core.errors import SittError
from sitt_core.pipeline import Asking, Engine, search
from sitt_core.retrieval.align import Group, align, overlap
from sitt_core.store.reading import Corpus
from sitt_core.surfaces import desk
from sitt_core.surfaces.answer_view import answer_view, is_weak
from sitt_core.surfaces.dashboard import building, cards, lab_new, state
from sitt_core.surfaces.dashboard.answer import draw_answer
from sitt_core.surfaces.dashboard.plain import plain_label
from sitt_core.surfaces.dashboard.theme import Palette
from sitt_core.surfaces.dashboard.told import told
from sitt_core.types import Retrieval

LETTERS = "ABCD"
OTHERS, ANSWERS, REFUSED = "compare others", "compare answers", "compare refused"
EXCERPT = 280
"""Characters of a passage that a column shows before it is unfolded."""


@dataclass(frozen=True, slots=True)
class Side:
    """One configuration with what it found; `engine` and `result` are None while its index is missing or it cannot run."""

    letter: str
    configuration: Configuration
    engine: Engine | None = None
    result: Retrieval | None = None


def chosen() -> list[Configuration]:
    """The configurations that are compared: the session's current one, then those that were added."""
    return [state.configuration(), *st.session_state.get(OTHERS, [])]


def style_sheet(colours: Palette) -> str:
    """The `<style>` of this page's own HTML."""
    return f"""<style>
.sl-side{{border-left:3px solid {colours.line};padding:.1rem .5rem .1rem .7rem;margin:.3rem 0 .6rem;overflow-wrap:anywhere;scroll-margin-top:4.5rem}}
.sl-side.sl-common{{border-left-color:{colours.accent}}}
.sl-side.sl-common:is(:target,:focus){{outline:2px solid {colours.accent};outline-offset:2px}}
.sl-side b a{{color:{colours.text};text-decoration-color:{colours.accent};text-underline-offset:2px}}
.sl-side h3{{font-size:.98rem;font-weight:650;margin:0;padding:0;line-height:1.35}}
.sl-side p{{margin:.25rem 0;font-size:.9rem;line-height:1.5;white-space:pre-wrap;unicode-bidi:plaintext}}
.sl-side summary{{cursor:pointer;color:{colours.faint};font-size:.82rem}}
.sl-matrix{{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}}
.sl-matrix :is(th,td){{padding:.25rem .7rem;border-bottom:1px solid {colours.line};text-align:right;font-weight:400}}
.sl-matrix th[scope=row]{{text-align:left}}
</style>"""


def draw_chooser() -> None:
    """What is compared, each with a button to leave it out, and a form for one more."""
    for letter, configuration in zip(LETTERS, chosen(), strict=False):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            what = "as set on Explore" if letter == "A" else changes_text(configuration, state.configuration())
            st.html(
                f'<div><b>{letter}</b> {escape(configuration.slug)} <span class="sl-small">{escape(what)}</span></div>', width="stretch"
            )
            if letter != "A":
                st.button("Leave out", key=f"compare out {letter}", on_click=_leave_out, args=(LETTERS.index(letter) - 1,), type="tertiary")
    if len(chosen()) < len(LETTERS):
        _draw_add()
    if refused := st.session_state.pop(REFUSED, None):
        st.html(cards.notice([refused], problem=True))


def changes_text(configuration: Configuration, base: Configuration) -> str:
    """How a configuration differs from another, field by field."""
    differing = [f"{BY_NAME[name].label} {value}" for name, value in configuration.to_dict().items() if value != base[name]]
    return ", ".join(differing) or "the same as A"


def _draw_add() -> None:
    """A starting point, and one switch of it to flip."""
    saved = _presets()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.selectbox("Add", ["A with one switch flipped", "the defaults", *saved], key="compare base", width=240)
        flipping = st.session_state["compare base"] == "A with one switch flipped"
        if flipping:
            names = [name for name in BY_NAME if not name.startswith("answer.")]
            field = BY_NAME[st.selectbox("Switch", names, key="compare field", format_func=lambda name: BY_NAME[name].label, width=200)]
            if field.choices:
                others = [value for value in field.choices if value != state.configuration()[field.name]]
                st.selectbox("to", others, key=f"compare value {field.name}", width=160, accept_new_options=bool(field.prefixes))
            else:
                st.text_input("to", key=f"compare value {field.name}", placeholder=field.allowed, width=160)
        st.button("Add", on_click=_add, args=(dict(saved),), key="compare add", type="primary")


def _presets() -> Mapping[str, notes.Fields]:
    try:
        return notes.presets(state.workshop().settings.notes_dir)
    except SittError:
        return {}  # the sidebar's popover says what is wrong with them


def _add(saved: Mapping[str, notes.Fields]) -> None:
    state.acted()
    base = st.session_state["compare base"]
    try:
        if base in saved:
            made = configure_leniently(saved[base], state.workshop().settings.defaults)[0]
        elif base == "the defaults":
            made = state.workshop().settings.defaults
        else:
            name = st.session_state["compare field"]
            made = configure({name: parse_field(name, st.session_state.get(f"compare value {name}") or "")}, state.configuration())
    except SittError as error:
        st.session_state[REFUSED] = f"Expected {error.expected}; got {error.got}. {error.remedy}"
        return
    if made.key in {each.key for each in chosen()}:
        st.session_state[REFUSED] = f"{made.slug} is among them already."
        return
    st.session_state[OTHERS] = [*st.session_state.get(OTHERS, []), made]


def _leave_out(at: int) -> None:
    state.acted()
    st.session_state[OTHERS] = [each for place, each in enumerate(st.session_state.get(OTHERS, [])) if place != at]


def find(corpus: Corpus, question: str) -> list[Side]:
    """Every chosen configuration with what it finds; one that cannot run yet, or at all, without."""
    sides = []
    for letter, configuration in zip(LETTERS, chosen(), strict=False):
        side = Side(letter, configuration)
        if corpus.has_index_for(configuration) and configuration.mode != "none":
            try:
                engine = state.workshop().engine(corpus, configuration)
                side = replace(side, engine=engine, result=search(question, engine, filters=state.address().filters))
            except SittError as error:
                st.error(f"{letter}: {told(error)}")
        sides.append(side)
    return sides


def draw_sides(corpus: Corpus, sides: Sequence[Side], colours: Palette) -> None:
    """A column for each configuration: what it took, its passages, each with links to the same one under the others."""
    there = [side for side in sides if side.result]
    groups = align([side.result.passages for side in there if side.result])
    st.html(group_style(groups, colours))
    for column, side in zip(st.columns(len(sides), gap="medium"), sides, strict=True):
        with column:
            changed = "as set on Explore" if side.letter == "A" else changes_text(side.configuration, sides[0].configuration)
            st.html(f'<h2 class="sl-h">{side.letter} · {escape(side.configuration.slug)}</h2>')
            if side.result is None:
                _draw_missing(corpus, side)
                continue
            st.html(f'<div class="sl-small">{escape(changed)}<br>{facts(side.result)}</div>')
            st.html("".join(side_html(side, there, groups)) or cards.notice(["Nothing was found."]))


def group_style(groups: Sequence[Group], colours: Palette) -> str:
    """The `<style>` that marks a passage in every column while the mouse or the focus is on it in one."""
    shared = [f".sl-same-{group.number}" for group in groups if len(group.sides) > 1]
    marks = "".join(
        f"[data-testid=stMain]:has({name}:is(:hover,:focus-within)) {name}{{background:color-mix(in srgb,{colours.accent} 13%,transparent)}}"
        for name in shared
    )
    return f"<style>{marks}</style>"


def _draw_missing(corpus: Corpus, side: Side) -> None:
    if side.configuration.mode == "none":
        st.html(cards.notice(["Both retrievers are off, so nothing ranks the passages."]))
    elif not corpus.has_index_for(side.configuration):
        building.offer_index(corpus, side.configuration)


def facts(result: Retrieval) -> str:
    """How long a search took and how much it shows."""
    tokens = sum(passage.chunk.tokens for passage in result.passages)
    return f"{len(result.passages)} passages, {tokens:,} tokens, {result.trace.milliseconds:.1f} ms"


def side_html(side: Side, there: Sequence[Side], groups: Sequence[Group]) -> list[str]:
    """A column's passages as HTML."""
    assert side.result is not None
    own = there.index(side)
    pieces = []
    for passage in side.result.passages:
        group = next(each for each in groups if passage.rank in each.ranks[own])
        also = "; ".join(_links(there[at].letter, ranks) for at, ranks in enumerate(group.ranks) if ranks and at != own)
        said = f"also {also}" if also else "only here" if len(there) > 1 else ""
        path = escape(" › ".join(cards.headings(passage.title, passage.chunk.heading_path)))
        text = passage.chunk.text[cards.body_start(passage.chunk.text) :]
        rest = f"<details><summary>the whole passage</summary><p>{escape(text)}</p></details>" if len(text) > EXCERPT else ""
        shown = text if len(text) <= EXCERPT else text[:EXCERPT].rpartition(" ")[0] + " …"
        kind = f" sl-common sl-same-{group.number}" if also else ""
        pieces.append(
            f'<div class="sl-side{kind}" id="{_anchor(side.letter, passage.rank)}" tabindex="-1">'
            f'<h3><span class="sl-rank">{passage.rank}</span>{escape(passage.title)}</h3>'
            f'<div class="sl-small">{path}{" · " if path and said else ""}<b>{said}</b></div><p>{escape(shown)}</p>{rest}'
            f'<div class="sl-small">{escape(passage.source.title)} · {escape(passage.source.license)}</div></div>'
        )
    return pieces


def _links(letter: str, ranks: Sequence[int]) -> str:
    """Where a passage stands under another configuration, each rank a link to it."""
    return ", ".join(
        f'<a href="#{_anchor(letter, rank)}" aria-label="{letter} {rank}: the same passage">{letter} {rank}</a>' for rank in ranks
    )


def _anchor(letter: str, rank: int) -> str:
    return f"passage-{letter.lower()}-{rank}"


def draw_overlap(sides: Sequence[Side]) -> None:
    """How much every two share, in documents and in text."""
    there = [side for side in sides if side.result]
    if len(there) < 2:
        return
    st.html('<h2 class="sl-h">What they share</h2><div class="sl-small">Documents / text that both show, of what either shows.</div>')
    st.html(matrix_html(there))


def matrix_html(there: Sequence[Side]) -> str:
    """The overlap of every two results as a table."""
    rows = []
    for one in there:
        cells = []
        for other in there:
            assert one.result is not None
            assert other.result is not None
            found = overlap(one.result.passages, other.result.passages)
            cells.append("<td>–</td>" if one is other else f"<td>{found.documents:.0%} / {found.characters:.0%}</td>")
        rows.append(f'<tr><th scope="row">{one.letter}</th>{"".join(cells)}</tr>')
    head = "".join(f'<th scope="col">{side.letter}</th>' for side in there)
    return f'<table class="sl-matrix"><thead><tr><td></td>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def draw_answers(corpus: Corpus, sides: Sequence[Side], question: str, colours: Palette) -> None:
    """Each configuration's answer, asked for by a button that says what it may cost."""
    there = [side for side in sides if side.engine]
    costs = [f"{side.letter}: {line}" for side in there if side.engine and (line := desk.price_line(state.workshop(), side.engine))]
    st.html('<h2 class="sl-h">Their answers</h2>')
    if costs:
        st.html(cards.notice(costs))
    if st.button("Answer under each", key="compare answer", disabled=not there, type="primary" if not costs else "secondary"):
        state.acted()
        st.session_state[ANSWERS] = {_answer_key(corpus, side, question): _answer(side, question) for side in there}
    held: Mapping[str, Any] = st.session_state.get(ANSWERS, {})
    if not any(_answer_key(corpus, side, question) in held for side in there):
        return
    for column, side in zip(st.columns(len(there), gap="medium"), there, strict=True):
        with column:
            _draw_one_answer(corpus, side, held.get(_answer_key(corpus, side, question)), colours)


def _answer_key(corpus: Corpus, side: Side, question: str) -> str:
    return f"{corpus.identity} {side.configuration.key} {question}"


def _answer(side: Side, question: str) -> dict[str, Any] | str:
    """An answer as a note keeps it, or what went wrong."""
    assert side.engine is not None
    try:
        provider = state.workshop().provider(side.engine)
        with st.spinner(f"{side.letter} is answering …"):
            made = asyncio.run(Asking(question, side.engine, provider, filters=state.address().filters).run())
    except SittError as error:
        return told(error)
    return notes.record_of(made)


def _draw_one_answer(corpus: Corpus, side: Side, record: Mapping[str, Any] | str | None, colours: Palette) -> None:
    st.html(f"<b>{side.letter}</b>")
    if record is None:
        st.html('<div class="sl-small">not asked yet</div>')
    elif isinstance(record, str):
        st.error(record)
    else:
        if is_weak(record):
            st.html(cards.notice(["Weak match: these sentences may be beside the question."]))
        draw_answer(answer_view(record, partial(_document, corpus)), colours, key=f"compare answer {side.letter}")
        st.html(f'<div class="sl-small">{escape(desk.usage_line(record))}</div>')


def _document(corpus: Corpus, document_id: str) -> Any:
    return corpus.document(document_id)


def draw_send() -> None:
    """A button that takes the same configurations to the lab."""
    if st.button(
        "Send to the Lab", help="Ask every open golden question under these configurations; filters stay here.", key="compare send"
    ):
        lab_new.hand_over({plain_label(f"{letter} {each.slug}"): each for letter, each in zip(LETTERS, chosen(), strict=False)})
        st.switch_page("pages/lab.py")

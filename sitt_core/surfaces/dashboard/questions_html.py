"""Questions, their evidence and what is wrong with them as HTML: every character that people wrote is escaped."""

import time
from collections.abc import Mapping, Sequence
from html import escape

from evals.editing import LookUp, Review, Row, Shelf, Sight
from evals.exchange import Import
from evals.golden import CHECKED_FOR_WORDING, MAX_CONTAINMENT, Finding, Question
from sitt_core import notes
from sitt_core.errors import SittError
from sitt_core.surfaces.dashboard.theme import Palette

WHOSE = {"own": "your own", "bundled": "bundled", "generated": "generated"}
PLACES_SHOWN = 3
MAX_LISTED = 50
"""How many findings of a file are listed; the others are counted."""
THUMBS = {"up": "Thumbs up", "down": "Thumbs down"}


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


def told_plainly(error: SittError) -> str:
    """A named failure as text, for our own HTML."""
    return f"Expected {error.expected}; got {error.got}. {error.remedy}"


def summary_html(shelf: Shelf, review: Review) -> str:
    """The set in a sentence or two: how many, whose, how many are marked, and why some stay hidden."""
    rows = review.rows
    sealed, marked = sum(row.sealed for row in rows), sum(bool(row.findings) for row in rows)
    parts = [f"{len(shelf.own):,} of your own" if shelf.own else "None of your own yet"]
    if shelf.bundled:
        parts.append(f"{len(shelf.bundled):,} bundled (read-only; a copy can be edited)")
    parts.append(f"{len(shelf.generated):,} generated, “Tell me about …” for every document: a new document gets its own by itself")
    hidden = (
        f" The text of {sealed:,} sealed ones stays hidden, so that nobody tunes to them: they only confirm a result, once a choice is made."
        if sealed
        else ""
    )
    count = f"<b>{len(rows):,} questions about {escape(shelf.corpus)}, {marked:,} with findings.</b>"
    return f'<div class="sl-line">{count}<br><span>{"; ".join(parts)}.{hidden}</span></div>'


def finding_html(finding: Finding, *, name: bool = False) -> str:
    """A finding as a list entry: its word, and the sentence."""
    which = f"{escape(finding.question)}: " if name else ""
    return f'<li><span class="sl-word">{escape(finding.kind)}</span>{which}{escape(finding.message)}</li>'


def question_html(row: Row, needs: Sequence[Sequence[LookUp]], titles: Mapping[str, str]) -> str:
    """A question as a card: what is wrong with it first, then what it expects, each quotation where it stands, the answer."""
    question = row.question
    path = " · ".join([question.kind, question.split, WHOSE[row.whose], *([] if row.sealed else [question.id])])
    found = (
        "".join(map(finding_html, row.findings)) or '<li class="sl-fine"><span class="sl-word">fine</span>Nothing is wrong with it.</li>'
    )
    head = (
        f'<article class="sl-card" data-question="{escape(question.id)}"><h2 dir="auto">{escape(question.text or question.id.capitalize())}</h2>'
        f'<div class="sl-path">{escape(path)}</div><ul class="sl-findings">{found}</ul>'
    )
    if row.sealed:
        why = "What it asks, its id, its documents and its evidence stay hidden: it is kept for <code>python -m evals confirm</code>, and what nobody has seen nobody has tuned to."
        mine = " Yours can be changed in its file in the notes folder, where the sealed ones of a kind stand in the order of their numbers, or deleted here."
        mine = mine if row.whose == "own" else ""
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


def draft_html(draft: notes.Draft, behind: notes.Logged | None, needs: Sequence[Sequence[LookUp]]) -> str:
    """A draft as a reviewer sees it: the question, where it is from, what was thought of the answer, the answer, its quotations."""
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(draft.made))
    if behind is not None:
        asked = time.strftime("%Y-%m-%d %H:%M", time.localtime(behind.asked))
        provider = behind.record["provider"] or "a provider that was not noted"
        origin = f"from an answer on Ask of {asked}, by {provider}"
    elif draft.origin == notes.FROM_PASSAGES:
        origin = "from passages on Explore"
    else:
        origin = f"from {draft.origin}" if draft.origin and "/" not in draft.origin else "from an answer that is no longer kept"
    from_passage = draft.origin == notes.FROM_PASSAGES or draft.origin.startswith(notes.FROM_A_MODEL)  # there never was an answer
    thumb = THUMBS.get(behind.thumb, "No thumb") if behind else "" if from_passage else "No thumb is known"
    note = f' · note: <span dir="auto">{escape(behind.note)}</span>' if behind and behind.note else ""
    thought = f'<div class="sl-part"><b>{thumb}</b>{note}</div>' if thumb else ""
    refused = behind is not None and behind.record["refused"]
    reference = (
        f'<div class="sl-part"><b>Its answer</b></div><div class="sl-text" dir="auto">{escape(draft.reference)}</div>'
        if draft.reference
        else f'<div class="sl-part"><b>{"It was answered that the corpus does not say." if refused else "No reference answer."}</b></div>'
    )
    evidence = needs_html(needs) or '<div class="sl-part"><b>No quotation</b> came with it.</div>'
    return (
        f'<div data-draft="{escape(draft.id)}"><h2 class="sl-h" dir="auto">{escape(draft.question)}</h2>'
        f'<div class="sl-small">Drafted {made}, {escape(origin)}</div>{thought}{reference}{evidence}</div>'
    )


def import_html(checked: Import) -> str:
    """What a file holds, or everything that is wrong with it."""
    notes_ = _listed("It was read like this", [_entry_html("note", note, fine=True) for note in checked.notes])
    if checked.problems:
        count = len(checked.problems)
        heading = f'<div class="sl-part" role="alert"><b>{count:,} problem{"s" * (count > 1)}: nothing of it is taken.</b></div>'
        return heading + _listed("", [_entry_html("problem", problem) for problem in checked.problems]) + notes_
    sealed = sum(question.split != "open" for question in checked.questions)
    hidden = f" {sealed:,} of them are sealed: their text is hidden once they are taken." if sealed else ""
    count = len(checked.questions)
    told_ = f'<div class="sl-part" role="status"><b>{count:,} question{"s" * (count > 1)} can be taken.</b>{hidden}</div>'
    return told_ + notes_ + _listed("These would be marked", [finding_html(finding, name=True) for finding in checked.findings])


def _entry_html(word: str, sentence: str, *, fine: bool = False) -> str:
    kind = ' class="sl-fine"' if fine else ""
    return f'<li{kind}><span class="sl-word">{word}</span>{escape(sentence)}</li>'


def _listed(heading: str, entries: Sequence[str]) -> str:
    """List entries under a heading, the first of many; nothing where there are none."""
    if not entries:
        return ""
    more = f'<li class="sl-small">and {len(entries) - MAX_LISTED:,} more</li>' if len(entries) > MAX_LISTED else ""
    above = f'<div class="sl-part"><b>{heading}</b></div>' if heading else ""
    return f'{above}<ul class="sl-findings">{"".join(entries[:MAX_LISTED])}{more}</ul>'

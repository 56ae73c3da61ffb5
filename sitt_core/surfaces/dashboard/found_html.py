"""What an update would do, and has done, as HTML: every character of a source is escaped."""

from collections.abc import Mapping, Sequence
from html import escape

from evals.preflight import KINDS, Preflight, Recall, Touch, Touched, Turned
from evals.summary import counted, short
from sitt_core.surfaces.dashboard.theme import Palette
from sitt_core.surfaces.source_forms import describe

BUCKETS = {
    "added": "new in the source",
    "changed": "another text, title or licence than what is stored",
    "removed": "no longer in the source: they are retired and can be restored",
    "unchanged": "as stored: nothing is embedded again",
    "failed": "could not be read: what is stored of them stays as it was",
    "kept": "restored by hand and not in the source: they stay",
    "elsewhere": "already in the corpus, from another of its sources",
    "withheld": "missing from the source, which was not read as a whole: they stay",
}
"""The parts of a plan and what each means; the first five are always shown."""
ALWAYS = 5
SHOWN_LINES = 1500
SHOWN_SECTIONS = 12
SHOWN_TOUCHES = 60
TOUCHED = {"question": "open question", "citation": "citation of past answers", "answer": "kept answer of runs"}
"""What may be touched, in the singular."""
_PLURALS = {"question": "open questions", "citation": "citations of past answers", "answer": "kept answers of runs"}


def style_sheet(colours: Palette) -> str:
    """The `<style>` of what was found."""
    return f"""<style>
ul.sl-list{{margin:.2rem 0 .4rem;padding:0;list-style:none;font-size:.88rem;line-height:1.5;color:{colours.text}}}
.sl-list li{{margin:0;padding:.25rem 0;border-bottom:1px solid {colours.line};overflow-wrap:anywhere;font-size:inherit}}
.sl-list li:last-child{{border-bottom:0}}
.sl-list i{{font-style:normal;color:{colours.faint}}}
.sl-tag{{display:inline-block;padding:0 .4rem;margin:0 .3rem .15rem 0;border:1px solid {colours.line};border-radius:6px;font-size:.8rem;color:{colours.text};overflow-wrap:anywhere}}
.sl-tag b{{font-weight:650}}
.sl-lost{{border-color:{colours.danger};color:{colours.danger}}}
.sl-breaks{{overflow-wrap:anywhere}}
table.sl-recall{{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums;color:{colours.text};margin:.3rem 0;max-width:34rem;width:100%}}
.sl-recall :is(th,td){{text-align:right;padding:.2rem .6rem .2rem 0;border-bottom:1px solid {colours.line};font-weight:400}}
.sl-recall :is(th,td):first-child{{text-align:left}}.sl-recall thead th{{color:{colours.faint}}}
.st-key-turned [data-testid=stPageLink] a *{{white-space:normal;overflow:visible;text-overflow:clip}}
.sl-recall .sl-worse{{color:{colours.danger};font-weight:650}}
</style>"""


def source_html(place: str, counts: Mapping[str, int]) -> str:
    """A source's name and what is in its buckets."""
    told = describe(place)
    return (
        f'<h3 class="sl-h sl-breaks" dir="auto">{escape(told.name)}</h3><div class="sl-small sl-breaks">{escape(told.kind)} · {escape(place)}</div>'
        f"{buckets_html(counts)}"
    )


def buckets_html(counts: Mapping[str, int]) -> str:
    """The sizes of the buckets in a row; the less usual ones only when there is something in them."""
    shown = [(name, counts.get(name, 0)) for at, name in enumerate(BUCKETS) if counts.get(name) or at < ALWAYS]
    return f'<div class="sl-buckets">{"".join(f"<div><b>{count:,}</b>{name}</div>" for name, count in shown)}</div>'


def diff_html(lines: Sequence[str]) -> str:
    """A unified diff as HTML, escaped; added and removed lines keep their + and −, so that colour is not all."""
    kinds = {"+": "added", "-": "removed", "@": "place-of"}
    drawn = []
    for number, line in enumerate(lines[:SHOWN_LINES]):
        kind = "place-of" if number < 2 else kinds.get(line[:1], "same")
        drawn.append(f'<div class="sl-{kind}" dir="auto">{escape(line) or " "}</div>')
    if len(lines) > SHOWN_LINES:
        drawn.append(f'<div class="sl-place-of">… {len(lines) - SHOWN_LINES:,} more lines</div>')
    return f'<div class="sl-diff" tabindex="0" role="region" aria-label="Differences">{"".join(drawn)}</div>'


def sections_html(sections: Sequence[tuple[str, str]]) -> str:
    """The sections that differ, each with how; nothing for none."""
    tags = [f'<span class="sl-tag" dir="auto">{escape(path)} <b>{escape(how)}</b></span>' for path, how in sections[:SHOWN_SECTIONS]]
    more = f'<span class="sl-small">and {len(sections) - SHOWN_SECTIONS:,} more</span>' if len(sections) > SHOWN_SECTIONS else ""
    return f'<div class="sl-sections"><span class="sl-small">Sections: </span>{"".join(tags)}{more}</div>' if sections else ""


def failures_html(failures: Sequence[tuple[str, str]]) -> str:
    """What could not be read, each with why."""
    lines = "".join(f'<li dir="auto"><b>{escape(name)}</b> <i>{escape(reason)}</i></li>' for name, reason in failures)
    return f'<ul class="sl-list">{lines}</ul>'


def touched_label(touched: Touched, kind: str) -> str:
    """How many of a kind are touched, for the head of what opens."""
    count, lost = touched.counts.get(kind, 0), touched.lost.get(kind, 0)
    name = TOUCHED[kind] if count == 1 else _PLURALS[kind]
    return f"{count:,} {name}" + (f", {lost:,} of which lose{'s' * (lost == 1)} words" if lost else "")


def touches_html(touches: Sequence[Touch]) -> str:
    """What is touched, one by one: its words, the document, and what becomes of that; those that lose words first."""
    shown = sorted(touches, key=lambda touch: not touch.lost)[:SHOWN_TOUCHES]
    lines = "".join(map(_touch_html, shown))
    more = f"<li><i>and {len(touches) - len(shown):,} more</i></li>" if len(touches) > len(shown) else ""
    return f'<ul class="sl-list">{lines}{more}</ul>'


def _touch_html(touch: Touch) -> str:
    lost = ' <span class="sl-tag sl-lost">its words are gone</span>' if touch.lost else ""
    return f'<li dir="auto">{escape(touch.text)} <i>{escape(touch.document_id)}, {escape(touch.how)}</i>{lost}</li>'


def touched_note(touched: Touched) -> str:
    """What was not looked through, and why; "" when all was."""
    unread = [counted(count, name.removesuffix("s")) for name, count in touched.unread.items() if count]
    older = f"Not looked through: {' and '.join(unread)}, older than those that were. " if unread else ""
    return f"{older}{touched.note}".strip()


def is_untouched(touched: Touched) -> bool:
    """Whether nothing that is built on the corpus is touched."""
    return not any(touched.counts.get(kind, 0) for kind in KINDS)


def preflight_html(found: Preflight) -> str:
    """Recall@5 before and after as a table, and what is special about it; figures with three digits, as every headline has them."""
    alike = found.all == found.generated
    rows = [
        ("generated questions" if alike else "open questions", found.all),
        ("those that are touched", found.touched),
        *([] if alike else [("generated questions", found.generated)]),
    ]
    drawn = "".join(_recall_html(name, recall) for name, recall in rows if recall.before is not None)
    head = '<thead><tr><th scope="col">Recall@5</th><th scope="col">questions</th><th scope="col">before</th><th scope="col">after</th></tr></thead>'
    table = f'<table class="sl-recall">{head}<tbody>{drawn}</tbody></table>' if drawn else ""
    left = f"{counted(found.left_out, 'question')} could not be asked before either. " if found.left_out else ""
    note = f"{found.note[:1].upper()}{found.note[1:]}." if found.note else ""
    told = f'<div class="sl-small">{escape(left + note)}</div>' if left or note else ""
    return table + told


def _recall_html(name: str, recall: Recall) -> str:
    assert recall.before is not None and recall.after is not None
    worse = ' class="sl-worse"' if recall.after < recall.before else ""
    fall = " ↓" if worse else ""
    return (
        f'<tr><th scope="row">{name}</th><td>{recall.questions:,}</td><td>{short(recall.before, 3)}</td>'
        f"<td{worse}>{short(recall.after, 3)}{fall}</td></tr>"
    )


def turned_label(turned: Turned) -> str:
    """A question that turned, on a line."""
    return f"{'lost' if turned.after < turned.before else 'found'}: {turned.text} ({turned.why})"

"""The Lab page's answers to be read: a question, up to four configurations beside each other, claims with verdicts, thumbs."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from evals import judged, verdicts
from evals.charts import number
from evals.qualities import BY_QUALITY
from evals.report import default_metric
from evals.results import Asked, Run
from evals.summary import labels
from evals.verdicts import AnswerView
from sitt_core.errors import SittError
from sitt_core.store.reading import Corpus
from sitt_core.surfaces.dashboard import cards, lab_confirm, lab_data, lab_runs, state
from sitt_core.surfaces.dashboard.lab_charts import link
from sitt_core.surfaces.dashboard.told import told

MOST = 4
"""How many answers stand beside each other."""
FIRST = 3
PASSAGE_SHOWN = 1_200
"""How many characters of a passage stand under a claim; the whole one is in the list below."""
BY, KINDS, QUESTION, PLACES, DIFFERENT = "lab sides by", "lab sides kinds", "lab sides question", "lab sides places", "lab sides different"


def draw_sides(run: Run, metric: str) -> None:
    """Choose a question, those that configurations differ in most first; read the answers and say what you think of them."""
    lab_runs.say_refused()
    order = _choose_order(run)
    if not order:
        st.html(cards.notice(["No question is left: choose other kinds, or turn off Different only."]))
        return
    key = f"{QUESTION} {run.manifest.id}"
    if st.session_state.get(key) not in order:
        st.session_state[key] = order[0]
    question = st.selectbox(
        f"Question, of {len(order):,}; those that configurations differ in most first",
        order,
        key=key,
        format_func=lambda place: run.questions[place].text if place < len(run.questions) else "",
        persist_state="session",
    )
    places = _choose_places(run, metric)
    views = verdicts.answer_views(run, question, places)
    given = verdicts.thumbs_of(run, lab_data.logged())
    texts = Passages(run)
    asked = run.questions[question]
    st.html(asked_html(asked, _reference(run, asked.id)))
    for column, view in zip(st.columns(len(views)), views, strict=True):
        with column:
            st.html(answer_html(view, [texts.of(each) for each in view.passages]))
            if view.text:
                _draw_thumb(run, view.place, question, given.get((view.place, question), ""))
            link(run, view.place, question, "Open in Explore →")
    if run.judged is not None:
        said = f"Judge: {run.judged.judge}. Thumbs are kept with the run; Noise and agreement counts them."
        st.html(f'<div class="sl-small">{escape(said)}</div>')


def _choose_order(run: Run) -> list[int]:
    """The questions of the chosen kinds, those that the configurations differ in most by a metric first."""
    left, middle, right = st.columns([2, 3, 2], vertical_alignment="bottom")
    there = [name for name in run.metrics if name != "refused"]
    key = f"{BY} {run.manifest.id}"
    if st.session_state.get(key) not in there:
        st.session_state[key] = first_metric(run)
    metric = left.selectbox("Sorted by", there, key=key, on_change=_first_question, args=(run.manifest.id,), persist_state="session")
    kinds = middle.multiselect(
        "Kinds",
        list(dict.fromkeys(asked.kind for asked in run.questions)),
        key=f"{KINDS} {run.manifest.id}",
        placeholder="all",
        persist_state="session",
    )
    different = right.toggle("Different only", key=DIFFERENT, help="Leaves out questions in which all configurations score the same.")
    scored = lab_data.order_of(run, metric, different)
    others = () if different else sorted(set(range(len(run.questions))) - set(scored))
    return [place for place in (*scored, *others) if not kinds or run.questions[place].kind in kinds]


def _first_question(run_id: str) -> None:
    """Another order begins with its first question."""
    state.acted()
    st.session_state.pop(f"{QUESTION} {run_id}", None)


def first_metric(run: Run) -> str:
    """What questions are sorted by at first: a metric that answers were judged by, if there is one."""
    judged_by = run.judged.metrics if run.judged else ()
    return next((name for name in (*verdicts.AGREEING, *judged_by) if name in judged_by), default_metric(run))


def _choose_places(run: Run, metric: str) -> list[int]:
    names, key = labels(run), f"{PLACES} {run.manifest.id}"
    ranked = [row.place for row in lab_data.board_of(run, metric).rows]
    if not st.session_state.get(key):
        st.session_state[key] = ranked[:FIRST]
    chosen = st.multiselect(
        f"Configurations, up to {MOST}",
        ranked,
        key=key,
        format_func=lambda place: names[place] if place < len(names) else "",
        max_selections=MOST,
        persist_state="session",
    )
    return list(chosen) or ranked[:FIRST]


def _reference(run: Run, question_id: str) -> str:
    """The question's reference answer as it is now; empty where the golden set cannot be read any more."""
    try:
        golden = lab_confirm.subject_of(run).golden
    except SittError:
        return ""
    return next((each.answer for each in golden.questions if each.id == question_id and each.split == "open"), "")


def asked_html(asked: Asked, reference: str) -> str:
    """The question with its reference answer, escaped."""
    told_ = f'<div class="sl-line" dir="auto"><b>Reference:</b> {escape(reference)}</div>' if reference else ""
    return (
        f'<div class="sl-asked" dir="auto">{escape(asked.text)}</div>'
        f'<div class="sl-small">{escape(asked.kind)} · {escape(asked.id)}</div>{told_}'
    )


class Passages:
    """The texts of the passages that answers were made from; empty ones where the corpus has changed."""

    def __init__(self, run: Run) -> None:
        self._corpus: Corpus | None = None
        if not lab_data.corpus_changed(run):
            self._corpus = state.workshop().corpus(run.manifest.corpus)

    def of(self, place: tuple[str, int, int]) -> tuple[str, str]:
        """A passage's title and text."""
        document_id, start, end = place
        if self._corpus is None:
            return document_id, ""
        try:
            document = self._corpus.document(document_id)
        except SittError:
            return document_id, ""
        return document.title, document.text[start:end].strip()


def answer_html(view: AnswerView, passages: Sequence[tuple[str, str]]) -> str:
    """An answer with what was judged of it, escaped; `passages` are its titles and texts in their order."""
    parts = [f'<h2 dir="auto">{escape(view.label)}</h2>']
    if view.refused:
        parts.append('<div class="sl-small"><b>Refused.</b></div>')
    if view.sentences:
        parts += [_sentence_html(each, passages) for each in view.sentences]
    elif view.text:
        parts.append(f'<div class="sl-said" dir="auto">{escape(view.text)}</div>')
    else:
        parts.append(f'<div class="sl-small">No answer{f": {escape(view.problem)}" if view.problem else ""}.</div>')
    if view.text and not view.sentences and "groundedness" not in view.scores and "groundedness" not in view.missing:
        parts.append('<div class="sl-small">Its claims were not judged one by one: that is groundedness.</div>')
    parts += [_scores_html(view.scores), _missing_html(view.missing), _marks_html(view.marks)]
    parts += [_statements_html(metric, each) for metric, each in view.statements.items()]
    parts.append(_passages_html(passages))
    return f'<article class="sl-card">{"".join(parts)}</article>'


def _sentence_html(sentence: Mapping[str, Any], passages: Sequence[tuple[str, str]]) -> str:
    claims = "".join(_claim_html(each, passages) for each in sentence.get("claims", ()))
    listed = f'<ul class="sl-claims">{claims}</ul>' if claims else '<div class="sl-small">No claim in it.</div>'
    return f'<div class="sl-said" dir="auto">{escape(str(sentence.get("sentence", "")))}</div>{listed}'


def _verdict_html(supported: object, yes: str = "supported", no: str = "not supported") -> str:
    return f'<b class="sl-yes">✓ {yes}</b>' if supported else f'<b class="sl-no">✗ {no}</b>'


def _claim_html(claim: Mapping[str, Any], passages: Sequence[tuple[str, str]]) -> str:
    """A claim with its verdict; unfolded, the judge's reason and the passages that support it."""
    shown = "".join(
        f'<div class="sl-small">passage {at}: {escape(passages[at - 1][0])}</div>{_quoted_html(_beginning(passages[at - 1][1]))}'
        for at in claim.get("passages", ())
        if 1 <= at <= len(passages)
    )
    named = f" <span>({', '.join(f'passage {at}' for at in claim['passages'])})</span>" if claim.get("passages") else ""
    return (
        f"<li><details><summary>{_verdict_html(claim.get('supported'))} {escape(str(claim.get('claim', '')))}{named}</summary>"
        f"<p>Reason: {escape(str(claim.get('reason', '')) or 'none given')}</p>{shown}</details></li>"
    )


def _beginning(text: str) -> str:
    return text if len(text) <= PASSAGE_SHOWN else f"{text[:PASSAGE_SHOWN].rstrip()} …"


def _quoted_html(text: str) -> str:
    return f'<div class="sl-quoted" dir="auto">{escape(text)}</div>' if text else ""


def _scores_html(scores: Mapping[str, float]) -> str:
    if not scores:
        return ""
    rows = "".join(
        f"<dt>{escape(name)}{' (less is better)' if name in BY_QUALITY and BY_QUALITY[name].lower_is_better else ''}</dt><dd>{number(value)}</dd>"
        for name, value in scores.items()
    )
    return f'<dl class="sl-facts">{rows}</dl>'


def _missing_html(missing: Mapping[str, str]) -> str:
    """Why scores are missing, metrics of one reason together."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in missing.items():
        by_reason.setdefault(reason, []).append(name)
    return "".join(f'<div class="sl-small">No {escape(", ".join(names))}: {escape(reason)}</div>' for reason, names in by_reason.items())


def _marks_html(marks: Mapping[str, str]) -> str:
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(reason)}</dd>" for name, reason in marks.items())
    return f'<details><summary>Reasons of the rubric</summary><dl class="sl-facts">{rows}</dl></details>' if marks else ""


def _statements_html(metric: str, statements: Sequence[Mapping[str, Any]]) -> str:
    """RAGAS's statements of a metric with verdicts and reasons; of context precision they are about whole passages."""
    helping = metric == "context-precision"
    held = sum(bool(each.get("supported")) for each in statements)
    counted_ = f"{held} of {len(statements)} {'passages help' if helping else 'supported'}"
    lines = "".join(
        f"<li>{_verdict_html(each.get('supported'), 'yes' if helping else 'supported', 'no' if helping else 'not supported')} "
        f"{escape(str(each.get('claim', '')))}<p>Reason: {escape(str(each.get('reason', '')) or 'none given')}</p></li>"
        for each in statements
    )
    return f'<details><summary>RAGAS, {escape(metric)}: {counted_}</summary><ul class="sl-claims">{lines}</ul></details>'


def _passages_html(passages: Sequence[tuple[str, str]]) -> str:
    lines = "".join(_numbered(at, each) for at, each in enumerate(passages, start=1))
    return f"<details><summary>The {len(passages)} passages it was made from</summary>{lines}</details>" if passages else ""


def _numbered(at: int, passage: tuple[str, str]) -> str:
    return f'<div class="sl-small">{at}. {escape(passage[0])}</div>{_quoted_html(passage[1])}'


def _draw_thumb(run: Run, place: int, question: int, thumb: str) -> None:
    key = f"lab thumb {run.manifest.id} {place} {question}"
    if key not in st.session_state and thumb:
        st.session_state[key] = 1 if thumb == "up" else 0
    st.feedback("thumbs", key=key, on_change=_rate, args=(run, place, question, key))


def _rate(run: Run, place: int, question: int, key: str) -> None:
    state.acted()
    given = st.session_state.get(key)
    try:
        judged.set_thumb(run.folder, place, question, "" if given is None else "up" if given else "down")
    except SittError as error:
        st.session_state[lab_runs.REFUSED] = told(error)

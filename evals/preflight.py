"""What an update does to what is built on a corpus, before it is published: the evidence, citations and answers that it touches, and Recall@5.

Nothing is written here. Of a sealed question nothing leaves this module: neither what it says, nor its id, nor a figure.
"""

import contextlib
import functools
import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from evals import results
from evals.editing import load_all, open_shelf
from evals.golden import FLOOR, GoldenSet, Question, Quote, places_of, resolve
from evals.metrics import ANSWER_METRICS, Gold, parse_metric, score_retrieval
from evals.results import Run
from evals.scoring import DEPTH, Embedded, Ground, Texts, embed_questions, find
from evals.summary import HEADLINE, counted, short
from sitt_core import notes
from sitt_core.build import Workshop
from sitt_core.configuration import Configuration
from sitt_core.errors import InvalidInput, NotFound, RecallFell, SittError, StoreError
from sitt_core.ingest import Check
from sitt_core.notes import Logged
from sitt_core.pipeline import Engine
from sitt_core.plan import Update, changed_spans
from sitt_core.quotes import find_folded
from sitt_core.settings import Settings
from sitt_core.store.reading import Corpus
from sitt_core.text import check_question
from sitt_core.types import Report, Span

MOST_CONVERSATIONS, MOST_RUNS = 50, 20
"""How many conversations, and runs with answers, are looked through, the newest ones; the others are counted."""
MOST_TOLD = 200
"""How many citations, and how many answers, are told one by one; questions all are."""
MOST_GENERATED = 200
"""How many generated questions are asked at most, evenly over all of them: a large corpus has one for every document."""
NAMED_IN_ERROR = 3
NAMED_IN_TERMINAL = 10
_ALL = 1_000_000_000

Kind = Literal["question", "citation", "answer"]
How = Literal["changed", "removed"]
KINDS: tuple[Kind, ...] = ("question", "citation", "answer")
_NOUNS: Mapping[Kind, str] = {"question": "open question", "citation": "citation of past answers", "answer": "kept answer of runs"}
_PLURALS: Mapping[Kind, str] = {"question": "open questions", "citation": "citations of past answers", "answer": "kept answers of runs"}


@dataclass(frozen=True, slots=True)
class Touch:
    """Something that rests on a passage which an update changes or removes, and the document that the passage is of.

    `text` is what a question asks, or the quoted words of a citation; an answer of a run has its question's text. `lost`:
    the quoted words stand nowhere in the document any more. `where` is the id of the conversation or the run, "" for a question.
    """

    kind: Kind
    id: str
    text: str
    document_id: str
    how: How
    lost: bool
    where: str = ""


@dataclass(frozen=True, slots=True)
class Touched:
    """All that an update touches; `touches` tells at most `MOST_TOLD` citations and answers each, those that are lost first.

    `counts` says how many questions, citations and answers there are by kind, each once however many documents of its are
    touched, and `lost` how many of them lost words; both are exact for what was read. `unread` counts the older conversations
    and runs that were not looked through. `note` says what could not be read.
    """

    touches: tuple[Touch, ...] = ()
    counts: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    lost: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    unread: Mapping[str, int] = field(default_factory=lambda: {"conversations": 0, "runs": 0})
    note: str = ""

    @property
    def questions(self) -> frozenset[str]:
        """The ids of the open questions that are touched."""
        return frozenset(touch.id for touch in self.touches if touch.kind == "question")

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, which `touched_from_json` reads back."""
        return _plain(asdict(self))

    def lines(self) -> list[str]:
        """In words, for a terminal."""
        said = [_touched_line(self, kind) for kind in KINDS if self.counts[kind]]
        said = said or ["Touches no open question, no citation of past answers and no kept answer of runs."]
        unread = [counted(count, name.removesuffix("s")) for name, count in self.unread.items() if count]
        said += [f"Not looked through: {' and '.join(unread)}, older than those that were."] if unread else []
        return said + ([f"Note: {self.note}"] if self.note else [])


@dataclass(frozen=True, slots=True)
class Recall:
    """Recall@5 over the same questions before and after an update; None where nothing was measured."""

    questions: int = 0
    before: float | None = None
    after: float | None = None

    @property
    def drop(self) -> float:
        """By how much it falls, below 0 where it rises; 0 where nothing was measured."""
        return 0.0 if self.before is None or self.after is None else round(self.before - self.after, 9)  # so that .05 is not above .05


@dataclass(frozen=True, slots=True)
class Turned:
    """An open question whose score an update changes, and why."""

    id: str
    text: str
    before: float
    after: float
    touched: bool
    why: str


@dataclass(frozen=True, slots=True)
class Preflight:
    """Recall@5 before and after an update, under one configuration, of open questions that the corpus answers.

    `all` is over those written by hand, as every headline of the project, `generated` over "Tell me about X" of documents
    that are there before and after; where nobody has written any, `all` is over the generated ones. `touched` is over those
    whose evidence the update touches. `left_out` are questions that could not be asked before either. `note` says why
    there are no figures, or what is special about them. `unreadable`: the questions are there and could not be read, so that
    nobody knows what the update does to them.
    """

    all: Recall = Recall()
    touched: Recall = Recall()
    generated: Recall = Recall()
    turned: tuple[Turned, ...] = ()
    left_out: int = 0
    note: str = ""
    unreadable: bool = False

    @property
    def drop(self) -> float:
        """By how much Recall@5 falls on all open questions: those written by hand, or the generated ones if these fall further."""
        return max(self.all.drop, self.generated.drop)

    @property
    def fell(self) -> bool:
        """Whether it falls at all, on all open questions or on those that the update touches."""
        return self.drop > 0 or self.touched.drop > 0

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, with `drop` and `fell` for who reads no Python; `preflight_from_json` reads it back."""
        return _plain(asdict(self) | {"drop": self.drop, "fell": self.fell})

    def lines(self) -> list[str]:
        """In words, for a terminal: Recall@5 before and after, and the questions that turned, the lost ones first."""
        alike = self.all == self.generated
        said = _recall_line(self.all, f"all {'generated' if alike else 'open'} questions")
        said += _recall_line(self.touched, "those that are touched")
        said += [] if alike else _recall_line(self.generated, "the generated ones")
        said += [f"{_turn(each)}: {each.text} ({each.why})" for each in self.turned[:NAMED_IN_TERMINAL]]
        more = len(self.turned) - NAMED_IN_TERMINAL
        said += [f"and {counted(more, 'question')} more"] if more > 0 else []
        said += [f"Left out: {counted(self.left_out, 'question')} that could not be asked before either."] if self.left_out else []
        return said + ([f"Note: {self.note}"] if self.note else [])


def touched(settings: Settings, corpus: Corpus, updates: Sequence[Update]) -> Touched:
    """What rests on passages that the updates change or remove: open questions, citations in the answers log, answers of runs.

    Of a changed document only the spans that `changed_spans` gives count, and quotations that are no longer found as they
    were. Only documents that are named somewhere are read. Runs and conversations that cannot be read are passed over;
    a run of an earlier state of the corpus is read as if its documents were still the same.
    """
    return _Look(settings, corpus, updates).all()


class _Change:
    """A document that an update changes or removes: its text as it is, and as it will be."""

    def __init__(self, document_id: str, sha256: str, old: str, new: str | None) -> None:
        self.document_id, self.sha256, self.old, self.new = document_id, sha256, old, new
        self.how: How = "removed" if new is None else "changed"
        self.spans = changed_spans(old, new) if new is not None else []

    def loses(self, spans: Sequence[Span], words: str) -> bool | None:
        """Whether the words, which stand at those spans, stand nowhere afterwards; None where the change does not touch them."""
        if self.new is None:
            return True
        if spans and next(find_folded(self.new, words), None) is None:
            return True
        return False if any(_overlap(span, changed) for span in spans for changed in self.spans) else None

    def loses_evidence(self, quote: Quote) -> bool | None:
        """As `loses`; a quotation that can no longer be told, as it stands several times now, is touched too."""
        if self.new is None:
            return True
        then = places_of(quote, self.old)
        lost = self.loses([Span(place.start, place.end) for place in then], quote.quote)
        return False if lost is None and len(then) == 1 != len(places_of(quote, self.new)) else lost

    def loses_document(self) -> bool | None:
        """As `loses`, for what rests on the document as a whole."""
        return True if self.new is None else False if self.spans else None


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


class _Look:
    """One look through everything that could be touched."""

    def __init__(self, settings: Settings, corpus: Corpus, updates: Sequence[Update]) -> None:
        self.settings, self.corpus = settings, corpus
        self.sha256 = {document.id: document.sha256 for document in corpus.documents}
        fresh = [{*update.plan.added, *update.plan.changed} for update in updates]
        self.new = {
            document.id: document
            for update, own in zip(updates, fresh, strict=True)
            for document in update.listing.documents
            if document.id in own
        }
        gone = {id_ for update in updates for id_ in (*update.plan.changed, *update.plan.removed)}
        self.ids = gone & self.sha256.keys()
        self.change = functools.cache(self._change)
        self.notes: list[str] = []

    def _change(self, document_id: str) -> _Change:
        """What becomes of a document; what one source removes another may bring back."""
        new = self.new.get(document_id)
        return _Change(document_id, self.sha256[document_id], self.corpus.document(document_id).text, new.text if new else None)

    def all(self) -> Touched:
        if not self.ids:
            return Touched()
        shelf = open_shelf(self.settings, self.corpus.name, [(document.id, document.title) for document in self.corpus.documents])
        if shelf.trouble:
            self.notes.append(f"your own questions could not be read, nor therefore answers to them told: {_spared(shelf.trouble)}")
        conversations, older = self._conversations()
        # Which answers of runs are to sealed questions of one's own nobody knows then.
        runs, earlier = self._runs() if shelf.trouble is None else ((), 0)
        hidden = {text for question in shelf.questions if question.split != "open" for text in (question.id, question.text)}
        found: dict[Kind, list[Touch]] = {
            "question": [
                touch for question in (*shelf.bundled, *shelf.own) if question.split == "open" for touch in self._question(question)
            ],
            "citation": [touch for id_ in conversations for touch in self._conversation(id_)],
            "answer": [touch for run in runs for touch in self._run(run, hidden)],
        }
        told = [touch for kind, each in found.items() for touch in sorted(each, key=lambda touch: not touch.lost)[: _most(kind)]]
        return Touched(
            tuple(told),
            {kind: _distinct(each) for kind, each in found.items()},
            {kind: _distinct([touch for touch in each if touch.lost]) for kind, each in found.items()},
            {"conversations": older, "runs": earlier},
            "; ".join(self.notes),
        )

    def _question(self, question: Question) -> Iterator[Touch]:
        """A touch for every document in which the evidence, or without any the expected documents, are touched."""
        quotes = [quote for need in question.evidence for quote in need]
        for document_id in dict.fromkeys(quote.document for quote in quotes) if quotes else question.documents:
            if document_id in self.ids:
                change = self.change(document_id)
                own = [quote for quote in quotes if quote.document == document_id]
                lost = _worst([change.loses_evidence(quote) for quote in own] if quotes else [change.loses_document()])
                if lost is not None:
                    yield Touch("question", question.id, question.text, document_id, change.how, lost)

    def _conversations(self) -> tuple[list[str], int]:
        """The newest conversations about the corpus, and how many more there are."""
        try:
            found = [each.id for each in notes.conversations(self.settings.notes_dir, corpus=self.corpus.name, most=_ALL)]
        except SittError as error:
            self.notes.append(f"the answers log could not be read: {error}")
            return [], 0
        return found[:MOST_CONVERSATIONS], len(found[MOST_CONVERSATIONS:])

    def _conversation(self, conversation: str) -> Iterator[Touch]:
        answers: Sequence[Logged] = ()
        with contextlib.suppress(SittError):  # deleted in another window since it was listed
            answers = notes.conversation_answers(self.settings.notes_dir, conversation)
        for answer in answers:
            if answer.corpus == self.corpus.name:
                for cited in _listed(answer.record.get("citations")):
                    yield from self._citation(answer, cited)

    def _citation(self, answer: Logged, cited: object) -> Iterator[Touch]:
        """A touch where a quote that stands in the corpus is touched; one that an earlier update lost is not lost again."""
        with contextlib.suppress(KeyError, TypeError, ValueError):  # not as this version writes it
            kept: Any = cited
            if kept["document_id"] in self.ids and kept["span"] is not None:
                change, quote = self.change(kept["document_id"]), str(kept["quote"])
                same = kept["sha256"] == change.sha256
                spans = [Span(int(kept["span"]["start"]), int(kept["span"]["end"]))] if same else list(find_folded(change.old, quote))
                lost = change.loses(spans, quote) if spans else None
                if lost is not None:
                    id_ = f"{answer.id}:{kept['marker']}"
                    yield Touch("citation", id_, quote, change.document_id, change.how, lost, answer.conversation)

    def _runs(self) -> tuple[Sequence[Run], int]:
        """The newest runs about the corpus that have answers, and how many more there are."""
        about = [run for run in results.runs(self.settings.runs_dir) if run.manifest.corpus == self.corpus.name]
        found = [run for run in about if set(run.manifest.metrics) & set(ANSWER_METRICS)]
        return found[:MOST_RUNS], len(found[MOST_RUNS:])

    def _run(self, run: Run, hidden: Collection[str]) -> Iterator[Touch]:
        """A touch for every document in which a kept answer has a touched quote; of what is `hidden` none."""
        rows: Sequence[Mapping[str, Any]] = ()
        with contextlib.suppress(SittError, ValueError):
            rows = [row for row in results.rows(run) if isinstance(row["answer"], dict)]
        for row in rows:
            with contextlib.suppress(IndexError, TypeError):
                asked, entry = run.questions[row["q"]], run.manifest.configurations[row["c"]]
                if asked.id not in hidden and asked.text not in hidden:
                    losses: dict[str, list[bool | None]] = {}
                    for cited in _listed(row["answer"].get("citations")):
                        self._add_loss(losses, cited)
                    for document_id, each in losses.items():
                        if (lost := _worst(each)) is not None:
                            how = self.change(document_id).how
                            yield Touch("answer", f"{entry.key}:{asked.id}", asked.text, document_id, how, lost, run.manifest.id)

    def _add_loss(self, losses: dict[str, list[bool | None]], cited: object) -> None:
        """Notes what becomes of a quote of a run's answer, which is kept as its place alone."""
        with contextlib.suppress(IndexError, KeyError, TypeError, ValueError):  # not as this version writes it
            kept: Any = cited
            document_id, span = kept[0], Span(int(kept[1]), int(kept[2]))
            if document_id in self.ids:
                change = self.change(document_id)
                words = change.old[span.start : span.end]
                if words.strip():
                    losses.setdefault(document_id, []).append(change.loses([span], words))


def _most(kind: Kind) -> int | None:
    return None if kind == "question" else MOST_TOLD


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _worst(losses: Sequence[bool | None]) -> bool | None:
    """Whether any is lost, of those that are touched; None when none is."""
    found = [lost for lost in losses if lost is not None]
    return any(found) if found else None


def _distinct(touches: Sequence[Touch]) -> int:
    return len({(touch.id, touch.where) for touch in touches})


class _Side:
    """A corpus as the questions meet it, before the update or after it."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.texts = engine, Texts(engine.corpus)
        self.ground = Ground(engine.index, self.texts)
        self._golds: dict[str, Gold] = {}

    def gold(self, question: Question) -> Gold:
        """What the question should find here."""
        if question.id not in self._golds:
            self._golds[question.id] = resolve(question, self.texts.get)
        return self._golds[question.id]

    def score(self, question: Question, embedded: Embedded) -> tuple[float | None, int | None]:
        """Recall@5 as a run scores it, and the rank of the first passage of an expected document."""
        gold, hits = self.gold(question), find(question.text, self.engine, embedded).ranking.hits[:DEPTH]
        passages = [self.ground.shown(hit) for hit in hits]
        value = score_retrieval([parse_metric(HEADLINE)], gold, passages)[HEADLINE].value
        ranks = (rank for rank, passage in enumerate(passages, start=1) if gold.relevant.intersection(passage.documents))
        return value, next(ranks, None)

    def trouble(self, question: Question) -> str:
        """Why what was found before cannot be found here; "" when it could be."""
        if self.gold(question).stale:
            lost = [need for need in question.evidence if not any(places_of(quote, self.texts.get(quote.document) or "") for quote in need)]
            return "its evidence is no longer in the corpus" if lost else "its evidence can no longer be told: it stands at several places"
        there = any(self.texts.get(document) is not None for document in question.documents)
        return "" if there else "no document that it expects is in the corpus any more"


def measure(
    workshop: Workshop, before: Corpus | None, after: Corpus, configuration: Configuration, touched: Touched, *, report: Report
) -> Preflight:
    """Recall@5 of both generations of a corpus, over the open questions that the earlier one can be asked.

    Both are asked with the same vectors. A question whose evidence only the later one lacks scores 0 there; of what could not
    be asked before either, only the number is told. There are no figures, and a note, without an earlier generation that
    has the configuration's index, without an open question, and where the questions cannot be read. Raises what the later
    generation's engine raises, ModelError or Cancelled.
    """
    if before is None:
        return Preflight(note="there is no earlier generation to compare with")
    both = {document.id for document in before.documents} & {document.id for document in after.documents}
    try:
        golden = load_all(workshop.settings, before.name, [(each.id, each.title) for each in before.documents if each.id in both])
    except SittError as error:
        return Preflight(note=f"the questions cannot be read: {_spared(error)}", unreadable=True)
    questions = _asked(golden)
    if not questions:
        return Preflight(note=f"{before.name} has no open question that it answers")
    try:
        earlier = workshop.engine(before, configuration)
    except (NotFound, StoreError) as error:
        return Preflight(note=f"the earlier generation cannot be searched with this configuration: {error}")
    sides = _Side(earlier), _Side(workshop.engine(after, configuration))
    asked = [question for question in questions if _askable(question) and not sides[0].gold(question).stale]
    embedded = _embedded(sides[1].engine, asked, report)
    return _compared(sides, asked, embedded, touched.questions, left_out=len(questions) - len(asked), report=report)


def _spared(error: SittError) -> str:
    """An error about questions without what came: that may be a sealed one, or its id."""
    return f"expected {error.expected}. The Questions page says what is wrong."


def _asked(golden: GoldenSet) -> list[Question]:
    """The open questions that the corpus answers, of the generated ones at most `MOST_GENERATED`."""
    there = [question for question in golden.questions if question.split == "open" and question.answerable]
    written = [question for question in there if question.kind != FLOOR]
    generated = [question for question in there if question.kind == FLOOR]
    return [*written, *generated[:: math.ceil(len(generated) / MOST_GENERATED) or 1]]


def _askable(question: Question) -> bool:
    try:
        check_question(question.text)
    except InvalidInput:
        return False
    return bool(question.documents)


def _embedded(engine: Engine, questions: Sequence[Question], report: Report) -> Embedded:
    if engine.embed is None:
        return Embedded()
    texts = [question.text.strip() for question in questions]
    return embed_questions(engine.embed, texts, report=lambda done: report("embed questions", done, len(texts)))


def _compared(
    sides: tuple[_Side, _Side],
    questions: Sequence[Question],
    embedded: Embedded,
    touched_ids: frozenset[str],
    *,
    left_out: int,
    report: Report,
) -> Preflight:
    scores: list[tuple[Question, float, float]] = []
    turned = []
    for done, question in enumerate(questions):
        report("ask questions", done, len(questions))
        was, before_rank = sides[0].score(question, embedded)
        trouble = sides[1].trouble(question)
        is_, rank = (0.0, None) if trouble else sides[1].score(question, embedded)
        assert was is not None and is_ is not None  # every question here is answerable, and names a document
        scores.append((question, was, is_))
        if was != is_:
            why = trouble or f"{_at(rank)}, {_was(before_rank)}"
            turned.append(Turned(question.id, question.text, was, is_, question.id in touched_ids, why))
    report("ask questions", len(questions), len(questions))
    written = [(was, is_) for question, was, is_ in scores if question.kind != FLOOR]
    generated = [(was, is_) for question, was, is_ in scores if question.kind == FLOOR]
    return Preflight(
        all=_recall(written or generated),
        touched=_recall([(was, is_) for question, was, is_ in scores if question.id in touched_ids]),
        generated=_recall(generated),
        turned=tuple(sorted(turned, key=lambda each: each.after - each.before)),
        left_out=left_out,
        note=_note(written, generated),
    )


def _note(written: Sequence[object], generated: Sequence[object]) -> str:
    if written:
        return ""
    return (
        "no question written by hand could be asked: the generated ones were"
        if generated
        else "no open question could be asked before the update"
    )


def _at(rank: int | None) -> str:
    return f"now at rank {rank}" if rank else "now found nowhere"


def _was(rank: int | None) -> str:
    return f"before at {rank}" if rank else "before nowhere"


def _recall(scores: Sequence[tuple[float, float]]) -> Recall:
    if not scores:
        return Recall()
    return Recall(len(scores), *(math.fsum(side) / len(scores) for side in zip(*scores, strict=True)))


def check_max_drop(value: float) -> float:
    """The drop of Recall@5 that an update may bring, as it is; raises InvalidInput for what is not from 0 to 1."""
    if not 0 <= value <= 1:
        raise InvalidInput(expected="a drop of Recall@5 from 0 to 1", got=f"{value}", remedy="For example --max-recall-drop 0.05")
    return value


def checking(
    workshop: Workshop,
    corpus: Corpus | None,
    updates: Sequence[Update],
    configuration: Configuration,
    *,
    touched: Touched | None = None,
    max_drop: float,
    confirm: Callable[[Preflight], bool] | None,
    tell: Callable[[Preflight], None],
    report: Report,
) -> Check:
    """What keeps `apply_update` from publishing a generation that finds less: RecallFell when nobody confirms a fall.

    `tell` is told of every measurement. A fall, however small, asks `confirm`; without it one of more than `max_drop` on all
    open questions is refused. So are questions that cannot be read, unless `max_drop` is 1. `touched` is what `touched` says, looked up when it is not given. Raises InvalidInput for a
    `max_drop` that is not from 0 to 1.
    """
    check_max_drop(max_drop)

    def check(after: Corpus) -> None:
        seen = touched or (_Look(workshop.settings, corpus, updates).all() if corpus else Touched())
        found = measure(workshop, corpus, after, configuration, seen, report=report)
        tell(found)
        if found.unreadable and (max_drop < 1 if confirm is None else not confirm(found)):
            raise RecallFell(
                expected="the open questions, to be asked before and after",
                got=found.note,
                remedy="Nothing was published. Mend the file; to publish unasked: --yes --max-recall-drop 1",
            )
        if confirm is None and found.drop > max_drop:
            raise _fell(found, f"to fall by at most {max_drop:g}")
        if confirm is not None and found.fell and not confirm(found):
            raise _fell(found, "somebody to accept the fall")

    return check


def _fell(found: Preflight, wanted: str) -> RecallFell:
    """Names the figures that fall most: of all questions, else of the generated, else of those that are touched."""
    recall, of = (found.generated, "generated") if found.generated.drop > found.all.drop else (found.all, "open")
    if found.drop <= 0:
        recall, of = found.touched, "touched"
    lost = [each for each in found.turned if each.after < each.before]
    more = f"; and {len(lost) - NAMED_IN_ERROR} more" if len(lost) > NAMED_IN_ERROR else ""
    named = "; ".join(f"{each.text} ({each.why})" for each in lost[:NAMED_IN_ERROR])
    enough = math.ceil(round(max(found.drop, 0.0) * 1000, 6)) / 1000
    return RecallFell(
        expected=f"Recall@5, {_three(recall.before)} on {counted(recall.questions, f'{of} question')} before the update, {wanted}",
        got=f"{_three(recall.after)} after it; {counted(len(lost), 'question')} lost and {len(found.turned) - len(lost):,} found: {named}{more}",
        remedy=f"Nothing was published. Look at these questions; to publish anyway: --yes --max-recall-drop {enough:g}",
    )


def _three(value: float | None) -> str:
    return "–" if value is None else short(value, 3)


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON reads it back, with lists where Python has tuples."""
    return dict(json.loads(json.dumps(value)))


def preflight_json(touched: Touched, preflight: Preflight | None) -> dict[str, Any]:
    """Both as plain JSON, `preflight` being null before anything is measured; `from_json` reads it back."""
    return {"touched": touched.to_json(), "preflight": preflight.to_json() if preflight else None}


def from_json(value: Mapping[str, Any]) -> tuple[Touched, Preflight | None]:
    """What `preflight_json` was made of; raises StoreError for anything else."""
    with _reading():
        return touched_from_json(value["touched"]), preflight_from_json(value["preflight"]) if value["preflight"] is not None else None


def touched_from_json(value: Mapping[str, Any]) -> Touched:
    """What `to_json` was made of; raises StoreError for anything else."""
    with _reading():
        return Touched(**{**value, "touches": tuple(Touch(**touch) for touch in value["touches"])})


def preflight_from_json(value: Mapping[str, Any]) -> Preflight:
    """What `to_json` was made of; raises StoreError for anything else."""
    with _reading():
        recalls = {name: Recall(**value[name]) for name in ("all", "touched", "generated")}
        turned = tuple(Turned(**each) for each in value["turned"])
        return Preflight(**recalls, turned=turned, left_out=value["left_out"], note=value["note"], unreadable=value["unreadable"])


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(expected="a pre-flight as it is kept", got=str(error), remedy="Check for changes again.") from error


def summary_lines(touched: Touched, preflight: Preflight | None = None) -> list[str]:
    """Both in words, for a terminal."""
    return [*touched.lines(), *(preflight.lines() if preflight else [])]


def _turn(turned: Turned) -> str:
    return "lost" if turned.after < turned.before else "found"


def _touched_line(touched: Touched, kind: Kind) -> str:
    """Such as `Touches 3 open questions, of which 1 loses what it rests on: in lake.md, sky.md.`"""
    count, lost = touched.counts[kind], touched.lost[kind]
    name = _NOUNS[kind] if count == 1 else _PLURALS[kind]
    where = list(dict.fromkeys(touch.document_id for touch in touched.touches if touch.kind == kind))
    listed = ", ".join(where[:3]) + (", …" if len(where) > 3 else "")
    loses = f", of which {lost:,} lose{'s' * (lost == 1)} what {'it rests' if lost == 1 else 'they rest'} on" if lost else ""
    return f"Touches {count:,} {name}{loses}: in {listed}."


def _recall_line(recall: Recall, of: str) -> list[str]:
    if recall.before is None:
        return []
    return [f"Recall@5 on {of} ({recall.questions:,}): {_three(recall.before)} before, {_three(recall.after)} after."]

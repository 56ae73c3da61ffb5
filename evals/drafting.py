"""Drafts of golden questions: which passages a language model is asked about, what becomes of what it drafts, where that is kept.

Nothing here touches a golden set: what passes the filters waits on the Questions page until a person accepts it. What a sealed
question says, and which documents it is about, decides which drafts are left out and is in no outcome.
"""

import asyncio
import contextlib
import itertools
import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout
from pydantic import BaseModel

from evals import draft_filters, editing
from evals.draft_filters import Known
from evals.editing import Shelf
from evals.golden import Question, Quote, evidence_places, overlap, places_of
from evals.judge import FORM_TOKENS, Asking, Budget, Judge, Request, Tally, fenced, prompt_text, several
from evals.metrics import Gold
from evals.scoring import Ground, Texts
from sitt_core import jobs, notes
from sitt_core.build import JudgeModel, Workshop, language_of
from sitt_core.chunking.chunks import chunk
from sitt_core.configuration import PROVIDER_KEYS, Configuration, configure
from sitt_core.costs import estimate
from sitt_core.errors import BadAnswer, BudgetSpent, Busy, Cancelled, InvalidInput, KeyMissing, SittError, StoreError
from sitt_core.pipeline import Engine, rank
from sitt_core.settings import Settings
from sitt_core.store.reading import Corpus
from sitt_core.text import check_question, count_tokens, normalise, sha256_text
from sitt_core.types import Chunk, Document, Matrix, Place, Report, Usage

FOLDER = "drafted"
_PASSAGE = ("passage", "outcome", "at")
EMBEDDER = "minilm"
"""Whose vectors say how alike two questions are, whatever the configuration's embedder."""
RETRIEVERS = ("dense", "keyword")
CONCURRENCY = 4
PASSAGE_SECONDS = 180.0
LOCK_SECONDS = 2.0
DEFAULT_COUNT, MAX_COUNT = 20, 1000
WRITTEN_TOKENS = 250
"""About the most that a drafted question takes with its quotation and answer, in JSON."""
LEAST_WORDS = 8
"""A passage of fewer words holds nothing to ask about."""
MAX_DRAFTED = 400
"""The longest drafted question, in characters."""
KEPT, NOTHING, FAILED = "kept", "nothing", "failed"
FILTERS = ("duplicate", "evidence", "dangling", "wording", "undiscriminating")
"""Why a draft is left out, in the order in which they are told; what is like a question that there is comes first and is not shown."""
LIKE_A_QUESTION, LIKE_A_DRAFT = "like a question that there is", "like a draft that waits for review"
_WORD = re.compile(r"\w+")


class Drafted(BaseModel):
    """What a model drafts from a passage; four empty texts when there is nothing to ask about."""

    question: str
    quote: str
    answer: str
    kind: Literal["detail", "described", "alias", "thematic", ""]


@dataclass(frozen=True, slots=True)
class DraftPlan:
    """A drafting before it begins: one call for each of the passages. `tokens` and `dollars` are estimates; what a model thinks comes on top.

    `dollars` is None where a price is not known. `asked_before` counts passages that have been asked about already.
    """

    corpus: str
    model: JudgeModel
    passages: tuple[Chunk, ...]
    asked_before: int
    tokens: int
    dollars: float | None

    @property
    def documents(self) -> int:
        """How many documents the passages are of."""
        return len({passage.document_id for passage in self.passages})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a passage: `kind` is kept, nothing (to ask about), failed, or the filter that left its draft out.

    Of a draft that is like a question that there is, nothing but the reason is told: that question may be sealed.
    """

    kind: str
    reason: str = ""
    document: str = ""
    question: str = ""
    quote: str = ""
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a drafting ended: what became of each passage, how many are left, what the budget said if it ended it, what it took."""

    outcomes: tuple[Outcome, ...]
    left: int
    budget: str
    tally: Tally

    @property
    def counts(self) -> dict[str, int]:
        """How many passages came to each kind of outcome."""
        counted = Counter(outcome.kind for outcome in self.outcomes)
        return {kind: counted[kind] for kind in (KEPT, *FILTERS, NOTHING, FAILED) if counted[kind]}


def plan_drafting(workshop: Workshop, corpus: str, *, count: int = DEFAULT_COUNT, seed: int = 0) -> DraftPlan:
    """What drafting from so many passages takes; nobody is asked.

    Passages are those of structural chunking with its defaults, one of each document before a second of any, in an order that
    `seed` decides; documents that no open question and no draft is about come first. Left out are passages that were asked about
    before, and documents whose questions are sealed. Raises KeyMissing, InvalidInput, NotFound, ModelError or StoreError.
    """
    if not 1 <= count <= MAX_COUNT:
        raise InvalidInput(expected=f"1 to {MAX_COUNT:,} passages", got=f"{count:,}", remedy="Choose a count within that; 20 is a start.")
    model = drafting_model(workshop)
    opened = workshop.corpus(corpus)
    _engine(workshop, opened)  # without its index, drafts could not be tried out after they were paid for
    shelf = _shelf(workshop.settings, corpus)
    asked = asked_before(workshop.settings, corpus)
    about = {document for each in shelf.questions if each.split == "open" for document in (*each.documents, *each.about)}
    about |= {str(each.get("document", "")) for draft in notes.drafts(workshop.settings.notes_dir, corpus) for each in draft.evidence}
    sealed = {each.primary for each in shelf.questions if each.split != "open"}
    passages = tuple(itertools.islice(_sampled(opened, asked=asked, about=about, sealed=sealed, seed=seed), count))
    reads = [_tokens_read(request_for(opened.document(each.document_id).title, each)) for each in passages]
    costs = [estimate(model.price, input_tokens=each, most_output_tokens=WRITTEN_TOKENS) for each in reads]
    known = [cost for cost in costs if cost is not None]
    dollars = sum(known) if len(known) == len(costs) else None
    return DraftPlan(corpus, model, passages, len(asked), sum(reads) + WRITTEN_TOKENS * len(reads), dollars)


def drafting_model(workshop: Workshop) -> JudgeModel:
    """Who drafts: whoever would judge answers. Raises KeyMissing when there is nobody, or the one that is named has no key."""
    model, keys = workshop.judge(()), ", ".join(PROVIDER_KEYS.values())
    if model is None:
        raise KeyMissing(
            expected="a language model that drafts questions",
            got="no key for any",
            remedy=f"Set one of {keys} in .env or the environment, or JUDGE_PROVIDER=ollama for a model of this machine.",
        )
    workshop.require_key(model)
    return model


def _shelf(settings: Settings, corpus: str) -> Shelf:
    """The questions of a corpus, which drafts are held against; raises what keeps one's own from being read."""
    shelf = editing.open_shelf(settings, corpus)
    if shelf.trouble:
        raise shelf.trouble
    return shelf


def tried_on(workshop: Workshop) -> Configuration:
    """What drafts are tried out on: the default configuration's index under both retrievers."""
    return configure({"dense": "exact", "keyword": "bm25s"}, workshop.settings.defaults)


def _engine(workshop: Workshop, corpus: Corpus) -> Engine:
    """What drafts are tried out on, opened; raises IndexMissing, ModelError or StoreError."""
    return workshop.engine(corpus, tried_on(workshop))


def _sampled(corpus: Corpus, *, asked: Collection[str], about: Collection[str], sealed: Collection[str], seed: int) -> Iterator[Chunk]:
    """The passages that may be asked about, in their order."""
    ids = [document.id for document in corpus.documents if document.id not in sealed]
    random.Random(seed).shuffle(ids)  # noqa: S311 - an order, no secret
    ids.sort(key=lambda id_: id_ in about)
    cut: dict[str, list[Chunk]] = {}
    for turn in itertools.count():
        left = False
        for id_ in ids:
            if id_ not in cut:
                cut[id_] = passages_of(corpus.document(id_), seed=seed)
            if turn < len(cut[id_]):
                left = True
                if passage_key(cut[id_][turn]) not in asked:
                    yield cut[id_][turn]
        if not left:
            return


def passages_of(document: Document, *, seed: int = 0) -> list[Chunk]:
    """The passages of a document that are long enough to ask about, in an order that the seed decides."""
    found = [each for each in chunk(document, configure({})) if len(_WORD.findall(each.text)) >= LEAST_WORDS]
    random.Random(f"{seed} {document.id}").shuffle(found)  # noqa: S311 - an order, no secret
    return found


def passage_key(passage: Chunk) -> str:
    """Names a passage by its document and what it says: a changed one is another."""
    return sha256_text(f"{passage.document_id}\0{passage.text}")[:16]


def request_for(title: str, passage: Chunk) -> Request:
    """What a model is asked about a passage."""
    headings = " › ".join(passage.heading_path)
    parts = {"title": title, **({"headings": headings} if headings else {}), "passage": passage.text}
    return Request(f"{prompt_text('drafts')}\n\n{fenced(parts)}", Drafted, _wrong, role="drafts-system")


def _tokens_read(request: Request) -> int:
    return count_tokens(request.system + request.text) + FORM_TOKENS


def _wrong(drafted: Drafted) -> str:
    """What is wrong with a draft's form, or ""."""
    asked = normalise(drafted.question).strip()
    if not asked:
        return ""
    try:
        check_question(asked)
    except InvalidInput as error:
        return error.got
    if len(asked) > MAX_DRAFTED or len(drafted.answer) > editing.MAX_ANSWER:
        return f"a question of {len(asked):,} and an answer of {len(drafted.answer):,} characters"
    missing = [name for name in ("quote", "answer", "kind") if not getattr(drafted, name).strip()]
    return f"a question without {' and '.join(missing)}" if missing else ""


def draft(
    workshop: Workshop,
    plan: DraftPlan,
    *,
    budget_tokens: int | None = None,
    budget_dollars: float | None = None,
    concurrency: int = CONCURRENCY,
    passage_seconds: float = PASSAGE_SECONDS,
    report: Report,
) -> Ended:
    """Asks about the plan's passages, several at a time; each draft that passes the filters is saved as it is made.

    A passage whose call failed is asked about again next time, any other is not. Raises Cancelled, Busy, InvalidInput, KeyMissing,
    ModelError or StoreError.
    """
    if budget_dollars is not None and plan.passages and plan.model.price is None:
        raise InvalidInput(
            expected="a budget in tokens where no price is known",
            got=f"a budget in dollars for {plan.model.provider} {plan.model.model}",
            remedy="Set JUDGE_PRICE_INPUT and JUDGE_PRICE_OUTPUT (dollars per million tokens), or use --budget-tokens.",
        )
    with _alone(workshop.settings, plan.corpus):
        work = _Drafting(workshop, plan, Budget(budget_tokens, budget_dollars), report, passage_seconds)
        stopped = asyncio.run(work.all(concurrency))
        return Ended(tuple(work.outcomes), len(plan.passages) - len(work.outcomes), stopped, work.tally)


class _Drafting:
    """One go at the passages of a plan."""

    def __init__(self, workshop: Workshop, plan: DraftPlan, budget: Budget, report: Report, passage_seconds: float) -> None:
        self.settings, self.plan, self.report, self.passage_seconds = workshop.settings, plan, report, passage_seconds
        self.corpus = workshop.corpus(plan.corpus)
        self.language = language_of(self.corpus)
        self.judge = _judge(workshop, plan.model, budget, self._note_spent)
        self.outcomes: list[Outcome] = []
        self.tally = Tally()
        report("compare", 0, 1)
        self.engine = _engine(workshop, self.corpus)
        texts = Texts(self.corpus)
        self.ground = Ground(self.engine.index, texts)
        self.embed = workshop.embedder(configure({"embedder": EMBEDDER})).embed_passages
        shelf = _shelf(self.settings, plan.corpus)
        self.questions, self.waiting = Known(), Known()
        self._hold(self.questions, [each.text for each in shelf.questions])
        self._hold(self.waiting, [each.question for each in notes.drafts(self.settings.notes_dir, plan.corpus)])
        self.sealed = _sealed_places(shelf, texts)

    def _hold(self, known: Known, texts: Sequence[str]) -> None:
        if texts:
            known.add(texts, self.embed(texts))

    async def all(self, concurrency: int) -> str:
        """Asks about every passage, several at a time; returns what the budget said when it was spent, else ""."""
        return await several(self.plan.passages, self._passage, self._tell, at_once=concurrency)

    def _note_spent(self, usage: Usage) -> None:
        taken = {"in": usage.input_tokens, "out": usage.output_tokens, "dollars": usage.dollars}
        _add(self.settings, self.plan.corpus, {"spent": taken, "provider": self.plan.model.provider, "model": self.plan.model.model})

    def _tell(self) -> None:
        self.report("draft", len(self.outcomes), len(self.plan.passages))

    async def _passage(self, passage: Chunk) -> None:
        """Asks about a passage and keeps what became of it."""
        document = self.corpus.document(passage.document_id)
        try:
            async with asyncio.timeout(self.passage_seconds):
                drafted: Drafted = await Asking(self.judge, self.tally)(request_for(document.title, passage))
        except (BudgetSpent, Cancelled, KeyMissing):
            raise
        except TimeoutError:
            self.outcomes.append(Outcome(FAILED, f"no draft within {self.passage_seconds:g} s", document.id))
        except BadAnswer:  # its message holds what was said, which may be as a sealed question has it
            self.outcomes.append(Outcome(FAILED, "an answer that is not of the form asked for, twice", document.id))
        except SittError as error:
            self.outcomes.append(Outcome(FAILED, str(error), document.id))
        else:
            outcome = self._sifted(drafted, document, passage_key(passage))
            _note(self.settings, self.plan, passage, outcome.kind)
            self.outcomes.append(outcome)

    def _sifted(self, drafted: Drafted, document: Document, key: str) -> Outcome:
        """What becomes of a draft; one that passes every filter is saved."""
        asked, said, answer = (normalise(text).strip() for text in (drafted.question, drafted.quote, drafted.answer))
        if not asked:
            return Outcome(NOTHING, "nothing to ask about", document.id)
        quote = Quote(document.id, said)
        question = Question(f"draft-{key}", asked, drafted.kind, grades={document.id: 1}, evidence=((quote,),), answer=answer)
        places, vector = places_of(quote, document.text), self.embed([asked])[0]
        if draft_filters.is_like(asked, vector, self.questions) or any(overlap(one, other) for one in places for other in self.sealed):
            return Outcome("duplicate", LIKE_A_QUESTION)
        evidence = [_entry(place, document) for place in places]
        kept = Outcome(KEPT, "", document.id, asked, said, answer)
        if self._is_saved(asked, evidence):  # by a process that was killed before it could note that
            return kept
        for filter_, reason in self._objections(question, document, places, vector):
            if reason:
                return Outcome(filter_, reason, document.id, asked, said, answer)
        notes.save_draft(
            self.settings.notes_dir,
            corpus=self.plan.corpus,
            question=asked,
            reference=answer,
            evidence=evidence,
            origin=origin_of(self.plan.model),
            kind=drafted.kind,
        )
        self.waiting.add([asked], vector[None])
        return kept

    def _is_saved(self, asked: str, evidence: Sequence[Mapping[str, Any]]) -> bool:
        held = notes.drafts(self.settings.notes_dir, self.plan.corpus)
        return any(
            each.question == asked and list(each.evidence) == evidence and each.origin.startswith(notes.FROM_A_MODEL) for each in held
        )

    def _objections(self, question: Question, document: Document, places: Sequence[Place], vector: Matrix) -> Iterator[tuple[str, str]]:
        """Every filter with its reason or "", in the order of `FILTERS`; who stops at the first reason needs no search."""
        yield "duplicate", LIKE_A_DRAFT if draft_filters.is_like(question.text, vector, self.waiting) else ""
        yield "evidence", draft_filters.unresolved(question.evidence[0][0].quote, document)
        yield "dangling", draft_filters.dangling(question.text, self.language)
        yield "wording", draft_filters.leaking(question)
        depth = self.engine.configuration.fusion_candidates
        yield "undiscriminating", draft_filters.undiscriminating(self._ranks(question, places[0]), depth)

    def _ranks(self, question: Question, place: Place) -> dict[str, int | None]:
        """The rank of the first chunk that holds the evidence in each retriever's own ranking; None where it has none."""
        index = self.engine.index
        holding = self.ground.holding(question, Gold(question.grades, ((place,),)))
        rankings = {stage.name: stage.hits for stage in rank(question.text, self.engine).stages if stage.name in RETRIEVERS}
        return {
            name: next((at for at, hit in enumerate(hits, start=1) if index.position[hit.chunk_id] in holding), None)
            for name, hits in rankings.items()
        }


def _entry(place: Place, document: Document) -> dict[str, Any]:
    """A piece of evidence as drafts hold it."""
    return {"document": document.id, "start": place.start, "end": place.end, "quote": document.text[place.start : place.end]}


def _sealed_places(shelf: Shelf, texts: Texts) -> list[Place]:
    """Where the evidence of sealed questions stands: a draft with some of that would be marked, and hint at what they ask."""
    sealed = [each for each in shelf.questions if each.split != "open"]
    return [place for each in sealed for place in evidence_places(each, lambda quote: places_of(quote, texts.get(quote.document) or ""))]


def _judge(workshop: Workshop, model: JudgeModel, budget: Budget, spent: Callable[[Usage], None]) -> Judge:
    """The model, asked as a judge is: its answer checked, asked for once more, kept, within the budget."""
    identity = {name: value for name, value in asdict(model).items() if name in ("provider", "model", "address", "max_tokens")}
    return Judge(
        workshop.judging(model),
        identity,
        model.max_tokens,
        lambda reads, writes: estimate(model.price, input_tokens=reads, most_output_tokens=writes),
        budget,
        workshop.settings.judged_dir,
        spent,
    )


def origin_of(model: JudgeModel) -> str:
    """What a draft says of where it is from; a slash would make it the name of an answer."""
    return f"{notes.FROM_A_MODEL} {model.model.rpartition('/')[2]}"


def _ledger(settings: Settings, corpus: str) -> Path:
    """A line for every passage of a corpus that was asked about, and what came of it; one for what each call took. No words of any question."""
    return settings.notes_dir / FOLDER / f"{corpus}.jsonl"


def _lines(path: Path, *names: str) -> Iterator[dict[str, Any]]:
    """A ledger's lines that hold those names; one that a kill left half written is passed over. Raises StoreError."""
    try:
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            with contextlib.suppress(ValueError):
                held = json.loads(line)
                if isinstance(held, dict) and held.keys() >= set(names):
                    yield held
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(expected=f"to read {path.name}", got=str(error), remedy="Check the permissions of the notes folder.") from error


def asked_before(settings: Settings, corpus: str) -> frozenset[str]:
    """The passages of a corpus that were asked about, by `passage_key`; raises StoreError."""
    return frozenset(str(line["passage"]) for line in _lines(_ledger(settings, corpus), *_PASSAGE))


def counts_since(settings: Settings, corpus: str, since: float) -> dict[str, int]:
    """How many passages came to each kind of outcome since a time (seconds since 1970), for a page that watched a job; raises StoreError."""
    lines = _lines(_ledger(settings, corpus), *_PASSAGE)
    counted = Counter(str(line["outcome"]) for line in lines if line["at"] >= since)
    return {kind: counted[kind] for kind in (KEPT, *FILTERS, NOTHING) if counted[kind]}


def spent(settings: Settings) -> list[tuple[str, str, Usage]]:
    """What every call that drafted took, of all corpora, with its provider and model; raises StoreError."""
    files = sorted((settings.notes_dir / FOLDER).glob("*.jsonl"))
    lines = (line for file in files for line in _lines(file, "spent", "provider", "model") if isinstance(line["spent"], dict))
    return [(str(line["provider"]), str(line["model"]), _usage(line["spent"])) for line in lines]


def _usage(taken: Mapping[str, Any]) -> Usage:
    read, written, dollars = (value if isinstance(value := taken.get(name), int | float) else None for name in ("in", "out", "dollars"))
    return Usage(int(read or 0), int(written or 0), 0, dollars)


def _note(settings: Settings, plan: DraftPlan, passage: Chunk, outcome: str) -> None:
    """Adds a passage to the ledger; raises StoreError."""
    _add(settings, plan.corpus, {"passage": passage_key(passage), "outcome": outcome, "model": plan.model.model})


def _add(settings: Settings, corpus: str, what: Mapping[str, Any]) -> None:
    path, line = _ledger(settings, corpus), {**what, "at": time.time()}
    try:
        with path.open("ab") as file:
            file.write(b"\n" + json.dumps(line).encode() + b"\n")  # the first ends what a kill left half written
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> StoreError:
    return StoreError(
        expected=f"to write {path.name}", got=str(error), remedy="Check the free space and the permissions of the notes folder."
    )


@contextlib.contextmanager
def _alone(settings: Settings, corpus: str) -> Iterator[None]:
    """Holds a corpus for one drafting; raises Busy when another process is at it."""
    path = _ledger(settings, corpus)
    lock = FileLock(path.with_suffix(".lock"), timeout=LOCK_SECONDS)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise Busy(
            expected=f"{corpus} for itself", got="another process that drafts questions about it", remedy="Wait for it, or stop it."
        ) from None
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def moving_ledger(settings: Settings, old: str, new: str) -> Iterator[None]:
    """Puts what was drafted about a corpus under its new name when the block has renamed it; nobody drafts about either meanwhile.

    What an earlier corpus of the new name was asked stays before it. Raises Busy or StoreError.
    """
    here, there = _ledger(settings, old), _ledger(settings, new)
    if here == there or not here.parent.is_dir():
        yield
        return
    with contextlib.ExitStack() as alone:
        for corpus in sorted((old, new)):  # always in the same order, or two renamings could wait for each other
            alone.enter_context(_alone(settings, corpus))
        yield
        try:
            if there.exists() and here.exists():
                with there.open("ab") as file:
                    file.write(b"\n" + here.read_bytes())
                here.unlink()
            elif here.exists():
                here.replace(there)
        except OSError as error:
            raise _unwritable(there, error) from error


def job_key(corpus: str) -> str:
    """What a drafting's job is found by."""
    return f"draft {corpus}"


def start_job(
    settings: Settings,
    corpus: str,
    *,
    count: int = DEFAULT_COUNT,
    budget_tokens: int | None = None,
    budget_dollars: float | None = None,
    seed: int = 0,
) -> jobs.Job:
    """Drafts in the background, or finds the drafting of that corpus which runs; the cost is to be shown, and agreed to, before.

    Raises OSError when it cannot be started.
    """
    arguments = ["questions", "draft", "--corpus", corpus, "--count", str(count), "--seed", str(seed), "--yes"]
    arguments += ["--budget-tokens", str(budget_tokens)] if budget_tokens is not None else []
    arguments += ["--budget-usd", str(budget_dollars)] if budget_dollars is not None else []
    environment = {"SITT_DATA_DIR": str(settings.data_dir)}
    return jobs.start(
        settings.jobs_dir, arguments, title=f"Questions: draft about {corpus}", key=job_key(corpus), module="evals", environment=environment
    )

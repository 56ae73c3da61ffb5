"""A run from questions and configurations to rows: what it will take, doing it, and going on after a stop. Read this first."""

import functools
import hashlib
import importlib.metadata
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from evals.golden import GoldenSet, Question, resolve
from evals.grid import Grid
from evals.metrics import ANSWER_METRICS, DEFAULT_METRICS, Metric, parse_metric
from evals.results import ANSWERING, Asked, Entry, Manifest, Run, Writer, create, new_id, open_run, unfinished, writing
from evals.scoring import Embedded, Found, Ground, Texts, answer_row, embed_questions, find, retrieval_row, without_own_id
from evals.subject import Subject
from sitt_core.build import Workshop, language_of
from sitt_core.configuration import Configuration
from sitt_core.costs import estimate, prompt_tokens
from sitt_core.errors import Cancelled, InvalidInput, KeyMissing, SittError, shown
from sitt_core.ingest import Estimate, build_index, estimate_build
from sitt_core.pipeline import Engine
from sitt_core.settings import ROOT
from sitt_core.store.reading import Corpus
from sitt_core.text import check_question
from sitt_core.types import Provider, Report

PACKAGES = (
    "duckdb",
    "bm25s",
    "rank-bm25",
    "openvino",
    "tokenizers",
    "sentence-transformers",
    "torch",
    "numpy",
    "tiktoken",
    "anthropic",
    "openai",
)
"""Whose versions a manifest names."""
PASSING = "recall@top_k"
GIVE_UP = 3
"""When so many answers of a configuration, the first that are asked for, break off before a word, the others are not asked for."""
PASSAGE_TOKENS = 500
"""What a passage is taken to have when the cost of answers is estimated: the default chunk size, so rather too much."""

Told = Callable[[Entry, Question, Mapping[str, Any]], None]
"""Told of every row as it is finished."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The questions that are asked: of these kinds (all when empty) and this split."""

    kinds: tuple[str, ...] = ()
    split: str = "open"

    def of(self, golden: GoldenSet) -> tuple[Question, ...]:
        """Those of a set, in its order; raises InvalidInput for an unknown kind and for none at all."""
        there = dict.fromkeys(question.kind for question in golden.questions)
        unknown = [kind for kind in self.kinds if kind not in there]
        if unknown:
            spaced = any("," in kind for kind in unknown)
            raise InvalidInput(
                expected=f"kinds of {golden.name}: {', '.join(there)}",
                got=", ".join(map(shown, unknown)),
                remedy="Put spaces between them: --kinds ONE OTHER" if spaced else "Choose from those.",
            )
        chosen = tuple(
            question for question in golden.questions if question.split == self.split and (not self.kinds or question.kind in self.kinds)
        )
        if not chosen:
            raise InvalidInput(expected="at least one question", got="none of that kind and split", remedy="Choose other kinds.")
        return chosen


@dataclass(frozen=True, slots=True)
class Plan:
    """A run before it is made: what is asked, of what, and what that takes.

    `missing` holds the indexes that have to be built first, by key, with their estimates; `dollars` is None where a
    provider's price is not known.
    """

    questions: tuple[Question, ...]
    grid: Grid
    metrics: tuple[Metric, ...]
    missing: Mapping[str, Estimate] = field(default_factory=dict)
    answers: int = 0
    tokens: int = 0
    dollars: float | None = 0.0

    @property
    def rows(self) -> int:
        """How many rows it will have."""
        return len(self.questions) * len(self.grid.configurations)


def choose_metrics(names: Sequence[str]) -> tuple[Metric, ...]:
    """The metrics of those names; `answers` stands for all that need one, nothing for the default ones. Raises InvalidInput."""
    spelled = [each for name in names or DEFAULT_METRICS for each in (ANSWER_METRICS if name == "answers" else (name,))]
    if names and all(name == "answers" for name in names):
        spelled = [*DEFAULT_METRICS, *spelled]
    # By this one a question passes or fails.
    return tuple(parse_metric(name) for name in dict.fromkeys([*spelled, PASSING]))


def plan_run(workshop: Workshop, subject: Subject, selection: Selection, grid: Grid, metrics: Sequence[Metric]) -> Plan:
    """What a run will take; nothing is built and nobody is asked. Raises InvalidInput for no question, and no configuration that can run."""
    corpus, questions = subject.corpus, selection.of(subject.golden)
    if not grid.configurations:
        raise InvalidInput(
            expected="at least one configuration that can run",
            got=f"{len(grid.skipped)} that cannot: {'; '.join(grid.skipped[:5])}",
            remedy="Correct the grid.",
        )
    missing: dict[str, Estimate] = {}
    for configuration in grid.configurations:
        if not corpus.has_index_for(configuration) and configuration.index_key not in missing:
            recipe = workshop.recipe(configuration, language=language_of(corpus))
            missing[configuration.index_key] = estimate_build(corpus, recipe=recipe)
    answering = grid.configurations if any(metric.family in ANSWER_METRICS for metric in metrics) else ()
    asked = [configuration for configuration in answering if configuration.answer_provider != "extractive"]
    tokens = sum(len(questions) * prompt_tokens(configuration.top_k, each=PASSAGE_TOKENS) for configuration in asked)
    costs = [most_dollars(workshop, configuration, len(questions)) for configuration in asked]
    dollars = None if None in costs else sum(cost for cost in costs if cost is not None)
    return Plan(tuple(questions), grid, tuple(metrics), missing, len(questions) * len(answering), tokens, dollars)


def most_dollars(workshop: Workshop, configuration: Configuration, count: int) -> float | None:
    """At most the dollars of `count` answers that are as long as they may be, from passages as long as they may be."""
    each = estimate(
        workshop.price(configuration),
        input_tokens=prompt_tokens(configuration.top_k, each=PASSAGE_TOKENS),
        most_output_tokens=workshop.settings.models.max_tokens,
    )
    return None if each is None else count * each


def dollars_left(workshop: Workshop, run: Run) -> float | None:
    """The most that the answers can cost that going on with a run asks for; None where a price is not known."""
    if not any(metric in ANSWER_METRICS for metric in run.manifest.metrics):
        return 0.0
    entries = [(entry.configuration, count) for entry, count in zip(run.manifest.configurations, unfinished(run), strict=True)]
    costs = [most_dollars(workshop, each, count) for each, count in entries if each.answer_provider != "extractive" and count]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def start(workshop: Workshop, subject: Subject, plan: Plan, *, name: str = "", baseline: str = "", runs_dir: Path | None = None) -> Run:
    """A new run of the plan, with no row yet, where runs are kept unless said otherwise; raises StoreError."""
    corpus, golden = subject.corpus, subject.golden
    texts = Texts(corpus)
    manifest = Manifest(
        id=new_id(),
        name=name,
        started=time.time(),
        corpus=corpus.name,
        corpus_sha256=corpus_sha256(corpus),
        golden=golden.name,
        golden_place=subject.place,
        golden_sha256=golden.sha256,
        metrics=tuple(metric.name for metric in plan.metrics),
        configurations=tuple(Entry(each.key, each.slug, each.to_dict()) for each in plan.grid.configurations),
        skipped=plan.grid.skipped,
        baseline=baseline,
        code=code_sha256(),
        versions={"python": platform.python_version(), **dict(_versions())},
        notes=subject.notes,
    )
    golds = {question.id: resolve(question, texts.get) for question in plan.questions}
    asked = [
        Asked(each.id, each.text, each.kind, each.primary, each.documents, each.about, golds[each.id].stale) for each in plan.questions
    ]
    return create(runs_dir or workshop.settings.runs_dir, manifest, asked)


def corpus_sha256(corpus: Corpus) -> str:
    """The identity of what is asked: every active document by id and content."""
    return hashlib.sha256("\n".join(f"{document.id}\t{document.sha256}" for document in corpus.documents).encode()).hexdigest()


@functools.cache
def code_sha256() -> str:
    """The identity of the code that made a row: every module of sitt_core and evals."""
    digest = hashlib.sha256()
    for path in sorted(path for package in ("sitt_core", "evals") for path in (ROOT / package).rglob("*.py")):
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _versions() -> Iterator[tuple[str, str]]:
    for package in PACKAGES:
        try:
            yield package, importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue


def execute(workshop: Workshop, run: Run, subject: Subject, *, report: Report, told: Told | None = None) -> Run:
    """The run with every row that it still lacked: missing indexes are built first, questions embedded once per embedder.

    A configuration that fails as a whole (a model that is missing, a key, a service that answers none of the first
    `GIVE_UP` questions) is noted with its reason, and the others go on; a question that cannot be asked becomes a row
    with its error. Cancelled or killed, it goes on from the row it was at, and what failed or broke off is tried again.
    Raises Cancelled, Busy, InvalidInput where corpus or questions are others than when it began, or StoreError.
    """
    corpus, golden = subject.corpus, subject.golden
    require_same(run, corpus, golden)
    with writing(run):
        writer = Writer(run)
        failures: dict[str, str] = {}
        try:
            _Execution(workshop, corpus, run, golden, writer, report, told, failures).all()
        finally:
            writer.close(failures=failures)
    return open_run(run.folder.parent, run.manifest.id)


def require_same(run: Run, corpus: Corpus, golden: GoldenSet) -> None:
    """Raises InvalidInput when the corpus or the questions are others than when the run began."""
    for what, then, now in (
        (f"corpus {corpus.name}", run.manifest.corpus_sha256, corpus_sha256(corpus)),
        (f"question set {golden.name}", run.manifest.golden_sha256, golden.sha256),
    ):
        if then != now:
            raise InvalidInput(
                expected=f"{what} as it was when run {run.manifest.id} began ({then[:12]})",
                got=f"another ({now[:12]})",
                remedy="Start a new run; rows of both cannot be compared.",
            )


@dataclass(frozen=True, slots=True)
class _Using:
    """What a configuration is asked with; `found` is shared by those that rank alike."""

    engine: Engine
    ground: Ground
    embedded: Embedded
    found: dict[str, Found]
    provider: Provider | None


class _Execution:
    """One go at a run's missing rows."""

    def __init__(
        self,
        workshop: Workshop,
        corpus: Corpus,
        run: Run,
        golden: GoldenSet,
        writer: Writer,
        report: Report,
        told: Told | None,
        failures: dict[str, str],
    ) -> None:
        self.workshop, self.corpus, self.run, self.writer, self.report, self.told = workshop, corpus, run, writer, report, told
        self.failures, self.texts, self.drops_own_id = failures, Texts(corpus), golden.drops_own_id
        by_id = {question.id: question for question in golden.questions}
        self.questions = [by_id[asked.id] for asked in run.questions]
        self.golds = {question.id: resolve(question, self.texts.get) for question in self.questions}
        self.metrics = [parse_metric(name) for name in run.manifest.metrics]
        self.answering = any(metric.family in ANSWER_METRICS for metric in self.metrics)
        self.total, self.done = len(run.questions) * len(run.manifest.configurations), len(writer.finished)

    def all(self) -> None:
        """Every configuration, those that share an embedder, an index or a ranking one after the other."""
        entries = [(place, entry, entry.configuration) for place, entry in enumerate(self.run.manifest.configurations)]
        entries = [each for each in entries if any((each[0], at) not in self.writer.finished for at in range(len(self.questions)))]
        entries.sort(key=lambda each: (_embedding(each[2]), each[2].index_key, each[2].retrieval_key))
        for _, same_embedder in groupby(entries, key=lambda each: _embedding(each[2])):
            embedded: Embedded | None = None
            for _, same_index in groupby(same_embedder, key=lambda each: each[2].index_key):
                ground: Ground | None = None
                found: dict[str, Found] = {}
                ranked = ""
                for place, entry, configuration in same_index:
                    try:
                        engine = self._engine(configuration)
                        if engine.embed and embedded is None:
                            embedded = self._embed(engine)
                        provider = self.workshop.provider(engine) if self.answering else None
                    except Cancelled:
                        raise
                    except SittError as error:
                        self.failures[entry.key] = str(error)
                        continue
                    ground = ground or Ground(engine.index, self.texts)
                    if configuration.retrieval_key != ranked:
                        found, ranked = {}, configuration.retrieval_key
                    self._configuration(place, entry, _Using(engine, ground, embedded or Embedded(), found, provider))

    def _engine(self, configuration: Configuration) -> Engine:
        if not self.corpus.has_index_for(configuration):
            build_index(self.corpus, recipe=self.workshop.recipe(configuration, language=language_of(self.corpus)), report=self.report)
        return self.workshop.engine(self.corpus, configuration)

    def _embed(self, engine: Engine) -> Embedded:
        assert engine.embed is not None
        texts = [question.text.strip() for question in self.questions if _askable(question)]
        return embed_questions(engine.embed, texts, report=lambda done: self.report("embed questions", done, len(texts)))

    def _configuration(self, place: int, entry: Entry, using: _Using) -> None:
        held: list[dict[str, Any]] = []  # kept only when the provider speaks: of one that cannot, no question has a row
        spoken = using.provider is None
        for at, question in enumerate(self.questions):
            if (place, at) in self.writer.finished:
                continue
            self.report("evaluate", self.done, self.total)
            try:
                row = {"c": place, "q": at, **self._row(question, using)}
            except KeyMissing as error:
                self.failures[entry.key] = str(error)
                return
            spoken = spoken or _has_spoken(row)
            held.append(row)
            if spoken:
                self._keep(entry, held)
                held = []
            elif sum(map(_speechless, held)) == GIVE_UP:
                self.failures[entry.key] = str(row["error"]).removeprefix(ANSWERING)
                return
        self._keep(entry, held)
        self.report("evaluate", self.done, self.total)

    def _keep(self, entry: Entry, rows: Sequence[Mapping[str, Any]]) -> None:
        for row in rows:
            self.writer.append(row)
            self.done += 1
            if self.told:
                self.told(entry, self.questions[row["q"]], row)

    def _row(self, question: Question, using: _Using) -> dict[str, Any]:
        gold, found, engine = self.golds[question.id], using.found, using.engine
        try:
            if question.id not in found:
                found[question.id] = self._find(question, engine, using.embedded)
            ranked = [metric for metric in self.metrics if metric.family not in ANSWER_METRICS]
            row = retrieval_row(found[question.id], question, gold, using.ground, ranked, top_k=engine.configuration.top_k)
            return _merged(row, answer_row(question, gold, engine, using.provider)) if using.provider else row
        except (Cancelled, KeyMissing):
            raise
        except SittError as error:
            return {"error": str(error)}

    def _find(self, question: Question, engine: Engine, embedded: Embedded) -> Found:
        found = find(check_question(question.text), engine, embedded)
        return replace(found, ranking=without_own_id(found.ranking, question.id, engine.index)) if self.drops_own_id else found


def _embedding(configuration: Configuration) -> tuple[str, str]:
    """What decides a question's vector; nothing where none is needed."""
    return ("", "") if configuration.dense == "off" else (configuration.embedder, configuration.overlong)


def _askable(question: Question) -> bool:
    try:
        check_question(question.text)
    except InvalidInput:
        return False
    return True


def _speechless(row: Mapping[str, Any]) -> bool:
    """Whether its answer broke off before a word."""
    return str(row["error"]).startswith(ANSWERING) and not row["answer"]["text"]


def _has_spoken(row: Mapping[str, Any]) -> bool:
    """Whether the provider has answered it, if only with nothing to say; where nothing was found nobody is asked."""
    return bool(row.get("answer") and row["found"]) and not _speechless(row)


def _merged(row: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    why = {**(row.get("why") or {}), **(answer.get("why") or {})}
    return {**row, **answer, "why": why or None}

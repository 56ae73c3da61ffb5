"""Judging a run's answers: what it will take, doing it answer by answer within a budget, and going on after a stop."""

import asyncio
import importlib.metadata
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from evals import judged
from evals.golden import Question
from evals.judge import PROMPT_VERSION, Asking, Budget, Judge, Request, Tally, several
from evals.judged import About, Unit
from evals.metrics import Score
from evals.qualities import BY_QUALITY, OWN_GROUPS, choose_qualities
from evals.quality import OWN_SCORERS, Case, Judged, Scorer, known
from evals.results import Run, rows
from evals.run import most_dollars, require_same
from evals.scoring import Texts
from evals.subject import Subject
from sitt_core.build import JudgeModel, Workshop
from sitt_core.configuration import Configuration, configure
from sitt_core.costs import estimate, prompt_tokens
from sitt_core.errors import BudgetSpent, Cancelled, InvalidInput, ModelError, ProviderError, SittError, shown
from sitt_core.pipeline import Asking as Answering
from sitt_core.pipeline import Engine
from sitt_core.text import count_tokens
from sitt_core.types import Provider, Report, Usage

EMBEDDER = "minilm"
"""Whose vectors say how alike texts are, whatever the configuration's embedder: one yardstick for all."""
CONCURRENCY = 4
ROW_SECONDS = 180.0
GIVE_UP = 5
"""After so many answers in a row about which the judge said nothing at all, no other is asked about."""
SEED = 0
PASSAGE_TOKENS = 500


@dataclass(frozen=True, slots=True)
class JudgePlan:
    """A judging before it begins: `units` are to be judged, `calls` of the judge and `tokens` in all are estimates from above.

    `dollars` is None where a price is not known; what is in the cache will cost nothing of it. `rewritten` answers are asked for anew.
    """

    judge: JudgeModel | None
    metrics: tuple[str, ...]
    repeats: int
    units: tuple[Unit, ...]
    finished: int
    calls: int
    tokens: int
    dollars: float | None
    rewritten: int

    @property
    def asks(self) -> bool:
        """Whether there is a judge to be asked."""
        return any(BY_QUALITY[name].judged for name in self.metrics)

    @property
    def about(self) -> About:
        """Who will judge, and how."""
        judge = self.judge if self.asks else None
        named = (judge.provider, judge.model, judge.address, judge.own) if judge else ("", "", "", False)
        return About(*named, PROMPT_VERSION, self.metrics, self.repeats, importlib.metadata.version("ragas"), EMBEDDER, time.time())


@dataclass(frozen=True, slots=True)
class Ended:
    """How a judging ended: rows judged, rows left, what the budget said if it ended it, verdicts that failed."""

    done: int
    left: int
    budget: str
    failed: int
    spent: Usage


def plan_judging(
    workshop: Workshop,
    run: Run,
    subject: Subject,
    names: Sequence[str] = (),
    *,
    repeats: int = 1,
    kinds: Sequence[str] = (),
    again: bool = False,
) -> JudgePlan:
    """What judging a run takes; nobody is asked. Raises InvalidInput, NotFound or StoreError."""
    require_same(run, subject.corpus, subject.golden)
    if not 1 <= repeats <= 20:
        raise InvalidInput(expected="1 to 20 repeats", got=f"{repeats}", remedy="3 to 5 show how much verdicts vary.")
    _require_kinds(run, kinds)
    cases = cases_of(run, subject)
    if not cases:
        raise InvalidInput(
            expected="rows to judge", got=f"none in run {run.manifest.id}", remedy="Finish it: python -m evals run --resume RUN"
        )
    answered = any(case.answer is not None for case in cases.values())
    judge = workshop.judge({entry.configuration.answer_provider for entry in run.manifest.configurations} if answered else set())
    metrics = choose_qualities(names, judge=judge is not None)
    if not answered:
        metrics = _without_answers(run, metrics, asked_for=bool(names))
    planned = JudgePlan(judge, metrics, repeats, (), 0, 0, 0, 0.0, 0)
    if planned.asks:
        assert judge is not None
        workshop.require_key(judge)
    if not again:
        _require_same_judge(run, planned.about)
    finished = {} if again else {judged.unit_of(row): row for row in judged.rows(run.folder)}
    wanted = list(_units(run, cases, repeats, kinds))
    units = tuple(unit for unit in wanted if lacking(finished.get(unit), metrics))
    return _with_costs(workshop, run, replace(planned, units=units, finished=len(wanted) - len(units)), cases, finished)


def _require_same_judge(run: Run, about: About) -> None:
    """Raises InvalidInput when the run has verdicts of another judge, or scores of other versions; one that never gave a verdict is no judge."""
    held = judged.about(run.folder)
    if held is None or held.compatible(about) or not judged.rows(run.folder):
        return
    if held.same_makers(about) and not judged.has_verdicts(run.folder):
        return
    raise InvalidInput(
        expected=f"the judge that run {run.manifest.id} has: {held.judge}",
        got=about.judge if held.same_makers(about) else f"{about.judge}, with other versions of ragas, embedder or prompts",
        remedy="Set JUDGE_PROVIDER and JUDGE_MODEL to that one, or judge everything anew with --again.",
    )


def _require_kinds(run: Run, kinds: Sequence[str]) -> None:
    there = dict.fromkeys(asked.kind for asked in run.questions)
    unknown = [kind for kind in kinds if kind not in there]
    if unknown:
        raise InvalidInput(
            expected=f"kinds of run {run.manifest.id}: {', '.join(there)}", got=", ".join(map(shown, unknown)), remedy="Choose from those."
        )


def _without_answers(run: Run, metrics: Sequence[str], *, asked_for: bool) -> tuple[str, ...]:
    """The metrics that need no answer; raises InvalidInput when there are none, or others were asked for by name."""
    kept = tuple(name for name in metrics if "answer" not in BY_QUALITY[name].needs)
    if not kept or (asked_for and kept != tuple(metrics)):
        raise InvalidInput(
            expected=f"a run with answers for {', '.join(name for name in metrics if name not in kept)}",
            got=f"run {run.manifest.id}, which asked for none",
            remedy="Start one with --metrics answers.",
        )
    return kept


def lacking(row: Mapping[str, Any] | None, metrics: Sequence[str]) -> tuple[str, ...]:
    """The metrics that a row has neither a score nor a reason for; one that failed is to be asked for again."""
    if row is None:
        return tuple(metrics)
    return tuple(name for name in metrics if name not in row["scores"] and name not in row["why"])


def cases_of(run: Run, subject: Subject) -> dict[tuple[int, int], Case]:
    """What every finished row of a run is judged by, by the places of configuration and question; rows that failed have no case.

    Passages are those the answer was made from, the document's title before each.
    """
    by_id = {question.id: question for question in subject.golden.questions}
    texts, titles = Texts(subject.corpus), {document.id: document.title for document in subject.corpus.documents}
    asked = [by_id[each.id] for each in run.questions]
    top = [entry.configuration.top_k for entry in run.manifest.configurations]
    found: dict[tuple[int, int], Case] = {}
    for row in rows(run):
        if row["error"]:
            continue
        passages = row["found"][: top[row["c"]]]
        shown_ = tuple(f"{titles[document]}\n{(texts.get(document) or '')[start:end]}" for document, start, end, _ in passages)
        found[row["c"], row["q"]] = _case(asked[row["q"]], shown_, row["answer"])
    return found


def _case(question: Question, passages: tuple[str, ...], answer: Mapping[str, Any] | None) -> Case:
    said = None if answer is None else str(answer["text"])
    return Case(question.text, question.answerable, question.answer, said, bool(answer and answer["refused"]), passages)


def _units(run: Run, cases: Mapping[tuple[int, int], Case], repeats: int, kinds: Sequence[str]) -> Iterator[Unit]:
    """All that is to be judged, question by question in a random order: wherever it stops, configurations have the same questions."""
    places = list(range(len(run.questions)))
    random.Random(SEED).shuffle(places)  # noqa: S311 - an order, no secret
    columns = range(len(run.manifest.configurations))
    rewriting = [entry.configuration.answer_provider != "extractive" for entry in run.manifest.configurations]
    for q in places:
        if kinds and run.questions[q].kind not in kinds:
            continue
        for c in columns:
            if (c, q) not in cases:
                continue
            yield from ((c, q, 0, j) for j in range(repeats))
            if rewriting[c] and cases[c, q].answer is not None:  # an extractive answer is the same each time
                yield from ((c, q, a, 0) for a in range(1, repeats))


@dataclass(frozen=True, slots=True)
class _Sizes:
    """The tokens of a case's parts, and about how many claims its answer and its reference make."""

    question: int
    answer: int
    reference: int
    passages: tuple[int, ...]

    @property
    def context(self) -> int:
        return sum(self.passages)

    @property
    def claims(self) -> int:
        return max(1, self.answer // CLAIM_TOKENS)

    @property
    def reference_claims(self) -> int:
        return max(1, self.reference // CLAIM_TOKENS)


CLAIM_TOKENS = 12
"""About the length of a claim."""
VERDICT_TOKENS = 45
"""About what a claim, its verdict and the reason take in an answer's JSON."""
_Cost = tuple[int, int, int]


def _calls(name: str, size: _Sizes) -> _Cost:
    """Calls, tokens read and tokens written for a metric of an answer, its instructions with examples among them."""
    both = size.claims + size.reference_claims
    count = len(size.passages)
    match name:
        case "faithfulness":
            return 2, 1020 + size.question + 2 * size.answer + size.context, size.claims * (CLAIM_TOKENS + VERDICT_TOKENS)
        case "answer-relevancy":
            return 3, 3 * (420 + size.answer), 3 * 40
        case "context-precision":
            return count, count * (890 + size.question + size.reference) + size.context, count * VERDICT_TOKENS
        case "context-recall":
            return 1, 1240 + size.question + size.reference + size.context, size.reference_claims * VERDICT_TOKENS
        case "factual-correctness":
            return 4, 2040 + 3 * (size.answer + size.reference), both * (CLAIM_TOKENS + VERDICT_TOKENS)
        case "noise-sensitivity":
            verdicts = count * both + size.claims
            read = (2 * count + 1) * (645 + CLAIM_TOKENS * both // 2) + 2 * size.context + 670 + 2 * size.answer
            return 2 * count + 3, read, verdicts * VERDICT_TOKENS + both * CLAIM_TOKENS
        case "groundedness":
            return 1, 350 + size.question + size.answer + size.context, size.claims * VERDICT_TOKENS
        case "rubric-faithfulness":  # one request for the three
            return 1, 350 + size.question + size.answer + size.reference + size.context, 150
    return 0, 0, 0


def _with_costs(
    workshop: Workshop, run: Run, plan: JudgePlan, cases: Mapping[tuple[int, int], Case], finished: Mapping[Unit, Mapping[str, Any]]
) -> JudgePlan:
    """The plan with what it takes."""
    if not plan.judge and not any(unit[2] for unit in plan.units):
        return plan
    counted: dict[str, int] = {}

    def tokens(text: str) -> int:
        if text not in counted:
            counted[text] = count_tokens(text)
        return counted[text]

    calls = total = rewritten = 0
    dollars: float | None = 0.0
    entries = run.manifest.configurations
    for unit in plan.units:
        case = cases[unit[:2]]
        size = _Sizes(tokens(case.question), tokens(case.answer or ""), tokens(case.reference), tuple(map(tokens, case.passages)))
        names = {_first_of_group(name) for name in lacking(finished.get(unit), plan.metrics) if known(name, case) is None}
        costs = []
        for count, read, written in (_calls(name, size) for name in sorted(names)):
            calls, total = calls + count, total + read + written
            price = plan.judge.price if plan.judge else None
            if count:  # some prices hold up to a length of a single call
                each = estimate(price, input_tokens=read // count, most_output_tokens=written // count)
                costs.append(None if each is None else count * each)
        if unit[2] and "answer" not in finished.get(unit, {}):
            rewritten += 1
            configuration = entries[unit[0]].configuration
            costs.append(most_dollars(workshop, configuration, 1))
            total += prompt_tokens(configuration.top_k, each=PASSAGE_TOKENS) + workshop.settings.models.max_tokens
        dollars = None if dollars is None or None in costs else dollars + sum(cost for cost in costs if cost is not None)
    return replace(plan, calls=calls, tokens=total, dollars=dollars, rewritten=rewritten)


def _first_of_group(name: str) -> str:
    return next((names[0] for names in OWN_GROUPS.values() if name in names), name)


def judge_run(
    workshop: Workshop,
    run: Run,
    subject: Subject,
    plan: JudgePlan,
    *,
    budget_tokens: int | None = None,
    budget_dollars: float | None = None,
    again: bool = False,
    concurrency: int = CONCURRENCY,
    row_seconds: float = ROW_SECONDS,
    report: Report,
) -> Ended:
    """Judges what the plan holds, a line for each answer as it is finished; stopped or out of budget, it goes on from there.

    A verdict that fails leaves its reason in the row and is asked for again next time. The budget is for all judging of this
    run, what earlier ones took included. Raises Cancelled, Busy, InvalidInput, ModelError or StoreError.
    """
    if not plan.units:
        return Ended(0, 0, "", 0, judged.spent(run.folder))
    with judged.judging(run.folder):
        if not again:
            _require_same_judge(run, plan.about)  # another process may have judged since the plan was made
        spent = judged.spent(run.folder)
        if budget_dollars is not None and (plan.dollars is None or spent.dollars is None):
            raise InvalidInput(
                expected="a budget in tokens where a price is not known",
                got="a budget in dollars, and a model without a price" + (" in what was spent so far" if plan.dollars is not None else ""),
                remedy="Set JUDGE_PRICE_INPUT and JUDGE_PRICE_OUTPUT (dollars per million tokens), or use --budget-tokens.",
            )
        budget = Budget(budget_tokens, budget_dollars, spent.input_tokens + spent.output_tokens, spent.dollars or 0.0)
        work = _Judging(workshop, run, subject, plan, budget, report, row_seconds, again=again)
        report("judge", plan.finished, plan.finished + len(plan.units))
        stopped = asyncio.run(work.all(concurrency))
        if not work.failed:
            work.replace_old()
        return Ended(work.done, len(plan.units) - work.done, stopped, work.failed, judged.spent(run.folder))


def _say_who(run: Run, plan: JudgePlan) -> None:
    """Names the judge beside the rows; metrics and repeats of an earlier judging by the same one stay named."""
    now, held = plan.about, judged.about(run.folder)
    if held is not None:
        metrics = tuple(name for name in BY_QUALITY if name in {*held.metrics, *now.metrics})
        asked = now if now.provider else held
        now = replace(asked, metrics=metrics, repeats=max(held.repeats, now.repeats), own=held.own or now.own, started=held.started)
    judged.write_about(run.folder, now)


class _Judging:
    """One go at what is still to be judged."""

    def __init__(
        self,
        workshop: Workshop,
        run: Run,
        subject: Subject,
        plan: JudgePlan,
        budget: Budget,
        report: Report,
        row_seconds: float,
        *,
        again: bool,
    ) -> None:
        self.workshop, self.run, self.subject, self.plan = workshop, run, subject, plan
        self.budget, self.report, self.row_seconds = budget, report, row_seconds
        self.cases = cases_of(run, subject)
        self.held = {} if again else {judged.unit_of(row): row for row in judged.rows(run.folder)}
        # The verdicts that there are go only when the new judge has given one: a mistyped model must not cost them.
        self.waiting: list[dict[str, Any]] | None = [] if again and plan.asks else None
        self.fruitless = 0
        self.scorers = self._scorers()
        self.judge = self._judge()
        self.engines: dict[int, tuple[Engine, Provider]] = {}
        self.done = self.failed = 0
        if self.waiting is None:
            if again:
                judged.forget(run.folder)
            _say_who(run, plan)

    def _scorers(self) -> dict[str, Scorer]:
        """How each wanted metric, or group of them, is scored; ragas is imported only when one of its own is wanted."""
        found = {group: OWN_SCORERS[group] for group, names in OWN_GROUPS.items() if set(names) & set(self.plan.metrics)}
        theirs = [name for name in self.plan.metrics if _group_of(name) == name and name not in found]
        if theirs:
            self.report("load ragas", 0, 1)
            try:
                from evals.ragas_scorers import scorers
            except ImportError as error:
                raise ModelError(
                    expected="ragas to import", got=shown(str(error)), remedy="Install requirements.txt as it is: make install."
                ) from error
            embed = self.workshop.embedder(configure({"embedder": EMBEDDER})).embed_passages
            made = scorers(embed)
            found |= {name: made[name] for name in theirs}
        return found

    def _judge(self) -> Judge | None:
        model, settings = self.plan.judge, self.workshop.settings
        if model is None or not self.plan.asks:
            return None
        identity = {name: value for name, value in asdict(model).items() if name in ("provider", "model", "address", "max_tokens")}
        return Judge(
            self.workshop.judging(model),
            identity,
            model.max_tokens,
            lambda reads, writes: estimate(model.price, input_tokens=reads, most_output_tokens=writes),
            self.budget,
            settings.judged_dir if self.plan.repeats == 1 else None,
            self._note_spent,
        )

    def _note_spent(self, usage: Usage) -> None:
        line = {"in": usage.input_tokens, "out": usage.output_tokens, "dollars": usage.dollars}
        judged.append(self.run.folder, judged.SPENT, line)

    async def all(self, concurrency: int) -> str:
        """Judges every unit, several at a time; returns what the budget said when it was spent, else ""."""
        return await several(self.plan.units, self._unit, self._tell, at_once=concurrency)

    def _tell(self) -> None:
        self.report("judge", self.plan.finished + self.done, self.plan.finished + len(self.plan.units))

    async def _unit(self, unit: Unit) -> None:
        """Judges an answer and keeps its row."""
        started, tally = time.perf_counter(), Tally()
        old = self.held.get(unit) or {"scores": {}, "why": {}, "details": {}}
        row: dict[str, Any] = {
            **dict(zip("cqaj", unit, strict=True)),
            **{name: dict(old[name]) for name in ("scores", "why", "details")},
            "errors": {},
            "by_judge": list(old.get("by_judge", ())),
            **({"answer": old["answer"]} if "answer" in old else {}),
        }
        case = self.cases[unit[:2]]
        wanted = lacking(old, self.plan.metrics)
        try:
            async with asyncio.timeout(self.row_seconds):
                if unit[2]:
                    case = await self._written_anew(unit, case, row, tally)
                await self._score(case, wanted, row, tally)
        except TimeoutError:
            late = [name for name in wanted if not any(name in row[kind] for kind in ("scores", "why", "errors"))]
            row["errors"] |= dict.fromkeys(late, f"no verdict within {self.row_seconds:g} s")
        except (BudgetSpent, Cancelled, asyncio.CancelledError):
            if "answer" in row or len(row["scores"]) > len(old["scores"]):  # paid for: with repeats no cache has it
                self._keep(row, tally, started)
            raise
        except SittError as error:  # the answer could not be written anew
            row["errors"] |= dict.fromkeys(wanted, str(error))
        self._keep(row, tally, started)
        self.done += 1
        self.failed += bool(row["errors"])
        self._give_up_after(row, tally)

    def _keep(self, row: dict[str, Any], tally: Tally, started: float) -> None:
        """Writes a row; where everything is judged anew, only once the judge has given a verdict."""
        row |= {"tally": asdict(tally), "ms": round((time.perf_counter() - started) * 1000)}
        if self.waiting is None:
            judged.append(self.run.folder, judged.ROWS, row)
            return
        self.waiting.append(row)
        if row["by_judge"]:
            self.replace_old()

    def replace_old(self) -> None:
        """Puts the rows that wait in the place of those that there were."""
        if self.waiting is None:
            return
        judged.forget(self.run.folder)
        _say_who(self.run, self.plan)
        kept, self.waiting = self.waiting, None
        for each in kept:
            judged.append(self.run.folder, judged.ROWS, each)

    def _give_up_after(self, row: Mapping[str, Any], tally: Tally) -> None:
        """Raises ProviderError when the judge has said nothing at all about the last `GIVE_UP` answers."""
        if tally.calls or tally.cached:
            self.fruitless = 0
        elif row["errors"]:  # not for an answer about which there was nothing to ask
            self.fruitless += 1
        if self.fruitless >= GIVE_UP:
            raise ProviderError(
                expected=f"the judge to answer ({self.plan.about.judge})",
                got=f"not a word about {GIVE_UP} answers in a row; the last: {next(iter(row['errors'].values())).rstrip('.')}",
                remedy="Mend that, and go on with the same command: finished verdicts stay.",
            )

    async def _score(self, case: Case, wanted: Sequence[str], row: dict[str, Any], tally: Tally) -> None:
        """Fills a row's scores, reasons, errors and details, metric by metric."""
        asked: dict[str, list[str]] = {}
        for name in wanted:
            score = known(name, case)
            if score is None:
                asked.setdefault(_group_of(name), []).append(name)
            else:
                _enter(row, name, Judged(score))
        for group, names in sorted(asked.items(), key=lambda each: BY_QUALITY[each[1][0]].judged):  # a judge that hangs delays only itself
            try:
                found = await self.scorers[group](case, Asking(self.judge, tally) if self.judge else _nobody)
            except (BudgetSpent, Cancelled):
                raise
            except SittError as error:
                row["errors"] |= dict.fromkeys(names, str(error))
            except (ArithmeticError, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:  # what ragas meets
                row["errors"] |= dict.fromkeys(names, f"ragas could not score it: {type(error).__name__}: {shown(str(error))}")
            else:
                for name in names:
                    _enter(row, name, found[name])
                if BY_QUALITY[names[0]].judged:
                    row["by_judge"] += names

    async def _written_anew(self, unit: Unit, case: Case, row: dict[str, Any], tally: Tally) -> Case:
        """The case with another answer by the same configuration; raises what keeps it from being written, and BudgetSpent.

        One that was written by an earlier go is taken as it is.
        """
        if "answer" in row:
            return replace(case, answer=row["answer"]["text"], refused=row["answer"]["refused"])
        c, q = unit[:2]
        if c not in self.engines:
            configuration = self.run.manifest.configurations[c].configuration
            engine = self.workshop.engine(self.subject.corpus, configuration)
            self.engines[c] = engine, self.workshop.provider(engine)
        engine, provider = self.engines[c]
        reads, writes = prompt_tokens(engine.configuration.top_k, each=PASSAGE_TOKENS), self.workshop.settings.models.max_tokens
        dollars = self._most_for(engine.configuration)
        await self.budget.hold(reads + writes, dollars)
        try:
            asking = Answering(self.run.questions[q].text, engine, provider)
            answer = await asking.run()
        finally:
            self.budget.release(reads + writes, dollars)
        self.budget.spend(answer.usage)
        tally.add(answer.usage)
        self._note_spent(answer.usage)
        if answer.stop == "stopped":
            raise asyncio.CancelledError  # `run` keeps a broken answer where it is cancelled; none is judged
        if asking.failure:
            raise asking.failure
        row["answer"] = {"text": answer.text, "refused": answer.refused}
        return replace(case, answer=answer.text, refused=answer.refused)

    def _most_for(self, configuration: Configuration) -> float:
        return most_dollars(self.workshop, configuration, 1) or 0.0


def _group_of(name: str) -> str:
    return next((group for group, names in OWN_GROUPS.items() if name in names), name)


def _enter(row: dict[str, Any], name: str, found: Judged) -> None:
    score: Score = found.score
    if score.value is not None:
        row["scores"][name] = score.value
    elif score.undefined:
        row["why"][name] = score.undefined
    else:
        row["errors"][name] = score.error
    if found.detail is not None:
        row["details"][name] = found.detail


async def _nobody(request: Request) -> Any:
    raise AssertionError(f"nobody was to be asked for {request.form.__name__}")

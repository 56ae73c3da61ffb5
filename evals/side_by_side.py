"""Two configurations question by question: what each found, and what each answered, to read."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from evals.analysis import Duel
from evals.qualities import BY_QUALITY
from evals.results import Asked, Run, rows
from evals.statistics import Verdict
from evals.summary import counted, labels, passes, short
from sitt_core.errors import InvalidInput

Side = tuple[Run, int]
"""A configuration: its run, and its place there."""

SHOWN = 5
SHOWN_QUESTIONS = 20


@dataclass(frozen=True, slots=True)
class Pair:
    """A question with the row of either configuration."""

    asked: Asked
    names: tuple[str, str]
    rows: tuple[Mapping[str, Any], Mapping[str, Any]]


def names_of(one: Side, other: Side) -> tuple[str, str]:
    """What to call each: its label with its key, and of two runs the run's id before it."""
    apart = one[0].manifest.id != other[0].manifest.id

    def name(run: Run, place: int) -> str:
        key = run.manifest.configurations[place].key
        return f"{labels(run)[place]} ({f'{run.manifest.id}:{key}' if apart else key})"

    return name(*one), name(*other)


def pairs(one: Side, other: Side) -> list[Pair]:
    """The questions that both were asked, in the first one's order, each with both rows.

    Raises InvalidInput when they share no question, or when there is no answer.
    """
    sides = [{run.questions[row["q"]].id: row for row in rows(run, configuration=place)} for run, place in (one, other)]
    asked = [question for question in one[0].questions if question.id in sides[0] and question.id in sides[1]]
    if not asked:
        raise InvalidInput(
            expected="two configurations that were asked the same questions", got="none in common", remedy="Compare within one run."
        )
    if not any(side[question.id]["answer"] for side in sides for question in asked):
        raise InvalidInput(
            expected="rows with answers", got="retrieval only", remedy="Run them with answers: python -m evals run --metrics answers"
        )
    names = names_of(one, other)
    return [Pair(question, names, (sides[0][question.id], sides[1][question.id])) for question in asked]


def lines(pair: Pair) -> str:
    """A pair for a terminal: the question, what was expected, and both sides."""
    said = [f"{pair.asked.id} ({pair.asked.kind}): {pair.asked.text}", f"  expected: {', '.join(pair.asked.documents) or 'no answer'}"]
    for letter, name, row in zip("AB", pair.names, pair.rows, strict=True):
        said.append(f"  {letter} {name}: {_told(row)}")
        if row["answer"]:
            said += [f"    {line}" for line in row["answer"]["text"].splitlines()]
        elif row["found"]:
            said += [f"    {rank}. {document}" for rank, (document, *_) in enumerate(row["found"][:SHOWN], start=1)]
    return "\n".join(said)


def _told(row: Mapping[str, Any]) -> str:
    if row["error"]:
        return str(row["error"])
    if row["answer"] and row["answer"]["refused"]:
        return "refused"
    return "PASS" if passes(row) else "FAIL" if row["lost_at"] is not None else "answered"


VERDICTS: Mapping[Verdict, str] = {
    "better": "A is better",
    "worse": "B is better",
    "not distinguishable": "the two are not distinguishable",
    "not comparable": "the two are not comparable",
    "too few": "too few questions to say which is better",
}


def duel_lines(made: Duel, one: Side, other: Side) -> list[str]:
    """A head-to-head for a terminal: the difference with its interval, the test, who won, what could have been seen."""
    found, names = made.comparison, names_of(one, other)
    difference = found.difference
    said = [f"A {names[0]}", f"B {names[1]}", *_judge_lines(made.metric, one, other)]
    if difference.mean is None:
        return [*said, f"no question has a score of {made.metric} for both"]
    limits = (
        "" if difference.low is None or difference.high is None else f" (95 % interval {difference.low:+.3f} to {difference.high:+.3f})"
    )
    said += [
        f"{made.metric}, A minus B: {difference.mean:+.3f}{limits} over {counted(found.shares.n, 'question')}: {VERDICTS[found.verdict]}",
        f"A wins {found.wins:,}, {found.ties:,} tied, B wins {found.losses:,}; p = {found.p:.4f} (two-sided, paired sign flips)",
    ]
    if found.shares.why_not:
        said.append(
            f"not comparable: {found.shares.why_not}; with every missing score at its worst and best {found.bounds[0]:+.3f} to {found.bounds[1]:+.3f}"
        )
    elif found.shares.n < found.shares.of:
        left_out = found.shares.of - found.shares.n
        said.append(f"left out, without a score for one of them or both: {left_out:,} of {counted(found.shares.of, 'question')}")
    if found.detectable is not None:
        said.append(f"a difference of {found.detectable:.3f} would be seen four times in five")
    differing = [(asked, a, b) for asked, a, b in made.questions if a is not None and b is not None and a != b]
    for asked, a, b in sorted(differing, key=lambda each: each[2] - each[1])[:SHOWN_QUESTIONS]:
        said.append(f"  {'A' if a > b else 'B'}  {short(a)} / {short(b)}  {asked.id}: {asked.text}")
    if len(differing) > SHOWN_QUESTIONS:
        said.append(f"  … and {len(differing) - SHOWN_QUESTIONS} more; --json has them all")
    return said


def _judge_lines(metric: str, one: Side, other: Side) -> list[str]:
    judges = [judge_of(run, metric) for run, _ in (one, other)]
    if judges[0] == judges[1]:
        return [f"{metric} as judged by {judges[0]}"] if judges[0] else []
    return [f"{metric} of {letter} as judged by {judge}" for letter, judge in zip("AB", judges, strict=True)]


def judge_of(run: Run, metric: str) -> str:
    """Who gave a run's scores of a metric, in words; "" where no judge did."""
    return run.judged.judge if run.judged and metric in BY_QUALITY and BY_QUALITY[metric].judged else ""


def duel_json(made: Duel, one: Side, other: Side) -> dict[str, Any]:
    """A head-to-head as JSON."""
    found, names = made.comparison, names_of(one, other)
    return {
        "metric": made.metric,
        "a": names[0],
        "b": names[1],
        "sides": [_side_json(side) | {"judge": judge_of(side[0], made.metric)} for side in (one, other)],
        "difference": asdict(found.difference),
        "p": found.p,
        "wins": found.wins,
        "ties": found.ties,
        "losses": found.losses,
        "verdict": found.verdict,
        "shares": asdict(found.shares),
        "bounds": list(found.bounds),
        "detectable": found.detectable,
        "questions": [{"question": asked.id, "kind": asked.kind, "a": a, "b": b} for asked, a, b in made.questions],
    }


def _side_json(side: Side) -> dict[str, Any]:
    run, place = side
    entry = run.manifest.configurations[place]
    return {"run": run.manifest.id, "key": entry.key, "slug": entry.slug, "label": labels(run)[place]}


def as_json(pair: Pair) -> dict[str, Any]:
    """A pair as JSON."""
    return {
        "question": pair.asked.id,
        "kind": pair.asked.kind,
        "text": pair.asked.text,
        "expected": list(pair.asked.documents),
        "sides": [
            {"configuration": name, "error": row["error"], "found": row["found"], "answer": row["answer"]}
            for name, row in zip(pair.names, pair.rows, strict=True)
        ],
    }

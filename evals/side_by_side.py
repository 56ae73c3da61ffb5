"""Two configurations question by question: what each found, and what each answered, to read."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from evals.analysis import Duel
from evals.results import Asked, Run, rows
from evals.summary import passes
from sitt_core.errors import InvalidInput

SHOWN = 5
SHOWN_QUESTIONS = 20


@dataclass(frozen=True, slots=True)
class Pair:
    """A question with the row of either configuration; None where it has none."""

    asked: Asked
    slugs: tuple[str, str]
    rows: tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]


def pairs(one: tuple[Run, int], other: tuple[Run, int], *, answers: bool) -> list[Pair]:
    """The questions that both asked, in the first one's order, each with both rows (a run and a configuration's place in it).

    Raises InvalidInput when they share no question, or when answers are wanted and there are none.
    """
    sides = [{run.questions[row["q"]].id: row for row in rows(run, configuration=place)} for run, place in (one, other)]
    asked = [question for question in one[0].questions if question.id in sides[0] and question.id in sides[1]]
    if not asked:
        raise InvalidInput(
            expected="two configurations that were asked the same questions", got="none in common", remedy="Compare within one run."
        )
    if answers and not any(side[question.id]["answer"] for side in sides for question in asked):
        raise InvalidInput(
            expected="rows with answers", got="retrieval only", remedy="Run them with answers: python -m evals run --metrics answers"
        )
    first, second = ((run.manifest.configurations[place].slug) for run, place in (one, other))
    return [Pair(question, (first, second), (sides[0][question.id], sides[1][question.id])) for question in asked]


def lines(pair: Pair) -> str:
    """A pair for a terminal: the question, what was expected, and both sides."""
    said = [f"{pair.asked.id} ({pair.asked.kind}): {pair.asked.text}", f"  expected: {', '.join(pair.asked.documents) or 'no answer'}"]
    for letter, slug, row in zip("AB", pair.slugs, pair.rows, strict=True):
        said.append(f"  {letter} {slug}: {_told(row)}")
        if row and row["answer"]:
            said += [f"    {line}" for line in row["answer"]["text"].splitlines()]
        elif row and row["found"]:
            said += [f"    {rank}. {document}" for rank, (document, *_) in enumerate(row["found"][:SHOWN], start=1)]
    return "\n".join(said)


def _told(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "not asked yet"
    if row["error"]:
        return str(row["error"])
    if row["answer"] and row["answer"]["refused"]:
        return "refused"
    return "PASS" if passes(row) else "FAIL" if row["lost_at"] is not None else "answered"


def duel_lines(made: Duel) -> list[str]:
    """A head-to-head for a terminal: the difference with its interval, the test, who won, what could have been seen."""
    found, (one, other) = made.comparison, made.names
    difference = found.difference
    if difference.mean is None:
        return [f"{one} against {other}: no question has a score of {made.metric} for both."]
    limits = (
        "" if difference.low is None or difference.high is None else f" (95 % interval {difference.low:+.3f} to {difference.high:+.3f})"
    )
    said = [
        f"A {one}",
        f"B {other}",
        f"{made.metric}, A minus B: {difference.mean:+.3f}{limits} over {found.shares.n} questions: A is {found.verdict}",
        f"A wins {found.wins}, {found.ties} are equal, B wins {found.losses}; p = {found.p:.4f} (two-sided, paired sign flips)",
    ]
    if found.shares.why_not:
        said.append(
            f"not comparable: {found.shares.why_not}; with every missing score at its worst and best {found.bounds[0]:+.3f} to {found.bounds[1]:+.3f}"
        )
    elif found.shares.n < found.shares.of:
        said.append(f"{found.shares.of - found.shares.n} of {found.shares.of} questions have no score for one of them and are left out")
    if found.detectable is not None:
        said.append(f"a difference of {found.detectable:.3f} would be seen four times in five")
    differing = [(asked, a, b) for asked, a, b in made.questions if a is not None and b is not None and a != b]
    for asked, a, b in sorted(differing, key=lambda each: each[2] - each[1])[:SHOWN_QUESTIONS]:
        said.append(f"  {'A' if a > b else 'B'}  {a:.2f} / {b:.2f}  {asked.id}: {asked.text}")
    if len(differing) > SHOWN_QUESTIONS:
        said.append(f"  … and {len(differing) - SHOWN_QUESTIONS} more; --json has them all")
    return said


def duel_json(made: Duel) -> dict[str, Any]:
    """A head-to-head as JSON."""
    found = made.comparison
    return {
        "metric": made.metric,
        "a": made.names[0],
        "b": made.names[1],
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


def as_json(pair: Pair) -> dict[str, Any]:
    """A pair as JSON."""
    return {
        "question": pair.asked.id,
        "kind": pair.asked.kind,
        "text": pair.asked.text,
        "expected": list(pair.asked.documents),
        "sides": [
            None if row is None else {"slug": slug, "error": row["error"], "found": row["found"], "answer": row["answer"]}
            for slug, row in zip(pair.slugs, pair.rows, strict=True)
        ],
    }

"""The command that drafts questions: what it costs, asking a model passage by passage, what was kept and why the rest was not."""

import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evals.summary import counted
from sitt_core import build
from sitt_core.errors import BudgetSpent, InvalidInput
from sitt_core.settings import DEFAULT_CORPUS
from sitt_core.surfaces.terminal import (
    INTERRUPTED,
    CorpusOption,
    JobOption,
    JsonOption,
    YesOption,
    confirm,
    ended_quietly,
    print_json,
    reporting,
    settings_of,
)

if TYPE_CHECKING:
    from evals.drafting import DraftPlan, Ended

NOT_FINISHED = 1
"""The exit code when calls failed; the budget's end is a named failure."""
IN_WORDS = {
    "kept": "kept",
    "duplicate": "duplicate",
    "evidence": "unresolved evidence",
    "dangling": "dangling",
    "wording": "leaking wording",
    "undiscriminating": "non-discriminating",
    "nothing": "nothing to ask about",
    "failed": "failed",
}


def draft(
    corpus: CorpusOption = DEFAULT_CORPUS,
    count: Annotated[int, typer.Option("--count", help="How many passages are asked about: at most one draft each.")] = 20,
    budget_usd: Annotated[float | None, typer.Option("--budget-usd", min=0, help="The most that it may cost.")] = None,
    budget_tokens: Annotated[int | None, typer.Option("--budget-tokens", min=0, help="The same in tokens, read and written.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Another number takes the passages in another order.")] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would take and ask nobody.")] = False,
    yes: YesOption = False,
    as_json_: JsonOption = False,
    job: JobOption = None,
) -> None:
    """Draft questions from passages by a language model; what passes the filters waits on the Questions page for a person."""
    from evals.drafting import draft as draft_from
    from evals.drafting import plan_drafting  # with pydantic, which other commands do not wait for

    with ended_quietly(as_json_) as told, reporting(job) as report:
        try:
            workshop = build.Workshop(settings_of(None)[0])
            plan = plan_drafting(workshop, corpus, count=count, seed=seed)
            if dry_run or not as_json_:
                _print_plan(plan, as_json_)
            if dry_run:
                return
            if plan.passages and not (yes or job):
                _ask_first(plan, as_json_)
            ended = draft_from(workshop, plan, budget_tokens=budget_tokens, budget_dollars=budget_usd, report=report)
        except KeyboardInterrupt:
            print("Stopped. Drafts that were made are kept; the same command goes on with passages that are left.", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
        told |= {**_planned(plan), **_came_of_it(ended)}
        if not as_json_:
            print("\n".join(lines(ended)))
        if ended.budget:
            raise BudgetSpent(
                expected=f"the budget to last for {counted(ended.left, 'passage')} more",
                got=ended.budget.partition("got ")[2].partition(". ")[0],
                remedy="Raise it and start again: passages that were asked about are not asked about again.",
            )
        if as_json_:
            print_json(told)
    if ended.counts.get("failed"):  # after its job has ended well: going on asks about them again
        raise typer.Exit(NOT_FINISHED)


def _ask_first(plan: "DraftPlan", as_json_: bool) -> None:
    """Asks before anything is spent; what costs nobody knows how much wants --yes."""
    if plan.dollars is None:
        raise InvalidInput(
            expected="--yes where the price is not known",
            got=f"no --yes, and no known price of {plan.model.provider} {plan.model.model}",
            remedy="Add --yes (and --budget-tokens N), or set JUDGE_PRICE_INPUT and JUDGE_PRICE_OUTPUT.",
        )
    if plan.dollars:
        confirm("Spend that?", as_json=as_json_)


def _planned(plan: "DraftPlan") -> dict[str, Any]:
    return {
        "corpus": plan.corpus,
        "provider": plan.model.provider,
        "model": plan.model.model,
        "passages": len(plan.passages),
        "documents": plan.documents,
        "asked_before": plan.asked_before,
        "tokens": plan.tokens,
        "dollars": plan.dollars,
    }


def _print_plan(plan: "DraftPlan", as_json_: bool) -> None:
    if as_json_:
        print_json(_planned(plan))
        return
    where = f"{counted(len(plan.passages), 'passage')} of {counted(plan.documents, 'document')} of {plan.corpus}"
    before = f"; {counted(plan.asked_before, 'other')} asked about before" if plan.asked_before else ""
    print(f"{where}, by {plan.model.provider} {plan.model.model}{before}")
    if plan.passages:
        cost = "the price is not known" if plan.dollars is None else f"about ${plan.dollars:.2f}" if plan.dollars else "no charge"
        print(
            f"  about {counted(len(plan.passages), 'call')}, {plan.tokens:,} tokens, {cost}; what is in the cache costs nothing", flush=True
        )


def _came_of_it(ended: "Ended") -> dict[str, Any]:
    """Outcomes for JSON: what is not shown of one is null."""
    entries = [{name: value or None for name, value in asdict(each).items()} for each in ended.outcomes]
    return {
        "kept": [entry for entry in entries if entry["kind"] == "kept"],
        "left_out": [entry for entry in entries if entry["kind"] != "kept"],
        "counts": ended.counts,
        "left": ended.left,
        "budget": ended.budget,
        "spent": {
            "calls": ended.tally.calls,
            "cached": ended.tally.cached,
            "tokens": ended.tally.input_tokens + ended.tally.output_tokens,
            "dollars": ended.tally.dollars,
        },
    }


def lines(ended: "Ended") -> list[str]:
    """What drafting came to, for a terminal: a line for every passage, then what waits, what was left out and why, what it took."""
    told = []
    for each in ended.outcomes:
        where = f"  {each.document}" if each.document else ""
        told.append(f"{IN_WORDS[each.kind]:<20}{where}  {' '.join(each.question.split()) or each.reason}")
        if each.question and each.reason:
            told.append(f"{'':<22}{each.reason}")
    told += ["", came_to(ended.counts)]
    if ended.counts.get("kept"):
        told.append("They wait on the Questions page, under Drafts: none is in the golden set before somebody accepts it there.")
    tally = ended.tally
    cost = "unknown dollars" if tally.dollars is None else f"${tally.dollars:.2f}"
    told.append(
        f"{counted(tally.calls, 'call')}, {counted(tally.cached, 'answer')} from the cache, {tally.input_tokens + tally.output_tokens:,} tokens, {cost}"
    )
    return told


def came_to(counts: Mapping[str, int]) -> str:
    """How many drafts were kept, and why the others were not, in a sentence; `counts` by kind of outcome."""
    why = "; ".join(f"{number:,} {IN_WORDS[kind]}" for kind, number in counts.items() if kind != "kept")
    return f"{counted(counts.get('kept', 0), 'draft')} kept{f'; {why}' if why else ''}."

"""The command that judges a run's answers: what it costs, carrying it out, and what came of it."""

import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer

from evals import judged, results
from evals.results import Run
from evals.subject import reopen
from evals.summary import aligned, counted, short
from sitt_core import build
from sitt_core.errors import BudgetSpent
from sitt_core.surfaces.terminal import (
    INTERRUPTED,
    JobOption,
    JsonOption,
    YesOption,
    confirm,
    ended_quietly,
    print_json,
    reporting,
    settings_of,
)

NOT_FINISHED = 1
"""The exit code when verdicts failed, or the budget ended the work."""


def ragas(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The id of a run with answers, its beginning, or latest.")],
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metrics", metavar="NAME …", help="faithfulness, answer-relevancy, … ; all that can be had unless said."),
    ] = None,
    kinds: Annotated[list[str] | None, typer.Option("--kinds", metavar="KIND …", help="Only answers to questions of these kinds.")] = None,
    budget_usd: Annotated[
        float | None, typer.Option("--budget-usd", min=0, help="The most that judging this run may cost in all, earlier goes included.")
    ] = None,
    budget_tokens: Annotated[int | None, typer.Option("--budget-tokens", min=0, help="The same in tokens, read and written.")] = None,
    repeats: Annotated[
        int, typer.Option("--repeats", help="Judge, and write, everything so often, past every cache: shows how noisy both are.")
    ] = 1,
    again: Annotated[bool, typer.Option("--again", help="Forget the verdicts that there are; another judge may follow.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would take and ask nobody.")] = False,
    yes: YesOption = False,
    as_json_: JsonOption = False,
    job: JobOption = None,
) -> None:
    """Judge a run's answers with RAGAS's metrics and ours; without any key, with those that need no judge. Goes on where it stopped."""
    from evals.judging import judge_run, plan_judging  # with pydantic, which other commands do not wait for

    with ended_quietly(as_json_) as answer, reporting(job) as report:
        workshop = build.Workshop(settings_of(None)[0])
        made = results.open_run(workshop.settings.runs_dir, run_id)
        subject = reopen(workshop, made.manifest.golden_place, made.manifest.corpus, report=report)
        plan = plan_judging(workshop, made, subject, metrics or (), repeats=repeats, kinds=kinds or (), again=again)
        told = {
            "run": made.manifest.id,
            "judge": plan.about.judge,
            "metrics": list(plan.metrics),
            "answers": len(plan.units),
            "finished": plan.finished,
            "calls": plan.calls,
            "tokens": plan.tokens,
            "dollars": plan.dollars,
        }
        if dry_run or not as_json_:
            _print_plan(plan, told, as_json_)
        if dry_run:
            return
        if (plan.calls or plan.rewritten) and plan.dollars != 0.0 and not (yes or job):
            confirm("Spend that?", as_json=as_json_)
        try:
            ended = judge_run(
                workshop, made, subject, plan, budget_tokens=budget_tokens, budget_dollars=budget_usd, again=again, report=report
            )
        except KeyboardInterrupt:
            print("\nStopped. Finished verdicts stay; the same command goes on.", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
        made = results.open_run(workshop.settings.runs_dir, made.manifest.id)
        if as_json_:
            answer |= {**told, **_came_of_it(made), "left": ended.left, "failed": ended.failed}
            if not ended.budget:
                print_json(answer)
        else:
            print("\n".join(lines(made)))
            if ended.failed:
                print(f"{counted(ended.failed, 'answer')} with failed verdicts; going on asks for them again.")
        if ended.budget:
            raise BudgetSpent(
                expected=f"the budget to last for {counted(ended.left, 'answer')} more",
                got=ended.budget.partition("got ")[2].partition(". ")[0],
                remedy="Raise it and go on with the same command: finished verdicts stay.",
            )
    if ended.failed:  # after its job has ended well: what failed stands in the rows
        raise typer.Exit(NOT_FINISHED)


def _print_plan(plan: Any, told: dict[str, Any], as_json_: bool) -> None:
    if as_json_:
        print_json(told)
        return
    print(f"{counted(len(plan.units), 'answer')} to be judged, {plan.finished:,} are already, by {plan.about.judge}")
    print(f"  metrics: {', '.join(plan.metrics)}")
    if plan.rewritten:
        print(f"  {counted(plan.rewritten, 'answer')} written anew")
    if plan.calls or plan.rewritten:
        cost = "the price is not known" if plan.dollars is None else f"at most about ${plan.dollars:.2f}"
        print(f"  about {counted(plan.calls, 'call')}, {plan.tokens:,} tokens, {cost}; what is in the cache costs nothing")
    if plan.about.own:
        print("  the judge wrote some of the answers itself: set JUDGE_PROVIDER to another one if you can")


def _came_of_it(made: Run) -> dict[str, Any]:
    from evals import verdicts

    spent = judged.spent(made.folder)
    return {
        "results": verdicts.quality_rows(made),
        "noise": [asdict(each) for each in verdicts.noise(made)],
        "findings": verdicts.verdict_findings(made),
        "spent": {"tokens": spent.input_tokens + spent.output_tokens, "dollars": spent.dollars},
    }


def lines(made: Run) -> list[str]:
    """What judging came to, for a terminal: a table, then sentences."""
    from evals import verdicts

    table = [["metric", "configuration", "mean", "n", "missing"]]
    for row in verdicts.quality_rows(made):
        reasons = [f"{count} {reason}" for kind in ("undefined", "failed") for reason, count in row[kind].items()]
        reasons += [f"{row['waiting']} not judged yet"] * bool(row["waiting"])
        told = "–" if row["mean"] is None else short(row["mean"], 3)
        told += f" [{short(row['low'])}–{short(row['high'])}]" if row["low"] is not None else ""
        told += " (less is better)" if row["less is better"] else ""
        table.append([row["metric"], row["configuration"], told, f"{row['n']} of {row['of']}", "; ".join(reasons)])
    spent = judged.spent(made.folder)
    cost = "unknown dollars" if spent.dollars is None else f"${spent.dollars:.2f}"
    said = f"spent so far: {spent.input_tokens + spent.output_tokens:,} tokens, {cost}"
    return ["", *aligned(table), *verdicts.verdict_findings(made), *([said] if spent.input_tokens else [])]

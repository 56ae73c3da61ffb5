"""The eval lab's command line: golden sets, runs, and what came of them; every command with --json."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from evals import analysis, beir, editing, golden, grid, results, side_by_side, summary
from evals import confirm as confirmations
from evals import gate as gates
from evals import run as runner
from evals.golden import FIELD_GUIDE, GoldenSet, Question
from evals.results import Entry, Run
from evals.statistics import confirmation_level
from evals.subject import DEFAULT_SPLIT, Subject, open_dataset, open_questions, reopen
from sitt_core import build, notes
from sitt_core.configuration import Configuration, configure
from sitt_core.errors import InvalidInput, NotFound, shown
from sitt_core.settings import DEFAULT_CORPUS, Settings
from sitt_core.surfaces.cli_drafting import draft
from sitt_core.surfaces.cli_judging import ragas
from sitt_core.surfaces.progress import human_seconds
from sitt_core.surfaces.terminal import (
    INTERRUPTED,
    JobOption,
    JsonOption,
    SetOption,
    YesOption,
    ended_quietly,
    print_json,
    reporting,
    settings_of,
)
from sitt_core.surfaces.terminal import confirm as ask_first
from sitt_core.types import Report

app = typer.Typer(
    name="evals",
    help="SITT Lab's eval lab: ask questions whose answers are known, under many configurations.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(ragas)
questions_app = typer.Typer(help="Golden sets.", no_args_is_help=True)
app.add_typer(questions_app, name="questions")
questions_app.command()(draft)

LISTS = ("--grid", "--kinds", "--metrics", "--preset")
"""Options that take several values after their name."""
FAILED_SHOWN = 5
"""How many of a failed question's passages are shown."""

QuestionsOption = Annotated[
    str, typer.Option("--questions", help="field-guide; own for those of the Questions page; or the path of a golden set.")
]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="The id of a run, its beginning, or latest.")]


def main() -> None:
    """Runs the command line; exit code 0, 1 for a named failure, 2 for wrong usage, 130 after Ctrl-C (docs/eval-lab.md has the table)."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(args=spread(sys.argv[1:]))


def spread(arguments: Sequence[str]) -> list[str]:
    """`--grid a=1,2 b=3` as `--grid a=1,2 --grid b=3`, which is what the options know."""
    spelled: list[str] = []
    current = ""
    for argument in arguments:
        if argument.startswith("-"):
            current = argument if argument in LISTS else ""
        elif current and spelled[-1] != current:
            spelled.append(current)
        spelled.append(argument)
    return spelled


@app.command()
def run(
    questions: Annotated[
        str, typer.Option("--questions", help="field-guide unless said; own for those of the Questions page; or the path of a golden set.")
    ] = "",
    dataset: Annotated[str, typer.Option("--dataset", help="A public collection instead: beir:PATH, its folder.")] = "",
    corpus: Annotated[str, typer.Option("--corpus", help="Which corpus is asked; of a dataset, what its corpus is called.")] = "",
    language: Annotated[str, typer.Option("--language", help="The language of a dataset's corpus, for stemming and stop words.")] = "",
    grid_: Annotated[
        list[str] | None, typer.Option("--grid", metavar="FIELD=A,B …", help="Every combination of these values, on each preset.")
    ] = None,
    preset: Annotated[
        list[str] | None,
        typer.Option("--preset", metavar="NAME …", help="default, reproduction (as BEIR's figures were made), or one that you saved."),
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metrics", metavar="NAME …", help="Such as recall@5 document-ndcg@10; answers adds those of answers."),
    ] = None,
    kinds: Annotated[list[str] | None, typer.Option("--kinds", metavar="KIND …", help="Only questions of these kinds.")] = None,
    split: Annotated[str, typer.Option("--split", help="open; of a dataset, the qrels file: test, dev, train.")] = "",
    name: Annotated[str, typer.Option("--name", help="What to call the run.")] = "",
    baseline: Annotated[
        str, typer.Option("--baseline", metavar="KEY", help="The configuration that others will be compared with, named beforehand.")
    ] = "",
    resume: Annotated[str, typer.Option("--resume", metavar="RUN", help="Go on with a run that was stopped.")] = "",
    set_: SetOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would take and run nothing.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No line for each question.")] = False,
    yes: YesOption = False,
    as_json_: JsonOption = False,
    job: JobOption = None,
) -> None:
    """Ask every question under every configuration, and keep what came of it as a run."""
    with ended_quietly(as_json_), reporting(job) as report:
        settings, base = settings_of(set_)
        workshop = build.Workshop(settings)
        if resume:
            made = results.open_run(settings.runs_dir, resume)
            _require_alone([questions, dataset, corpus, language, grid_, preset, metrics, kinds, split, name, baseline, set_])
            dollars = runner.dollars_left(workshop, made)
            if dry_run:
                _print_left(made, dollars, as_json_)
                return
            if dollars != 0.0 and not (yes or job):
                ask_first(f"Go on, {_cost(dollars)}?", as_json=as_json_)
            subject = reopen(workshop, made.manifest.golden_place, made.manifest.corpus, report=report)
        else:
            _require_open(split, dataset, as_json_)
            expanded = grid.expand(grid.parse_grid(grid_ or []), [_preset(each, settings, base) for each in preset or ["default"]])
            chosen = runner.choose_metrics(metrics or [])
            if not expanded.configurations:
                _wrong_usage("; ".join(f"skipped {line}" for line in expanded.skipped), as_json_)
            named_baseline = _baseline(baseline, expanded)
            selection = runner.Selection(tuple(kinds or ()))
            if dataset:
                subject = open_dataset(
                    workshop,
                    dataset,
                    split=split or DEFAULT_SPLIT,
                    corpus=corpus,
                    language=language,
                    first=expanded.configurations[0],
                    require=selection.of,
                    dry_run=dry_run,
                    report=report,
                )
            else:
                subject = open_questions(workshop, questions or FIELD_GUIDE, corpus or DEFAULT_CORPUS, report=report)
            plan = runner.plan_run(workshop, subject, selection, expanded, chosen)
            if not as_json_ or dry_run:
                _print_plan(plan, subject, as_json_)
            if dry_run:
                return
            if plan.dollars != 0.0 and not yes:
                ask_first("Spend that?", as_json=as_json_)
            made = runner.start(workshop, subject, plan, name=name, baseline=named_baseline)
        told = None if quiet or as_json_ or job else _Verdicts(made)
        done = _carry_out(workshop, made, subject, report, told, as_json_)
        _print_results(done, as_json_)
    if done.failures:
        raise typer.Exit(1)


def _require_alone(others: Sequence[object]) -> None:
    """Raises InvalidInput when something was chosen beside --resume, which the run's rows could not follow."""
    if any(others):
        raise InvalidInput(
            expected="--resume by itself: a run goes on as it was begun",
            got="other choices with it",
            remedy="Leave them out, or start a new run.",
        )


def _print_left(made: Run, dollars: float | None, as_json_: bool) -> None:
    """What going on with a run takes."""
    left, rows = sum(results.unfinished(made)), len(made.questions) * len(made.manifest.configurations)
    if as_json_:
        print_json({"run": made.manifest.id, "rows": rows, "missing": left, "dollars": dollars})
    else:
        print(f"{left:,} of {summary.counted(rows, 'row')} would be made for {made.manifest.id}; {_cost(dollars)}")


def _require_open(split: str, dataset: str, as_json_: bool) -> None:
    if not dataset and split == "sealed":
        _wrong_usage("sealed questions are asked by confirm alone: python -m evals confirm RUN:KEY", as_json_)
    if not dataset and split not in ("", "open"):
        _wrong_usage(f"expected --split open, got {shown(split)}; only a --dataset has others", as_json_)


def _wrong_usage(said: str, as_json_: bool) -> NoReturn:
    """Ends with exit code 2 and a line, as JSON too where that was asked for."""
    if as_json_:
        print_json({"error": {"kind": "WrongUsage", "message": said}})
    print(said, file=sys.stderr)
    raise typer.Exit(2)


def _preset(name: str, settings: Settings, base: Configuration) -> Configuration:
    saved = notes.presets(settings.notes_dir)
    if name in saved:
        return configure(saved[name])
    if name not in grid.BUNDLED_PRESETS:
        raise NotFound(
            expected=f"a preset: {', '.join([*grid.BUNDLED_PRESETS, *saved])}", got=shown(name), remedy="Save one on the Explore page."
        )
    return configure(grid.BUNDLED_PRESETS[name], base)


def _baseline(key: str, expanded: grid.Grid) -> str:
    """The whole key of the configuration whose key or slug begins so; raises InvalidInput."""
    found = [each.key for each in expanded.configurations if key and (each.key.startswith(key) or key == each.slug)]
    if key and len(found) != 1:
        names = results.tell_apart([Entry(each.key, each.slug, each.to_dict()) for each in expanded.configurations])
        there = ", ".join(f"{each.key} ({name})" for each, name in zip(expanded.configurations, names, strict=True))
        raise InvalidInput(expected=f"the key of one configuration: {there}", got=shown(key), remedy="Name one of those.")
    return found[0] if found else ""


def _carry_out(workshop: build.Workshop, made: Run, subject: Subject, report: Report, told: "_Verdicts | None", as_json_: bool) -> Run:
    try:
        return runner.execute(workshop, made, subject, report=report, told=told)
    except KeyboardInterrupt:
        print(f"\nStopped. Go on: python -m evals run --resume {made.manifest.id}", file=sys.stderr)
        _print_results(results.open_run(made.folder.parent, made.manifest.id), as_json_)
        raise typer.Exit(INTERRUPTED) from None


def _print_plan(plan: runner.Plan, subject: Subject, as_json_: bool) -> None:
    missing = [{"index_key": key, "chunks": each.chunks, "seconds": each.seconds} for key, each in plan.missing.items()]
    if as_json_:
        print_json(
            {
                "questions": len(plan.questions),
                "configurations": [{"key": each.key, "slug": each.slug} for each in plan.grid.configurations],
                "skipped": list(plan.grid.skipped),
                "duplicates": plan.grid.duplicates,
                "indexes_to_build": missing,
                "answers": plan.answers,
                "tokens": plan.tokens,
                "dollars": plan.dollars,
                "notes": list(subject.notes),
            }
        )
        return
    print(f"{_size(len(plan.questions), len(plan.grid.configurations))} on {subject.corpus.name}: {summary.counted(plan.rows, 'row')}")
    for note in subject.notes:
        print(f"  note: {note}")
    for line in plan.grid.skipped:
        print(f"  skipped {line}")
    if plan.grid.duplicates:
        print(f"  left out, since another one comes to the same: {summary.counted(plan.grid.duplicates, 'combination')}")
    if missing:
        seconds = human_seconds(sum(each.seconds for each in plan.missing.values()))
        print(f"  built first: {len(missing)} index{'es' * (len(missing) > 1)}, about {seconds}")
    if plan.answers:
        print(f"  {summary.counted(plan.answers, 'answer')}: about {plan.tokens:,} tokens to read, {_cost(plan.dollars)}")


def _size(questions: int, configurations: int) -> str:
    return f"{summary.counted(questions, 'question')} × {summary.counted(configurations, 'configuration')}"


def _cost(dollars: float | None) -> str:
    if dollars is None:
        return "at a price that is not known here"
    return f"at most ${dollars:,.2f}" if dollars else "no charge"


class _Verdicts:
    """Prints a line for every question as it is finished: PASS when what is shown holds an expected document."""

    def __init__(self, made: Run) -> None:
        self._labels = dict(zip((entry.key for entry in made.manifest.configurations), summary.labels(made), strict=True))
        self._several = len(self._labels) > 1
        self._stale = {asked.id for asked in made.questions if asked.stale}

    def __call__(self, entry: Entry, question: Question, row: Mapping[str, Any]) -> None:
        where = f"  [{self._labels[entry.key]}]" if self._several else ""
        what = "evidence" if question.evidence and question.id not in self._stale else "document"
        if row.get("error"):
            print(f"ERROR {question.id}{where}: {row['error']}", flush=True)
        elif not question.answerable:
            said = "" if row.get("refused") is None else " refused" if row["refused"] else " answered"
            print(f"  –   {question.id}{where}  not answerable{said}", flush=True)
        elif row.get(summary.TOP_K) is None:
            print(f"  –   {question.id}{where}  {(row.get('why') or {}).get(summary.TOP_K, 'no score')}", flush=True)
        elif summary.passes(row):
            print(f"PASS  {question.id}{where}  {_found(row, what)}", flush=True)
        else:
            print(f"FAIL  {question.id}{where}  {question.text}", flush=True)
            print(
                f"        expected {', '.join(question.documents[:5])}{', …' * (len(question.documents) > 5)}; {_lost(row, what)}",
                flush=True,
            )
            for rank, (document, start, end, score) in enumerate(row["found"][:FAILED_SHOWN], start=1):
                print(f"        {rank}. {score:.4f}  {document} [{start}:{end}]", flush=True)


def _found(row: Mapping[str, Any], what: str) -> str:
    """Where the evidence is of a question that passes, or else the expected document."""
    if row.get("rank_shown") is None:
        return f"an expected document is shown; its {what} was not handed over by any retriever"
    below = "an expected document is shown; " if row.get("lost_at") == "cut" else ""
    return f"{below}{what} at rank {row['rank_shown']}{', below top K' * bool(below)}"


def _lost(row: Mapping[str, Any], what: str) -> str:
    if row.get("lost_at") == "cut":
        return f"{what} at rank {row['rank_shown']}, below top K"
    if row.get("lost_at") == "retrieval":
        return f"no retriever handed {'its evidence' if what == 'evidence' else 'it'} over"
    return "its text is shown, from no expected document"


def _print_results(made: Run, as_json_: bool) -> None:
    figures = summary.summarise(made)
    if as_json_:
        print_json(summary.as_json(made, figures))
        return
    print()
    print("\n".join(summary.lines(made, figures)))


@app.command(name="runs")
def list_runs(as_json_: JsonOption = False) -> None:
    """List the runs, newest first."""
    with ended_quietly(as_json_):
        found = results.runs(settings_of(None)[0].runs_dir)
        if as_json_:
            print_json({"runs": [_described(each) for each in found]})
        else:
            print("\n".join(_run_line(each) for each in found) or "No run yet: python -m evals run")


def _described(made: Run) -> dict[str, Any]:
    manifest = made.manifest
    return {
        "run": manifest.id,
        "name": manifest.name,
        "state": made.state,
        "corpus": manifest.corpus,
        "golden": manifest.golden,
        "questions": len(made.questions),
        "configurations": len(manifest.configurations),
        "rows": results.count(made),
        "started": manifest.started,
        "seconds": made.seconds,
    }


def _run_line(made: Run) -> str:
    manifest = made.manifest
    name = f"  {manifest.name}" if manifest.name else ""
    size = _size(len(made.questions), len(manifest.configurations))
    rows = summary.counted(results.count(made), "row")
    return f"{manifest.id}  {made.state:<7}  {manifest.golden} on {manifest.corpus}: {size}, {rows}{name}"


@app.command()
def show(run_id: RunArgument, as_json_: JsonOption = False) -> None:
    """Show what came of a run."""
    with ended_quietly(as_json_):
        _print_results(results.open_run(settings_of(None)[0].runs_dir, run_id), as_json_)


@app.command()
def export(
    run_id: RunArgument,
    csv: Annotated[bool, typer.Option("--csv", help="As comma-separated values, the only form so far.")] = True,  # noqa: ARG001
    output: Annotated[Path | None, typer.Option("--output", help="Where to; RUN.csv here unless said.")] = None,
    as_json_: JsonOption = False,
) -> None:
    """Write a run's rows to a file: a line for every question and configuration."""
    with ended_quietly(as_json_):
        made = results.open_run(settings_of(None)[0].runs_dir, run_id)
        path = output or Path(f"{made.manifest.id}.csv")
        count = results.export_csv(made, path)
        if as_json_:
            print_json({"run": made.manifest.id, "file": str(path), "rows": count})
        else:
            print(f"{summary.counted(count, 'row')} in {path}")


@app.command()
def report(
    run_id: RunArgument,
    output: Annotated[Path | None, typer.Option("--output", help="Where to; RUN.html here unless said.")] = None,
    metric: Annotated[str, typer.Option("--metric", help="What the charts are by; recall@5 unless said, where the run has it.")] = "",
    as_json_: JsonOption = False,
) -> None:
    """Write what came of a run as one HTML file that needs nothing else: findings, charts, tables, what was run."""
    with ended_quietly(as_json_):
        from evals.report import write_report  # Plotly is wanted here alone

        runs_dir = settings_of(None)[0].runs_dir
        made = results.open_run(runs_dir, run_id)
        path = output or Path(f"{made.manifest.id}.html")
        write_report(made, path, everything=results.runs(runs_dir), metric=metric)
        if as_json_:
            print_json({"run": made.manifest.id, "file": str(path)})
        else:
            print(f"The report of {made.manifest.id} is {path}")


CommonOption = Annotated[bool, typer.Option("--common", help="Accept other question sets or corpora: only what both share counts.")]
MetricOption = Annotated[str, typer.Option("--metric", help="Which metric.", show_default=True)]


@app.command()
def compare(
    one: Annotated[str, typer.Argument(metavar="RUN:KEY", help="A configuration of a run.")],
    other: Annotated[str, typer.Argument(metavar="RUN:KEY", help="Another, of the same run or of another.")],
    metric: MetricOption = summary.HEADLINE,
    common: CommonOption = False,
    answers: Annotated[bool, typer.Option("--answers", help="Both answers to every question, one below the other, to read.")] = False,
    as_json_: JsonOption = False,
) -> None:
    """Set two configurations against each other: the difference with its interval, who won which question, or the answers to read."""
    with ended_quietly(as_json_):
        runs_dir = settings_of(None)[0].runs_dir
        sides = _configuration_of(runs_dir, one), _configuration_of(runs_dir, other)
        if answers:
            pairs = side_by_side.pairs(*sides)
            if as_json_:
                print_json({"questions": [side_by_side.as_json(pair) for pair in pairs]})
            else:
                print("\n\n".join(side_by_side.lines(pair) for pair in pairs))
            return
        made = analysis.duel(*sides, metric, common=common)
        if as_json_:
            print_json(side_by_side.duel_json(made, *sides))
        else:
            print("\n".join(side_by_side.duel_lines(made, *sides)))


@app.command()
def gate(
    run_id: RunArgument,
    baseline: Annotated[str, typer.Option("--baseline", metavar="NAME", help="A baseline, as baseline set has named it.")],
    config: Annotated[
        str, typer.Option("--config", metavar="KEY", help="Which configuration of the run; needed when it has several.")
    ] = "",
    metric: MetricOption = summary.HEADLINE,
    max_drop: Annotated[
        float, typer.Option("--max-drop", help="The largest drop that passes, significant or not.")
    ] = gates.DEFAULT_MAX_DROP,
    common: CommonOption = False,
    as_json_: JsonOption = False,
) -> None:
    """Exit with 1 when a configuration has fallen below a baseline: significantly, by too much, with more errors or fewer scores."""
    with ended_quietly(as_json_):
        runs_dir = settings_of(None)[0].runs_dir
        candidate = _configuration_of(runs_dir, f"{run_id}:{config}" if config else run_id)
        held = gates.open_baseline(runs_dir, baseline)
        verdict = gates.gate(candidate, held, metric, max_drop=max_drop, common=common)
        if as_json_:
            told = {"passed": verdict.passed, "reasons": list(verdict.reasons), "p": verdict.p, "smallest_drop_seen": verdict.seen}
            print_json({**told, **side_by_side.duel_json(verdict.duel, candidate, held)})
        else:
            print("\n".join(side_by_side.duel_lines(verdict.duel, candidate, held)))
            seen = "These scores do not say how small a drop would be seen." if verdict.seen is None else _seen(verdict.seen)
            print(f"{seen} One-sided p = {verdict.p:.4f}.")
            print("\n".join(f"FAIL  {reason}" for reason in verdict.reasons) or f"PASS  no drop against {baseline}")
        if not verdict.passed:
            raise typer.Exit(1)


def _seen(drop: float) -> str:
    return f"A drop of {drop:.3f} or more would be seen four times in five."


baseline_app = typer.Typer(help="Baselines by name, for gate.", no_args_is_help=True)
app.add_typer(baseline_app, name="baseline")


@baseline_app.command(name="set")
def set_baseline(
    name: Annotated[str, typer.Argument(help="What to call it, such as main.")],
    configuration: Annotated[str, typer.Argument(metavar="RUN:KEY", help="A configuration of a run.")],
    as_json_: JsonOption = False,
) -> None:
    """Name a configuration of a run, to be compared with later."""
    with ended_quietly(as_json_):
        runs_dir = settings_of(None)[0].runs_dir
        made, place = _configuration_of(runs_dir, configuration)
        gates.set_baseline(runs_dir, name, made, place)
        entry = made.manifest.configurations[place]
        if as_json_:
            print_json({"baseline": name, "run": made.manifest.id, "key": entry.key})
        else:
            print(f"{name} is {summary.labels(made)[place]} ({entry.key}) of run {made.manifest.id}")


@baseline_app.command(name="list")
def list_baselines(as_json_: JsonOption = False) -> None:
    """List the baselines."""
    with ended_quietly(as_json_):
        held = gates.baselines(settings_of(None)[0].runs_dir)
        if as_json_:
            print_json({"baselines": {name: {"run": run_id, "key": key} for name, (run_id, key) in held.items()}})
        else:
            print(
                "\n".join(f"{name}  {run_id}:{key}" for name, (run_id, key) in held.items())
                or "None yet: python -m evals baseline set NAME RUN:KEY"
            )


@app.command()
def confirm(
    configuration: Annotated[str, typer.Argument(metavar="RUN:KEY", help="The configuration that won a run on the open questions.")],
    baseline: Annotated[
        str,
        typer.Option(
            "--baseline",
            metavar="NAME|KEY",
            help="What it is compared with: a named baseline, or a key of the run; the default configuration unless said.",
        ),
    ] = "",
    metric: MetricOption = summary.HEADLINE,
    yes: YesOption = False,
    as_json_: JsonOption = False,
    job: JobOption = None,
) -> None:
    """Ask the sealed questions under one configuration and one baseline; every use is counted, and makes the next one stricter."""
    with ended_quietly(as_json_), reporting(job) as report:
        settings, default = settings_of(None)
        workshop = build.Workshop(settings)
        made, place = _configuration_of(settings.runs_dir, configuration)
        chosen = made.manifest.configurations[place].configuration
        against = _confirm_baseline(settings.runs_dir, made, baseline, default)
        subject = reopen(workshop, made.manifest.golden_place, made.manifest.corpus, report=report)
        path = confirmations.log_file(subject, settings)
        use = len(confirmations.uses(path)) + 1
        if not (yes or job):
            if not as_json_:
                level = f"at the level {confirmation_level(use):g}"
                print(f"This is use {use} of the sealed questions of {subject.golden.name}, {level}; it is logged in {path.name}.")
            ask_first("Ask them?", as_json=as_json_)
        found = confirmations.confirm(workshop, subject, chosen, against, metric, report=report)
        if as_json_:
            print_json(asdict(found))
        else:
            print(confirmations.sentence(found))


def _confirm_baseline(runs_dir: Path, made: Run, baseline: str, default: Configuration) -> Configuration:
    key = baseline or made.manifest.baseline
    if not key:
        return default
    if key in gates.baselines(runs_dir):
        run_, place = gates.open_baseline(runs_dir, key)
        return run_.manifest.configurations[place].configuration
    return made.manifest.configurations[made.place_of(key)].configuration


def _configuration_of(runs_dir: Path, spec: str) -> tuple[Run, int]:
    run_id, colon, key = spec.partition(":")
    made = results.open_run(runs_dir, run_id)
    if not colon and len(made.manifest.configurations) > 1:
        raise InvalidInput(expected="RUN:KEY", got=shown(spec), remedy=f"python -m evals show {made.manifest.id} lists the keys.")
    return made, made.place_of(key) if colon else 0


@questions_app.command()
def check(
    questions: QuestionsOption = FIELD_GUIDE,
    corpus: Annotated[str, typer.Option("--corpus", help="The corpus that the questions are about.")] = DEFAULT_CORPUS,
    sealed: Annotated[
        bool, typer.Option("--sealed", help="For who keeps the set: say what is wrong with sealed questions, by their ids.")
    ] = False,
    as_json_: JsonOption = False,
) -> None:
    """Check a golden set against its corpus: evidence, wording, splits, judgements; exit code 1 when something is wrong."""
    with ended_quietly(as_json_), reporting(None) as report:
        workshop = build.Workshop(settings_of(None)[0])
        subject = open_questions(workshop, questions, corpus, report=report)
        found = golden.check_questions(subject.golden, subject.corpus.all_documents())
        found = found if sealed else editing.without_sealed(found, subject.golden)
        counts, shares = _counted(subject.golden), golden.sealed_shares(subject.golden)
        if as_json_:
            print_json(
                {
                    "questions": len(subject.golden.questions),
                    "kinds": counts,
                    "sealed": shares,
                    "findings": [{"question": each.question, "kind": each.kind, "message": each.message} for each in found],
                }
            )
        else:
            print(
                f"{summary.counted(len(subject.golden.questions), 'question')}: "
                + ", ".join(f"{kind} {count}" for kind, count in counts.items())
            )
            print("sealed: " + ", ".join(f"{kind} {share:.0%}" for kind, share in shares.items()))
            print("\n".join(f"{each.kind:<10} {each.question}: {each.message}" for each in found) or "Nothing is wrong.")
        if found:
            raise typer.Exit(1)


def _counted(of: GoldenSet) -> dict[str, int]:
    counts: dict[str, int] = {}
    for question in of.questions:
        counts[question.kind] = counts.get(question.kind, 0) + 1
    return counts


@questions_app.command(name="export")
def export_questions(
    folder: Annotated[Path, typer.Argument(help="A folder that does not exist yet.")],
    questions: QuestionsOption = FIELD_GUIDE,
    corpus: Annotated[str, typer.Option("--corpus", help="The corpus that the questions are about.")] = DEFAULT_CORPUS,
    sealed: Annotated[bool, typer.Option("--sealed", help="With the sealed questions, which are left out otherwise.")] = False,
    as_json_: JsonOption = False,
) -> None:
    """Write a golden set and its corpus as a BEIR folder."""
    with ended_quietly(as_json_), reporting(None) as report:
        subject = open_questions(build.Workshop(settings_of(None)[0]), questions, corpus, report=report)
        beir.write_collection(folder, subject.corpus.all_documents(), subject.golden, sealed=sealed)
        if as_json_:
            print_json({"folder": str(folder)})
        else:
            print(f"Written to {folder}: corpus.jsonl, queries.jsonl, qrels/test.tsv")

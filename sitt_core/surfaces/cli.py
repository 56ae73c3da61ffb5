"""The command line: update, index, search, ask, status, doctor, and the administration of corpora and jobs; every one with --json."""

import shutil
import sys
import textwrap
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from sitt_core import build, ingest
from sitt_core.errors import SittError
from sitt_core.settings import DEFAULT_CORPUS
from sitt_core.store.layout import check_corpus_name, corpus_names
from sitt_core.surfaces import as_json, cli_ask, cli_corpora, cli_jobs, cli_update, status
from sitt_core.surfaces.cli_update import built_line
from sitt_core.surfaces.progress import human_seconds, sentences_note
from sitt_core.surfaces.terminal import (
    CategoryOption,
    CorpusOption,
    FromOption,
    JobOption,
    JsonOption,
    RegionOption,
    SetOption,
    answer,
    named_failures,
    print_json,
    reporting,
    settings_of,
)
from sitt_core.text import check_question
from sitt_core.types import Filters, Passage

app = typer.Typer(
    name="sitt_core",
    help="SITT Lab: ask a corpus, see every stage that made the answer.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def main() -> None:
    """Runs the command line; exit code 0, 1 for a named failure (one line on standard error), 2 for wrong usage."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a character still shows the rest
    app()


@app.command()
def index(
    corpus: CorpusOption = DEFAULT_CORPUS,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Build it again even if it is there.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what it would take and build nothing.")] = False,
    set_: SetOption = None,
    as_json_: JsonOption = False,
    job: JobOption = None,
) -> None:
    """Build the index of a configuration in the corpus's current generation."""
    with named_failures(as_json_), reporting(job) as report:
        settings, configuration = settings_of(set_)
        workshop = build.Workshop(settings)
        opened = workshop.corpus(corpus)
        key = configuration.index_key
        if opened.has_index_for(configuration) and not rebuild and not dry_run:
            answer(
                as_json_,
                {"index_key": key, "built": None},
                f"Index {key} ({configuration.slug}) is there already; --rebuild builds it again.",
            )
            return
        recipe = workshop.recipe(configuration, language=build.language_of(opened))
        if dry_run:
            estimate = ingest.estimate_build(opened, recipe=recipe)
            line = f"{estimate.chunks:,} chunks, {estimate.cached:,} vectors cached, about {human_seconds(estimate.seconds)}.{sentences_note(estimate.sentences)}"
            answer(
                as_json_,
                {
                    "index_key": key,
                    "chunks": estimate.chunks,
                    "cached": estimate.cached,
                    "sentences": estimate.sentences,
                    "seconds": estimate.seconds,
                },
                line,
            )
            return
        built = ingest.build_index(opened, recipe=recipe, report=report)
        answer(as_json_, {"index_key": key, "built": as_json.built_json(built)}, built_line(built))


@app.command()
def search(
    question: Annotated[str, typer.Argument(help="What to ask.")],
    corpus: CorpusOption = DEFAULT_CORPUS,
    category: CategoryOption = None,
    region: RegionOption = None,
    origin: FromOption = None,
    set_: SetOption = None,
    as_json_: JsonOption = False,
) -> None:
    """Ask a question and see which passages come back, from where and why."""
    from sitt_core import pipeline

    with named_failures(as_json_):
        settings, configuration = settings_of(set_)
        check_question(question)  # before a model is loaded for it
        workshop = build.Workshop(settings)
        engine = workshop.engine(workshop.corpus(corpus), configuration)
        filters = Filters(tuple(category or ()), tuple(region or ()), tuple(origin or ()))
        retrieval = pipeline.search(question, engine, filters=filters)
        if as_json_:
            print_json(as_json.retrieval_json(configuration, retrieval))
            return
        for passage in retrieval.passages:
            _print_passage(passage)
        for notice in retrieval.trace.notices:
            print(f"note: {notice}")
        times = ", ".join(f"{stage.name} {stage.milliseconds:.1f}" for stage in retrieval.trace.stages)
        print(f"{configuration.slug} · {retrieval.trace.milliseconds:.0f} ms ({times})")


def _print_passage(passage: Passage) -> None:
    width = max(20, min(100, shutil.get_terminal_size().columns))
    ranks = ", ".join(f"{name} #{rank}" for name, rank in passage.hit.ranks.items())
    heading = " › ".join((passage.title, *passage.chunk.heading_path))
    print(f"{passage.rank}. {heading}  [{ranks}; score {passage.hit.score:.4f}]")
    print(textwrap.indent(textwrap.fill(textwrap.shorten(passage.chunk.text, 500, placeholder=" …"), width - 3), "   "))
    sources = dict.fromkeys([passage.source, *(twin.source for twin in passage.twins)])
    for source in sources:
        print(f"   — {source.title}, {source.url}, {source.license}")
    print()


@app.command(name="status")
def status_(
    corpus: Annotated[str, typer.Option("--corpus", help="Only this corpus.")] = "",
    set_: SetOption = None,
    as_json_: JsonOption = False,
) -> None:
    """What is stored, whether the configuration's index is among it, and what is running."""
    with named_failures(as_json_):
        settings, configuration = settings_of(set_)
        names = (check_corpus_name(corpus),) if corpus else corpus_names(settings.store_dir)
        workshop = build.Workshop(settings)
        overview: dict[str, Any] = {"corpora": [], "broken": [], "jobs": status.describe_jobs(settings.jobs_dir)}
        for name in names:
            try:
                overview["corpora"].append(status.describe(workshop.corpus(name), configuration, settings.data_dir))
            except SittError as error:
                if corpus:
                    raise
                overview["broken"].append({"name": name, **error.to_json()})
        if as_json_:
            print_json(overview)
        else:
            print(status.as_text(overview))
        if overview["broken"]:
            print(f"Cannot be read: {', '.join(each['name'] for each in overview['broken'])}", file=sys.stderr)
            raise typer.Exit(1)


@app.command()
def doctor(
    corpus: Annotated[str, typer.Option("--corpus", help="Check this corpus too.")] = "",
    set_: SetOption = None,
    as_json_: JsonOption = False,
) -> None:
    """Check this machine, and say how to mend what fails."""
    from dataclasses import asdict, replace

    from sitt_core.surfaces.doctor import run_checks

    with named_failures(as_json_):
        settings, configuration = settings_of(set_)
        checks = run_checks(replace(settings, defaults=configuration), corpus)
        if as_json_:
            print_json({"checks": [asdict(check) for check in checks]})
        else:
            for check in checks:
                print(f"{check.state:>6}  {check.name}: {check.detail}" + (f"\n        {check.remedy}" if check.remedy else ""))
        failed = [check.name for check in checks if check.state == "failed"]
        if failed:
            print(f"{len(failed)} of {len(checks)} checks failed: {', '.join(failed)}", file=sys.stderr)
            raise typer.Exit(1)


for _commands in (cli_update.COMMANDS, cli_ask.COMMANDS, cli_corpora.COMMANDS, cli_jobs.COMMANDS):
    app.registered_commands += _commands.registered_commands
    app.registered_groups += _commands.registered_groups

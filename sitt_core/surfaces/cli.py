"""The command line: update, index, search, status, doctor; every one with --json, --corpus and --set."""

import codecs
import contextlib
import json
import shutil
import sys
import textwrap
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer

from sitt_core import build, ingest, jobs
from sitt_core.configuration import FIELDS, Configuration, configure
from sitt_core.errors import InvalidInput, SittError, SourceError, shown
from sitt_core.settings import DEFAULT_CORPUS, Settings, load_settings
from sitt_core.store.layout import check_corpus_name, corpus_names
from sitt_core.surfaces import as_json, status
from sitt_core.surfaces.progress import human_seconds, terminal_report
from sitt_core.text import check_question
from sitt_core.types import Filters, Passage, Report

FIELD_HELP = "; ".join(f"{field.name}={field.allowed}" for field in FIELDS)

app = typer.Typer(
    name="sitt_core",
    help="SITT Lab: ask a corpus, see every stage that made the answer.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

CorpusOption = Annotated[str, typer.Option("--corpus", help="Which corpus.", show_default=True)]
SetOption = Annotated[list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help=f"Flip a switch; may be repeated. {FIELD_HELP}")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
JobOption = Annotated[Path | None, typer.Option("--job", hidden=True, exists=True, file_okay=False)]


def main() -> None:
    """Runs the command line; exit code 0, 1 for a named failure (one line on standard error), 2 for wrong usage."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a character still shows the rest
    app()


@app.command()
def update(
    source: Annotated[str, typer.Option("--source", help="field-guide, or markdown:PATH for a folder of Markdown.")],
    corpus: CorpusOption = DEFAULT_CORPUS,
    language: Annotated[str, typer.Option("--language", help="Language of the corpus, for stemming and stop words.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change and write nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before publishing.")] = False,
    moved: Annotated[bool, typer.Option("--moved", help="The folder has moved: it is still the same source.")] = False,
    set_: SetOption = None,
    as_json_: JsonOption = False,
    job: JobOption = None,
) -> None:
    """Read a source, show what changed, and publish it with its index."""
    with _named_failures(as_json_) as answer, _reporting(job) as report:
        settings, configuration = _settings(set_)
        workshop = build.Workshop(settings)
        corpus_dir = settings.store_dir / check_corpus_name(corpus)
        if language:
            build.check_language(language)
        listing, place = build.read_source(source)
        existing = build.corpus_or_none(workshop, corpus)
        if not moved:
            status.check_place(existing, listing.origin, place)
        plan = ingest.plan_update(existing, listing)
        if existing is None and not listing.documents:
            raise SourceError(
                expected="a source with at least one readable document", got=plan.failed[0].reason, remedy="Correct its files."
            )
        if not as_json_:
            _print_plan(plan, corpus)
        before = existing.meta.get("language", build.DEFAULT_LANGUAGE) if existing else build.DEFAULT_LANGUAGE
        changed = not plan.is_empty or existing is None or language not in ("", before)
        if dry_run or not changed:
            built = None
            if not dry_run and existing is not None and not existing.has_index(configuration.index_key):
                built = ingest.build_index(existing, recipe=workshop.recipe(configuration, language=before), report=report)
        else:
            if not (yes or job):
                _confirm(as_json_)
            sources = {**status.sources_of(existing), listing.origin: place}
            recipe = workshop.recipe(configuration, language=language or before)
            built = ingest.apply_update(corpus_dir, existing, listing, plan, recipe=recipe, sources=sources, report=report)
        answer |= {"plan": as_json.plan_json(plan), "built": as_json.built_json(built) if built else None}
        if built and not as_json_:
            print(_built_line(built))
        if plan.failed and not dry_run:
            count = len(plan.failed)
            raise SourceError(
                expected="every document to be readable",
                got=f"{count} that could not be read; all others are published",
                remedy="Correct what is listed as failed and run update again.",
            )
        if as_json_:
            _print_json(answer)


def _confirm(as_json_: bool) -> None:
    """Asks at a terminal; anywhere else the answer must have come with --yes."""
    if as_json_ or not sys.stdin.isatty():
        raise InvalidInput(
            expected="--yes where nobody can be asked", got="no --yes", remedy="Add --yes to publish, or --dry-run to only look."
        )
    typer.confirm("Publish this?", abort=True)


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
    with _named_failures(as_json_), _reporting(job) as report:
        settings, configuration = _settings(set_)
        workshop = build.Workshop(settings)
        opened = workshop.corpus(corpus)
        key = configuration.index_key
        if opened.has_index(key) and not rebuild and not dry_run:
            _answer(
                as_json_,
                {"index_key": key, "built": None},
                f"Index {key} ({configuration.slug}) is there already; --rebuild builds it again.",
            )
            return
        recipe = workshop.recipe(configuration, language=opened.meta.get("language", build.DEFAULT_LANGUAGE))
        if dry_run:
            estimate = ingest.estimate_build(opened, recipe=recipe)
            line = f"{estimate.chunks:,} chunks, {estimate.cached:,} vectors cached, about {human_seconds(estimate.seconds)}"
            _answer(as_json_, {"index_key": key, "chunks": estimate.chunks, "cached": estimate.cached, "seconds": estimate.seconds}, line)
            return
        built = ingest.build_index(opened, recipe=recipe, report=report)
        _answer(as_json_, {"index_key": key, "built": as_json.built_json(built)}, _built_line(built))


@app.command()
def search(
    question: Annotated[str, typer.Argument(help="What to ask.")],
    corpus: CorpusOption = DEFAULT_CORPUS,
    category: Annotated[list[str] | None, typer.Option("--category", help="Only documents of this category; may be repeated.")] = None,
    region: Annotated[list[str] | None, typer.Option("--region", help="Only documents of this region; may be repeated.")] = None,
    origin: Annotated[list[str] | None, typer.Option("--from", help="Only documents of this source; may be repeated.")] = None,
    set_: SetOption = None,
    as_json_: JsonOption = False,
) -> None:
    """Ask a question and see which passages come back, from where and why."""
    from sitt_core import pipeline

    with _named_failures(as_json_):
        settings, configuration = _settings(set_)
        check_question(question)  # before a model is loaded for it
        workshop = build.Workshop(settings)
        engine = workshop.engine(workshop.corpus(corpus), configuration)
        filters = Filters(tuple(category or ()), tuple(region or ()), tuple(origin or ()))
        retrieval = pipeline.search(question, engine, filters=filters)
        if as_json_:
            _print_json(as_json.retrieval_json(configuration, retrieval))
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
def status_(corpus: Annotated[str, typer.Option("--corpus", help="Only this corpus.")] = "", as_json_: JsonOption = False) -> None:
    """What is stored and what is running."""
    with _named_failures(as_json_):
        settings = load_settings()
        names = (check_corpus_name(corpus),) if corpus else corpus_names(settings.store_dir)
        workshop = build.Workshop(settings)
        overview: dict[str, Any] = {"corpora": [], "broken": [], "jobs": status.describe_jobs(settings.jobs_dir)}
        for name in names:
            try:
                overview["corpora"].append(status.describe(workshop.corpus(name)))
            except SittError as error:
                if corpus:
                    raise
                overview["broken"].append({"name": name, **error.to_json()})
        if as_json_:
            _print_json(overview)
        else:
            print(status.as_text(overview))
        if overview["broken"]:
            print(f"Cannot be read: {', '.join(each['name'] for each in overview['broken'])}", file=sys.stderr)
            raise typer.Exit(1)


@app.command()
def doctor(as_json_: JsonOption = False) -> None:
    """Check this machine, and say how to mend what fails."""
    from dataclasses import asdict

    from sitt_core.surfaces.doctor import run_checks

    with _named_failures(as_json_):
        checks = run_checks(load_settings())
        if as_json_:
            _print_json({"checks": [asdict(check) for check in checks]})
        else:
            for check in checks:
                print(f"{check.state:>6}  {check.name}: {check.detail}" + (f"\n        {check.remedy}" if check.remedy else ""))
        failed = [check.name for check in checks if check.state == "failed"]
        if failed:
            print(f"{len(failed)} of {len(checks)} checks failed: {', '.join(failed)}", file=sys.stderr)
            raise typer.Exit(1)


def _settings(set_: list[str] | None) -> tuple[Settings, Configuration]:
    """Settings, and their default configuration with the --set options applied; raises InvalidInput."""
    settings = load_settings()
    changes: dict[str, object] = {}
    for pair in set_ or []:
        name, equals, value = pair.partition("=")
        if not equals:
            raise InvalidInput(expected="--set FIELD=VALUE", got=shown(pair), remedy="For example --set top_k=8")
        changes[name.strip()] = value.strip()
    return settings, configure(changes, settings.defaults)


@contextlib.contextmanager
def _named_failures(as_json_: bool) -> Iterator[dict[str, Any]]:
    """A named failure becomes one line on standard error and exit code 1; as JSON it joins what the yielded answer holds by then."""
    answer: dict[str, Any] = {}
    try:
        yield answer
    except SittError as error:
        if as_json_:
            _print_json({**answer, **error.to_json()})
        print(f"{error.kind}: {' '.join(str(error).split())}", file=sys.stderr)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        print("Cancelled: stopped by you; what was finished is kept.", file=sys.stderr)
        raise typer.Exit(1) from None


def _reporting(job: Path | None) -> contextlib.AbstractContextManager[Report]:
    """Where long work reports to: its job's folder, or this terminal."""
    return jobs.running(job) if job else contextlib.nullcontext(terminal_report())


def _built_line(built: ingest.Built) -> str:
    windowed = f"; {built.windowed:,} of them longer than the embedder's limit" if built.windowed else ""
    return f"Built index {built.index_key}: {built.chunks:,} chunks, {built.embedded:,} texts embedded in {human_seconds(built.seconds)}{windowed}."


def _print_plan(plan: ingest.Plan, corpus: str) -> None:
    counts = {name: len(getattr(plan, name)) for name in ("added", "changed", "removed", "unchanged", "failed")}
    print(f"{corpus} from {plan.origin}: " + ", ".join(f"{count:,} {name}" for name, count in counts.items()))
    for name in ("changed", "removed"):
        for document_id in getattr(plan, name):
            print(f"  {name}: {document_id}")
    for failure in plan.failed:
        print(f"  failed: {failure.id}: {failure.reason}")


def _answer(as_json_: bool, value: dict[str, Any], line: str) -> None:
    if as_json_:
        _print_json(value)
    else:
        print(line)


def _print_json(value: Any) -> None:
    # A terminal that lacks a character would show it by Python's escapes, which JSON does not know.
    whole = sys.stdout is None or codecs.lookup(sys.stdout.encoding).name == "utf-8"
    print(json.dumps(value, ensure_ascii=not whole, indent=2, allow_nan=False))

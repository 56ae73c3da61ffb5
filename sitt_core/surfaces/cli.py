"""The command line: update, index, search, ask, status, doctor, and the administration of corpora and jobs; every one with --json."""

import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from sitt_core import build, ingest
from sitt_core.configuration import Configuration
from sitt_core.errors import Busy, SittError, SourceError, shown
from sitt_core.settings import DEFAULT_CORPUS
from sitt_core.store.layout import check_corpus_name, corpus_names
from sitt_core.store.reading import Corpus
from sitt_core.surfaces import as_json, cli_ask, cli_corpora, cli_jobs, status
from sitt_core.surfaces.progress import human_seconds, sentences_note
from sitt_core.surfaces.terminal import (
    CategoryOption,
    CorpusOption,
    FromOption,
    IndexOption,
    JobOption,
    JsonOption,
    RegionOption,
    SetOption,
    answer,
    confirm,
    named_failures,
    print_json,
    reporting,
    settings_of,
)
from sitt_core.text import check_question
from sitt_core.types import Failure, Filters, Passage, Report

app = typer.Typer(
    name="sitt_core",
    help="SITT Lab: ask a corpus, see every stage that made the answer.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

SHOWN_FAILURES = 3


def main() -> None:
    """Runs the command line; exit code 0, 1 for a named failure (one line on standard error), 2 for wrong usage."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a character still shows the rest
    app()


@app.command()
def update(
    source: Annotated[
        str,
        typer.Option(
            "--source",
            help="field-guide; markdown:PATH, a folder of Markdown; beir:PATH, a BEIR collection; wikipedia:list=NAME or "
            "wikipedia:titles=A|B; sitemap:URL, a site; github:USER, an account's READMEs.",
        ),
    ],
    corpus: CorpusOption = DEFAULT_CORPUS,
    language: Annotated[str, typer.Option("--language", help="Language of the corpus, for stemming and stop words.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change and write nothing.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Show what changes in each document, line by line.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before publishing.")] = False,
    moved: Annotated[bool, typer.Option("--moved", help="The folder has moved: it is still the same source.")] = False,
    allow_removals: Annotated[
        int, typer.Option("--allow-removals", metavar="N", min=0, help="Retire up to N documents that the source no longer has.")
    ] = 0,
    confirmed: Annotated[
        str, typer.Option("--confirmed", metavar="DIGEST", help="Only what a dry run with this digest showed; otherwise change nothing.")
    ] = "",
    index_: IndexOption = None,
    set_: SetOption = None,
    as_json_: JsonOption = False,
    job: JobOption = None,
) -> None:
    """Read a source, show what changed, and publish it with its index."""
    with named_failures(as_json_) as told, reporting(job) as report:
        settings, configuration = settings_of(set_)
        workshop = build.Workshop(settings)
        check_corpus_name(corpus)
        if language:
            build.check_language(language)
        existing = build.corpus_or_none(workshop, corpus)
        configurations = [configuration, *ingest.chosen_to_carry(existing, index_ or [])]
        if job:
            report("read", 0, 1)
        listing, place = build.read_source(source, existing, settings=settings, report=report)
        if not moved:
            status.check_place(existing, listing.origin, place)
        plan = ingest.plan_update(existing, listing)
        if existing is None and not listing.documents:
            raise SourceError(
                expected="a source with at least one readable document",
                got=plan.failed[0].reason if plan.failed else "none",
                remedy="Correct what it says, or choose another source.",
            )
        _require_confirmed(plan, confirmed)
        diffs = {id_: ingest.diff(existing, listing, id_) for id_ in (*plan.changed, *plan.added, *plan.removed)} if diff else {}
        if not as_json_:
            _print_plan(plan, corpus, diffs)
            print("".join(f"  {notice}\n" for notice in listing.notices), end="")
        built = None
        if not dry_run:
            sources = {**status.sources_of(existing), listing.origin: place}
            same = (
                existing is not None and plan.is_empty and language in ("", _language(existing)) and sources == status.sources_of(existing)
            )
            if existing is not None and same:
                built = _build_missing(workshop, existing, configurations, report)
            else:
                ingest.require_removals_allowed(plan, allow_removals)
                if not (yes or job):
                    confirm("Publish this?", as_json=as_json_)
                recipe, *carry = [workshop.recipe(each, language=language or _language(existing)) for each in configurations]
                built = ingest.apply_update(
                    settings.store_dir / corpus,
                    existing,
                    listing,
                    plan,
                    recipe=recipe,
                    carry=carry,
                    sources=sources,
                    report=report,
                    allow_removals=allow_removals,
                )
        told |= {"plan": as_json.plan_json(plan), "notices": list(listing.notices), "built": as_json.built_json(built) if built else None}
        told |= {"diffs": diffs} if diff else {}
        if built and not as_json_:
            print(_built_line(built))
        _require_all_read(plan, dry_run=dry_run)
        if as_json_:
            print_json(told)


def _language(corpus: Corpus | None) -> str:
    return corpus.meta.get("language", build.DEFAULT_LANGUAGE) if corpus else build.DEFAULT_LANGUAGE


def _build_missing(
    workshop: build.Workshop, corpus: Corpus, configurations: Sequence[Configuration], report: Report
) -> ingest.Built | None:
    """For an unchanged source: the indexes that are not there yet, in the generation that there is."""
    missing = {each.index_key: each for each in configurations if not corpus.has_index_for(each)}
    built = [
        ingest.build_index(corpus, recipe=workshop.recipe(each, language=_language(corpus)), report=report) for each in missing.values()
    ]
    return replace(built[0], carried=tuple(built[1:])) if built else None


def _require_confirmed(plan: ingest.Plan, digest: str) -> None:
    """Raises Busy when a plan was confirmed and this is another one."""
    if digest not in ("", plan.digest):
        raise Busy(
            expected=f"the source and the corpus as they were when {shown(digest)} was confirmed",
            got=f"another plan ({plan.digest})",
            remedy="Look at the changes again, and confirm those.",
        )


def _require_all_read(plan: ingest.Plan, *, dry_run: bool) -> None:
    if plan.failed and not dry_run:
        raise SourceError(
            expected="every document to be readable",
            got=f"{len(plan.failed)} that could not be read; all others are published ({_listed(plan.failed)})",
            remedy="They stay as they were. Run update again later, or correct what failed.",
        )


def _listed(failures: Sequence[Failure]) -> str:
    """The first few failures with their reasons, and how many more there are."""
    more = f"; and {len(failures) - SHOWN_FAILURES} more" if len(failures) > SHOWN_FAILURES else ""
    return "; ".join(f"{failure.id}: {failure.reason}" for failure in failures[:SHOWN_FAILURES]) + more


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
        recipe = workshop.recipe(configuration, language=_language(opened))
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
        answer(as_json_, {"index_key": key, "built": as_json.built_json(built)}, _built_line(built))


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
                overview["corpora"].append(status.describe(workshop.corpus(name), configuration))
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


def _built_line(built: ingest.Built) -> str:
    windowed = f"; {built.windowed:,} of them longer than the embedder's limit" if built.windowed else ""
    oversized = f"; {built.oversized:,} over the chunk size, each a single character" if built.oversized else ""
    cost = f"{built.embedded:,} texts embedded in {human_seconds(built.seconds)}"
    line = f"Built index {built.index_key}: {built.chunks:,} chunks, {cost}{windowed}{oversized}."
    return "\n".join([line, *map(_built_line, built.carried)])


def _print_plan(plan: ingest.Plan, corpus: str, diffs: Mapping[str, Sequence[str]]) -> None:
    counts = {name: len(getattr(plan, name)) for name in ("added", "changed", "removed", "unchanged", "failed")}
    print(f"{corpus} from {plan.origin}: " + ", ".join(f"{count:,} {name}" for name, count in counts.items()))
    for name in ("changed", "removed", "kept"):
        for document_id in getattr(plan, name):
            print(f"  {name}: {document_id}" + ("  (restored; not in the source)" if name == "kept" else ""))
    for failure in plan.failed:
        print(f"  failed: {failure.id}: {failure.reason}")
    if len(plan.removed) > plan.free_removals:
        print(f"  More than {plan.free_removals:,} of its documents would go: publishing needs --allow-removals {len(plan.removed)}")
    for document_id, lines in diffs.items():
        print(f"\n{document_id}", *(f"  {line}" for line in lines), sep="\n")


for _commands in (cli_ask.COMMANDS, cli_corpora.COMMANDS, cli_jobs.COMMANDS):
    app.registered_commands += _commands.registered_commands
    app.registered_groups += _commands.registered_groups

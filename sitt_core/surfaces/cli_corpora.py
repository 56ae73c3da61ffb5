"""Commands about corpora as a whole: list, restore, roll back, rename, delete, purge."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from sitt_core import build, ingest
from sitt_core.errors import SittError
from sitt_core.plan import restored_ids
from sitt_core.settings import DEFAULT_CORPUS, load_settings
from sitt_core.store import admin
from sitt_core.store.layout import check_corpus_name, corpus_names
from sitt_core.store.reading import Corpus
from sitt_core.surfaces import as_json
from sitt_core.surfaces.progress import human_bytes
from sitt_core.surfaces.terminal import (
    CorpusOption,
    IndexOption,
    JobOption,
    JsonOption,
    SetOption,
    YesOption,
    answer,
    confirm,
    confirm_by_typing,
    named_failures,
    parse_age,
    print_json,
    reporting,
    settings_of,
)
from sitt_core.types import Report

COMMANDS = typer.Typer()

IdsArgument = Annotated[list[str], typer.Argument(metavar="ID…", help="Documents, as documents lists them.")]


@COMMANDS.command()
def corpora(as_json_: JsonOption = False) -> None:
    """List the corpora; update --corpus NAME makes one, since an empty one cannot be asked."""
    with named_failures(as_json_):
        workshop = build.Workshop(load_settings())
        listed = [_corpus_json(workshop, name) for name in corpus_names(workshop.settings.store_dir)]
        if as_json_:
            print_json({"corpora": listed})
            return
        for each in listed:
            error = each.get("error")
            print(
                f"{each['name']}: " + (error["message"] if error else f"generation {each['generation']}, {each['documents']:,} documents")
            )
        if not listed:
            print("No corpus yet. Make one: python -m sitt_core update --source field-guide --yes")


def _corpus_json(workshop: build.Workshop, name: str) -> dict[str, Any]:
    try:
        opened = workshop.corpus(name)
    except SittError as error:
        return {"name": name, **error.to_json()}
    return {"name": name, "generation": opened.generation, "documents": len(opened.documents)}


@COMMANDS.command()
def documents(
    corpus: CorpusOption = DEFAULT_CORPUS,
    retired: Annotated[bool, typer.Option("--retired", help="Those that were retired, which restore brings back.")] = False,
    as_json_: JsonOption = False,
) -> None:
    """List a corpus's documents."""
    with named_failures(as_json_):
        opened = build.Workshop(load_settings()).corpus(corpus)
        kept = set(restored_ids(opened))
        if retired:
            listed = [{**as_json.document_json(document), "retired_at": when} for document, when in opened.retired_documents()]
        else:
            listed = [{**as_json.document_json(info), "restored": info.id in kept} for info in opened.documents]
        if as_json_:
            print_json({"corpus": corpus, "documents": listed})
            return
        for each in listed:
            note = f", retired {each['retired_at']}" if retired else ", restored" if each["restored"] else ""
            print(f"{each['id']}: {each['title']} ({each['characters']:,} characters, {each['origin']}{note})")
        print(f"{len(listed):,} {'retired ' if retired else ''}documents in {corpus}")


Change = Callable[..., ingest.Built]


@COMMANDS.command()
def restore(
    ids: IdsArgument,
    corpus: CorpusOption = DEFAULT_CORPUS,
    index_: IndexOption = None,
    set_: SetOption = None,
    as_json_: JsonOption = False,
    job: JobOption = None,
) -> None:
    """Bring retired documents back; no update retires them again unless their source names them in between."""
    with named_failures(as_json_), reporting(job) as report:
        _change(ingest.restore_documents, "restored", ids, corpus, index_ or [], set_ or [], as_json_, report)


@COMMANDS.command()
def retire(
    ids: IdsArgument,
    corpus: CorpusOption = DEFAULT_CORPUS,
    index_: IndexOption = None,
    set_: SetOption = None,
    as_json_: JsonOption = False,
    job: JobOption = None,
) -> None:
    """Take documents out, such as restored ones; a source that still has one brings it back with its next update."""
    with named_failures(as_json_), reporting(job) as report:
        _change(ingest.retire_documents, "retired", ids, corpus, index_ or [], set_ or [], as_json_, report)


@COMMANDS.command()
def forget(
    origins: Annotated[list[str], typer.Argument(metavar="SOURCE…", help="Sources, as status names them.")],
    corpus: CorpusOption = DEFAULT_CORPUS,
    index_: IndexOption = None,
    set_: SetOption = None,
    as_json_: JsonOption = False,
    job: JobOption = None,
) -> None:
    """Take sources away: their documents are retired, and no update reads them again; update --source brings them back."""
    with named_failures(as_json_), reporting(job) as report:
        _change(ingest.forget_sources, "forgotten", origins, corpus, index_ or [], set_ or [], as_json_, report)


def _change(
    change: Change,
    done: str,
    ids: Sequence[str],
    corpus: str,
    keys: Sequence[str],
    settings_: Sequence[str],
    as_json_: bool,
    report: Report,
) -> None:
    settings, configuration = settings_of(settings_)
    workshop = build.Workshop(settings)
    opened = workshop.corpus(corpus)
    language = build.language_of(opened)
    configurations = [configuration, *ingest.chosen_to_carry(opened, keys)]
    recipe, *carry = [workshop.recipe(each, language=language) for each in configurations]
    built = change(opened, ids, recipe=recipe, carry=carry, report=report)
    generation = workshop.corpus(corpus).generation
    value = {done: list(dict.fromkeys(ids)), "generation": generation, "built": as_json.built_json(built)}
    answer(as_json_, value, f"{len(set(ids)):,} {done}; {corpus} is at generation {generation}.")


@COMMANDS.command()
def generations(corpus: CorpusOption = DEFAULT_CORPUS, as_json_: JsonOption = False) -> None:
    """List the kept generations of a corpus, oldest first."""
    with named_failures(as_json_):
        infos = admin.describe_generations(load_settings().store_dir / check_corpus_name(corpus))
        if as_json_:
            print_json({"corpus": corpus, "generations": [as_json.generation_json(info) for info in infos]})
            return
        for info in infos:
            facts = info.problem or f"{info.documents:,} documents, {info.retired:,} retired, {human_bytes(info.size)}, {info.published_at}"
            print(f"{'*' if info.current else ' '} {info.name}: {facts}")


@COMMANDS.command()
def rollback(
    generation: Annotated[str, typer.Argument(help="Which one; the one before the current one if left out.")] = "",
    corpus: CorpusOption = DEFAULT_CORPUS,
    as_json_: JsonOption = False,
) -> None:
    """Serve an earlier generation, or go forward again; nothing is removed."""
    with named_failures(as_json_):
        served = admin.roll_back(load_settings().store_dir / check_corpus_name(corpus), generation)
        answer(as_json_, {"corpus": corpus, "generation": served}, f"{corpus} is at generation {served}.")


@COMMANDS.command()
def rename(
    old: Annotated[str, typer.Argument(help="The corpus.")],
    new: Annotated[str, typer.Argument(help="Its new name.")],
    as_json_: JsonOption = False,
) -> None:
    """Give a corpus another name; your own questions about it go along."""
    with named_failures(as_json_):
        from sitt_core.surfaces.renaming import rename_corpus

        rename_corpus(load_settings(), old, new)
        answer(as_json_, {"renamed": old, "to": new}, f"{old} is now {new}.")


@COMMANDS.command()
def delete(
    name: Annotated[str, typer.Argument(help="The corpus.")],
    yes: YesOption = False,
    as_json_: JsonOption = False,
) -> None:
    """Remove a corpus with everything in it, for good; your own questions about it stay, for one of that name."""
    with named_failures(as_json_):
        store_dir = load_settings().store_dir
        admin.require_corpus(store_dir / check_corpus_name(name))
        if not yes:
            confirm_by_typing(name, f"This removes {name} with all its generations, for good. Type its name to go on", as_json=as_json_)
        freed = admin.delete_corpus(store_dir, name)
        answer(as_json_, {"deleted": name, "freed": freed}, f"{name} is gone; {human_bytes(freed)} freed.")


@COMMANDS.command()
def purge(
    corpus: CorpusOption = DEFAULT_CORPUS,
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="AGE", help="Only what was retired, or superseded, longer ago: 12h, 30d, 8w.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go and remove nothing.")] = False,
    yes: YesOption = False,
    as_json_: JsonOption = False,
) -> None:
    """Really remove retired documents, earlier generations and vectors that no index uses, for good."""
    with named_failures(as_json_):
        opened = build.Workshop(load_settings()).corpus(corpus)
        planned = admin.plan_purge(opened, before=datetime.now(UTC) - parse_age(older_than) if older_than else None)
        if not as_json_:
            print(_purge_line(opened, planned))
        served = opened.generation
        if not (dry_run or planned.is_empty):
            if not yes:
                confirm("Remove this for good?", as_json=as_json_)
            served = admin.purge(opened, planned)
        if as_json_:
            print_json({"corpus": corpus, "purge": as_json.purge_json(planned), "done": not dry_run, "generation": served})
        elif not (dry_run or planned.is_empty):
            print(f"Done; {corpus} is at generation {served}.")


def _purge_line(opened: Corpus, planned: admin.Purge) -> str:
    if planned.is_empty:
        return (
            f"{opened.name} holds nothing to purge{f' that is older than {planned.before:%Y-%m-%d %H:%M} UTC' if planned.before else ''}."
        )
    parts = {
        "retired documents": planned.retired,
        "earlier generations": planned.generations,
        "vector files of no index": planned.caches,
        "leftovers of stopped builds": planned.leftovers,
    }
    counts = ", ".join(f"{len(names):,} {what}" for what, names in parts.items() if names)
    return f"{opened.name}: {counts}; about {human_bytes(planned.size)}"

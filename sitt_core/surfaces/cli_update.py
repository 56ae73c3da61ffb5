"""The commands that fill a corpus from its sources: update, and what its sources are."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sitt_core import build, ingest, jobs
from sitt_core.errors import Cancelled, InvalidInput, shown
from sitt_core.plan import Plan, SectionChange, Update, diff_lines, sections_touched, versions
from sitt_core.settings import DEFAULT_CORPUS
from sitt_core.store.layout import check_corpus_name
from sitt_core.store.reading import Corpus
from sitt_core.surfaces import as_json
from sitt_core.surfaces.progress import human_seconds
from sitt_core.surfaces.terminal import (
    CorpusOption,
    IndexOption,
    JobOption,
    JsonOption,
    SetOption,
    confirm,
    named_failures,
    on_one_line,
    print_json,
    reporting,
    settings_of,
)

if TYPE_CHECKING:
    from evals.preflight import Preflight
    from sitt_core.surfaces.updating import Found, Outcome, Wish

COMMANDS = typer.Typer()
SHOWN_SECTIONS = 5


@COMMANDS.command()
def update(
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--source",
            help="field-guide; markdown:PATH, a folder of Markdown; beir:PATH, a BEIR collection; wikipedia:list=NAME or "
            "wikipedia:titles=A|B; sitemap:URL, a site; github:USER, an account's READMEs. May be repeated; none means all "
            "that the corpus was filled from.",
        ),
    ] = None,
    corpus: CorpusOption = DEFAULT_CORPUS,
    language: Annotated[str, typer.Option("--language", help="Language of the corpus, for stemming and stop words.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change and write nothing.")] = False,
    diff_: Annotated[bool, typer.Option("--diff", help="Show what changes in each document, line by line.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before publishing.")] = False,
    moved: Annotated[bool, typer.Option("--moved", help="The source is found elsewhere now: it is still the same one.")] = False,
    allow_removals: Annotated[
        int, typer.Option("--allow-removals", metavar="N", min=0, help="Retire up to N documents that the source no longer has.")
    ] = 0,
    max_recall_drop: Annotated[
        float,
        typer.Option(
            "--max-recall-drop", metavar="SHARE", help="With --yes: publish nothing when Recall@5 on the open questions falls by more."
        ),
    ] = 0.05,
    confirmed: Annotated[
        str, typer.Option("--confirmed", metavar="DIGEST", help="Only what a dry run with this digest showed; otherwise change nothing.")
    ] = "",
    checked: Annotated[Path | None, typer.Option("--checked", hidden=True, exists=True, file_okay=False)] = None,
    index_: IndexOption = None,
    set_: SetOption = None,
    as_json_: JsonOption = False,
    job: JobOption = None,
) -> None:
    """Read a corpus's sources, show what changed, and publish it with its index.

    Exit code 0: published, or nothing to do; 1: failed, nothing changed; 3: published, but something could not be read
    and stays as it was; 4: not published, since the golden questions find less.
    """
    with named_failures(as_json_) as told, reporting(job, quiet=as_json_) as report:
        from evals.preflight import check_max_drop
        from sitt_core.surfaces import updating

        settings, configuration = settings_of(set_)
        workshop = build.Workshop(settings)
        check_corpus_name(corpus)
        check_max_drop(max_recall_drop)
        if language:
            build.check_language(language)
        existing = build.corpus_or_none(workshop, corpus)
        wish = updating.Wish(
            corpus=corpus,
            sources=tuple(source or ()),
            configurations=(configuration, *ingest.chosen_to_carry(existing, index_ or [])),
            language=language,
            moved=moved,
            allow_removals=allow_removals,
            confirmed=confirmed,
            max_recall_drop=max_recall_drop,
        )
        if job:
            report("read", 0, 1)
        teller = _Teller(told, existing, corpus, as_json_=as_json_, diffs=diff_, dry_run=dry_run)
        if dry_run:
            outcome = updating.look(workshop, wish, report=report)
            teller.planned(outcome)
            if job and outcome.found:
                updating.keep_found(job, outcome.found, corpus)
            _require_confirmable(outcome.found, wish)
        else:
            ask = not (yes or job)
            updating.carry_out(
                workshop,
                wish,
                checked=checked,
                planned=teller.asking if ask else teller.planned,
                told=teller.checked,
                confirm=teller.anyway if ask else None,
                done=teller.done,
                report=report,
            )
        if as_json_:
            print_json(told)


def _require_confirmable(found: "Found | None", wish: "Wish") -> None:
    if found and wish.confirmed not in ("", found.digest):
        raise InvalidInput(
            expected=f"the plan {shown(wish.confirmed)}", got=found.digest, remedy="--confirmed belongs to the update, not to its dry run."
        )


class _Teller:
    """Says on the terminal, or into `told` for JSON, what an update would do, what it found before publishing, and what became of it."""

    def __init__(self, told: dict[str, Any], corpus: Corpus | None, name: str, *, as_json_: bool, diffs: bool, dry_run: bool) -> None:
        self.told_json, self.corpus, self.name, self.as_json, self.diffs, self.dry_run = told, corpus, name, as_json_, diffs, dry_run
        told |= {"updates": [], "unread": [], "digest": "", "touched": None, "preflight": None, "built": None, "generation": ""}

    def planned(self, outcome: "Outcome") -> None:
        """The buckets of every source with the sections that change, and what the changes touch."""
        found = outcome.found
        assert found is not None
        sections = {update.plan.origin: _sections(self.corpus, update) for update in found.updates}
        diffs = {update.plan.origin: _diffs(self.corpus, update) if self.diffs else {} for update in found.updates}
        self.told_json |= {
            "updates": [as_json.update_json(each, sections[each.plan.origin], diffs[each.plan.origin]) for each in found.updates],
            "unread": [{"place": failure.id, "reason": failure.reason} for failure in found.unread],
            "digest": found.digest,
            "touched": outcome.touched.to_json() if outcome.touched else None,
        }
        jobs.leave("plan", self.told_json)
        if self.as_json:
            return
        for each in found.updates:
            _print_plan(each, self.name, sections[each.plan.origin], diffs[each.plan.origin])
        for failure in found.unread:
            print(on_one_line(f"  not read: {failure.id}: {failure.reason}"))
        if outcome.touched:
            print("".join(f"  {line}\n" for line in outcome.touched.lines()), end="")

    def asking(self, outcome: "Outcome") -> None:
        """The same, and then whether to go on; where nothing would be published there is nothing to ask."""
        self.planned(outcome)
        if outcome.changes:
            confirm("Publish this?", as_json=self.as_json)

    def checked(self, preflight: "Preflight") -> None:
        """What the golden questions find before and after."""
        self.told_json["preflight"] = preflight.to_json()
        jobs.leave("preflight", self.told_json["preflight"])
        if not self.as_json:
            print("".join(f"  {line}\n" for line in preflight.lines()), end="")

    def anyway(self, preflight: "Preflight") -> bool:
        """Whether to publish although less is found; raises Cancelled for Ctrl-C, and where the answers have ended."""
        try:
            return typer.confirm(f"{'Nobody knows what is lost' if preflight.unreadable else 'Less is found'}. Publish anyway?")
        except typer.Abort:
            raise Cancelled(
                expected="an answer", got="none", remedy="Nothing was published; what was embedded is kept, so the next time takes seconds."
            ) from None

    def done(self, outcome: "Outcome") -> None:
        """What was built, and which generation is served."""
        self.told_json |= {"built": as_json.built_json(outcome.built) if outcome.built else None, "generation": outcome.generation}
        if self.as_json:
            return
        if outcome.built:
            print(built_line(outcome.built))
        print(f"{self.name} is at generation {outcome.generation}.")


def _sections(corpus: Corpus | None, update: Update) -> dict[str, tuple[SectionChange, ...]]:
    """The sections that each changed document differs in."""
    pairs = versions(corpus, update.listing, update.plan.changed)
    return {id_: sections_touched(old, new) for id_, (old, new) in pairs.items()}


def _diffs(corpus: Corpus | None, update: Update) -> dict[str, list[str]]:
    """What differs in each document that is changed, added or removed, line by line."""
    plan = update.plan
    pairs = versions(corpus, update.listing, (*plan.changed, *plan.added, *plan.removed))
    return {id_: diff_lines(old, new, plan.origin) for id_, (old, new) in pairs.items()}


def _print_plan(update: Update, corpus: str, sections: Mapping[str, Sequence[SectionChange]], diffs: Mapping[str, Sequence[str]]) -> None:
    plan = update.plan
    counts = {name: len(getattr(plan, name)) for name in ("added", "changed", "removed", "unchanged", "failed")}
    print(f"{corpus} from {plan.origin}: " + ", ".join(f"{count:,} {name}" for name, count in counts.items()))
    for name, note in (("changed", ""), ("removed", ""), ("kept", "  (restored; not in the source)"), ("elsewhere", "")):
        for document_id in getattr(plan, name):
            touched = f"  ({sections_line(sections[document_id])})" if name == "changed" and sections[document_id] else ""
            note_ = "  (already here from another source)" if name == "elsewhere" else note
            print(on_one_line(f"  {name}: {document_id}{touched}{note_}"))
    for failure in plan.failed:
        print(on_one_line(f"  failed: {failure.id}: {failure.reason}"))
    _print_removals(plan)
    print("".join(f"  {on_one_line(notice)}\n" for notice in update.listing.notices), end="")
    for document_id, lines in diffs.items():
        print("", on_one_line(document_id), *(f"  {on_one_line(line)}" for line in lines), sep="\n")


def _print_removals(plan: Plan) -> None:
    if plan.withheld:
        print(f"  Nothing is removed, though {len(plan.withheld):,} documents are missing: {plan.why_withheld}")
        print("".join(f"  missing: {on_one_line(id_)}\n" for id_ in plan.withheld), end="")
    if len(plan.removed) > plan.free_removals:
        print(f"  More than {plan.free_removals:,} of its documents would go: publishing needs --allow-removals {len(plan.removed)}")


def sections_line(sections: Sequence[SectionChange]) -> str:
    """The sections that differ, in a clause."""
    named = [f"{' › '.join(each.heading_path) or 'the beginning'} {each.how}" for each in sections[:SHOWN_SECTIONS]]
    return "; ".join(named) + (f"; and {len(sections) - SHOWN_SECTIONS} more" if len(sections) > SHOWN_SECTIONS else "")


def built_line(built: ingest.Built) -> str:
    """What a build did, a line for each index."""
    windowed = f"; {built.windowed:,} of them longer than the embedder's limit" if built.windowed else ""
    oversized = f"; {built.oversized:,} over the chunk size, each a single character" if built.oversized else ""
    cost = f"{built.embedded:,} texts embedded in {human_seconds(built.seconds)}"
    line = f"Built index {built.index_key}: {built.chunks:,} chunks, {cost}{windowed}{oversized}."
    return "\n".join([line, *map(built_line, built.carried)])

"""An update as every surface goes through it: sources read, planned, confirmed, checked, published, written down."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evals.preflight import Preflight, Touched, checking, touched
from sitt_core import build, ingest, journal
from sitt_core.build import Workshop
from sitt_core.configuration import Configuration
from sitt_core.errors import (
    Busy,
    Cancelled,
    InvalidInput,
    NotFound,
    PartlyApplied,
    RecallFell,
    SittError,
    SourceError,
    StoreError,
    shown,
    without_credentials,
)
from sitt_core.ingest import Built, Check
from sitt_core.journal import KEPT_FAILURES, Entry, SourceEntry
from sitt_core.plan import Plan, Update, digest_of, listed, plan_updates, require_removals_allowed
from sitt_core.store.layout import CORPUS_FILE, UPDATE_LOCK, current_generation, storage_errors, write_lock
from sitt_core.store.reading import Corpus
from sitt_core.store.writing import write_corpus
from sitt_core.surfaces import status
from sitt_core.types import Failure, Listing, Report

SHOWN_FAILURES = 3
MAX_RECALL_DROP = 0.05
_CHECK, _LISTING = "check", "listing-"


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants updated: a corpus from these sources (all that it remembers when there are none), and how.

    `configurations` are those whose indexes are built, the first one's first. `confirmed` is the digest of the plan that
    was looked at; "" for none.
    """

    corpus: str
    sources: tuple[str, ...]
    configurations: tuple[Configuration, ...]
    language: str = ""
    moved: bool = False
    allow_removals: int = 0
    confirmed: str = ""
    max_recall_drop: float = MAX_RECALL_DROP


@dataclass(frozen=True, slots=True)
class Found:
    """What the sources hold, against what is stored; `unread` are the places that could not be read, with why."""

    updates: tuple[Update, ...]
    unread: tuple[Failure, ...] = ()

    @property
    def digest(self) -> str:
        """Names all the plans together."""
        return digest_of(self.updates)

    @property
    def is_empty(self) -> bool:
        """Whether every document would stay as it is."""
        return all(update.plan.is_empty for update in self.updates)

    @property
    def removed(self) -> int:
        """How many documents would go, if the listings are taken at their word."""
        return sum(len(update.plan.removed) + len(update.plan.withheld) for update in self.updates)


@dataclass(slots=True)
class Outcome:
    """What has come of an update so far; filled as it goes, so that a failure leaves what was known by then.

    `places` are the sources that are read. `changes` says whether anything is to be published. `asking` says that somebody
    is shown the plan and has not agreed yet.
    """

    found: Found | None = None
    touched: Touched | None = None
    preflight: Preflight | None = None
    built: Built | None = None
    generation: str = ""
    changes: bool = True
    asking: bool = False
    places: tuple[str, ...] = ()


def remembered(corpus: Corpus | None, name: str) -> tuple[str, ...]:
    """The places that a corpus was filled from; raises InvalidInput when there are none."""
    places = tuple(status.sources_of(corpus).values())
    if not places:
        raise InvalidInput(
            expected=f"a source: {', '.join(build.SOURCES)}",
            got=f"none, and {name} remembers none",
            remedy="Name one, such as --source field-guide or --source markdown:~/notes.",
        )
    return places


def read_sources(workshop: Workshop, corpus: Corpus | None, wish: Wish, report: Report) -> Found:
    """Reads every source of a wish and plans; one of several that cannot be read keeps the others from nothing.

    Raises what reading raises when there is one source, SourceError for several of which none can be read, InvalidInput
    for two places that are one source to the corpus, the later of which would take the place of the other.
    """
    places = dict.fromkeys(wish.sources or remembered(corpus, wish.corpus))
    known: dict[str, str] = {}
    found: list[tuple[Listing, str]] = []
    errors: dict[str, SittError] = {}
    for place in places:
        try:
            listing, canonical = build.read_source(place, corpus, settings=workshop.settings, report=report)
            if not wish.moved:
                status.check_place(corpus, listing.origin, canonical)
        except (SourceError, InvalidInput) as error:
            errors[without_credentials(place)] = error
            continue
        if known.setdefault(listing.origin, canonical) != canonical:
            raise InvalidInput(
                expected=f"{listing.origin} once, since a corpus knows one source by that name",
                got=f"{shown(known[listing.origin])} and {shown(canonical)}",
                remedy="Name articles together (wikipedia:titles=A|B), rename one of two folders, or use a corpus for each: --corpus NAME",
            )
        if canonical not in (place for _, place in found):
            found.append((listing, canonical))
    return _planned(corpus, found, errors, wish)


def _planned(corpus: Corpus | None, found: Sequence[tuple[Listing, str]], errors: Mapping[str, SittError], wish: Wish) -> Found:
    if errors and not found:
        raise _none_read(errors)
    updates = plan_updates(corpus, found, allow_removals=wish.allow_removals)
    if corpus is None and not any(update.listing.documents for update in updates):
        failed = [failure for update in updates for failure in update.plan.failed]
        raise SourceError(
            expected="a source with at least one readable document",
            got=failed[0].reason if failed else "none",
            remedy="Correct what it says, or choose another source.",
        )
    return Found(tuple(updates), tuple(Failure(place, str(error)) for place, error in errors.items()))


def _none_read(errors: Mapping[str, SittError]) -> SittError:
    """The error of the only source, or one that names several."""
    if len(errors) == 1:
        return next(iter(errors.values()))
    failures = [Failure(place, str(error)) for place, error in errors.items()]
    kind = InvalidInput if all(isinstance(error, InvalidInput) for error in errors.values()) else SourceError
    return kind(expected="a source that can be read", got=f"none of {len(errors):,} ({_first(failures)})", remedy="Try again later.")


def keep_found(folder: Path, found: Found, corpus: str) -> None:
    """Keeps what was found for a corpus in a job's folder, so that exactly that can be looked at and published; raises StoreError."""
    with storage_errors(folder):
        _keep_found(folder, found, corpus)


def _keep_found(folder: Path, found: Found, corpus: str) -> None:
    facts = []
    for number, update in enumerate(found.updates):
        listing, kept = update.listing, folder / f"{_LISTING}{number}"
        kept.mkdir(exist_ok=True)
        write_corpus(kept / CORPUS_FILE, listing.documents, retired=(), meta={})
        facts.append(
            {
                "origin": listing.origin,
                "place": update.place,
                "failures": [[failure.id, failure.reason] for failure in listing.failures],
                "complete": listing.complete,
                "why_incomplete": listing.why_incomplete,
                "notices": list(listing.notices),
            }
        )
    unread = [[failure.id, failure.reason] for failure in found.unread]
    part = folder / f"{_CHECK}.part"
    part.write_text(json.dumps({"corpus": corpus, "listings": facts, "unread": unread}), encoding="utf-8")
    part.replace(folder / f"{_CHECK}.json")


def kept_found(folder: Path, corpus: Corpus | None, wish: Wish) -> Found:
    """What a check of this corpus has found, planned against the corpus as it is now; raises NotFound or StoreError."""
    try:
        facts = json.loads((folder / f"{_CHECK}.json").read_text(encoding="utf-8"))
        checked = str(facts["corpus"])
        found = [(_kept_listing(folder, number, each), str(each["place"])) for number, each in enumerate(facts["listings"])]
        unread = tuple(Failure(*pair) for pair in facts["unread"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, StoreError) as error:
        raise NotFound(
            expected="what a check for changes has found",
            got=shown(folder.name),
            remedy="Check for changes again: only the latest are kept.",
        ) from error
    if checked != wish.corpus:
        raise NotFound(expected=f"a check of {wish.corpus}", got=f"one of {shown(checked)}", remedy="Check for changes again.")
    return Found(tuple(plan_updates(corpus, found, allow_removals=wish.allow_removals)), unread)


def _kept_listing(folder: Path, number: int, facts: Mapping[str, Any]) -> Listing:
    with contextlib.closing(Corpus(folder, f"{_LISTING}{number}")) as kept:
        documents = kept.all_documents()
    return Listing(
        facts["origin"],
        documents,
        tuple(Failure(*pair) for pair in facts["failures"]),
        complete=facts["complete"],
        notices=tuple(facts["notices"]),
        why_incomplete=facts["why_incomplete"],
    )


def look(workshop: Workshop, wish: Wish, *, checked: Path | None = None, report: Report) -> Outcome:
    """What an update would do and what it would touch; nothing is written, and no model is asked. Raises as reading does."""
    corpus = build.corpus_or_none(workshop, wish.corpus)
    found = kept_found(checked, corpus, wish) if checked else read_sources(workshop, corpus, wish, report)
    return Outcome(found, touched(workshop.settings, corpus, found.updates) if corpus else None)


Asked = Callable[[Outcome], None]
"""Shown what an update would do; raises to keep it from being done."""


def carry_out(
    workshop: Workshop,
    wish: Wish,
    *,
    checked: Path | None = None,
    planned: Asked,
    told: Callable[[Preflight], None],
    confirm: Callable[[Preflight], bool] | None,
    done: Callable[[Outcome], None],
    report: Report,
) -> Outcome:
    """The whole update under the corpus's lock: `planned` may stop it, a fall of recall asks `confirm`; a line is written down of it.

    `done` is told what has been published, even if something could not be read.

    Without `confirm` a fall beyond the wish's is refused. Raises PartlyApplied when it is published and something could
    not be read, RecallFell, InvalidInput (too many removals), Busy, SourceError, StoreError, ModelError or Cancelled.
    """
    outcome = Outcome()
    corpus_dir = workshop.settings.store_dir / wish.corpus
    # Locked before the source is read, so that nobody is asked twice at once; a corpus that is not there has no folder to lock.
    locked = build.corpus_or_none(workshop, wish.corpus) is not None
    with write_lock(corpus_dir, UPDATE_LOCK) if locked else contextlib.nullcontext(), _written_down(workshop, wish, outcome):
        corpus = build.corpus_or_none(workshop, wish.corpus)
        outcome.places = () if checked else tuple(map(without_credentials, wish.sources or status.sources_of(corpus).values()))
        seen = look(workshop, wish, checked=checked, report=report)
        outcome.found, outcome.touched = seen.found, seen.touched
        assert outcome.found is not None
        _require_confirmed(outcome.found, wish.confirmed)
        found = outcome.found
        if corpus is not None and _nothing_to_do(corpus, found, wish):
            outcome.changes = False
            _ask(planned, outcome)
            outcome.built = _build_missing(workshop, corpus, wish.configurations, report)
        else:
            require_removals_allowed([update.plan for update in found.updates], wish.allow_removals)
            _ask(planned, outcome)
            check = _checking(workshop, wish, corpus, outcome, told=told, confirm=confirm, report=report)
            outcome.built = _publish(workshop, wish, corpus, found, check=check, locked=locked, report=report)
        outcome.generation = current_generation(corpus_dir)
        build.prune_fetched(workshop.settings)
        done(outcome)
        _require_all_read(found)
    return outcome


def _checking(
    workshop: Workshop,
    wish: Wish,
    corpus: Corpus | None,
    outcome: Outcome,
    *,
    told: Callable[[Preflight], None],
    confirm: Callable[[Preflight], bool] | None,
    report: Report,
) -> Check | None:
    """What looks at the next generation before it is published; None for the first one, which there is nothing to compare with."""
    if corpus is None or outcome.found is None or outcome.touched is None:
        return None
    return checking(
        workshop,
        corpus,
        outcome.found.updates,
        wish.configurations[0],
        touched=outcome.touched,
        max_drop=wish.max_recall_drop,
        confirm=confirm,
        tell=_telling(outcome, told),
        report=report,
    )


def _publish(
    workshop: Workshop, wish: Wish, corpus: Corpus | None, found: Found, *, check: Check | None, locked: bool, report: Report
) -> Built:
    """The next generation with the indexes of the wish's configurations."""
    language = wish.language or build.language_of(corpus)
    recipe, *carry = [workshop.recipe(each, language=language) for each in wish.configurations]
    return ingest.apply_update(
        workshop.settings.store_dir / wish.corpus,
        corpus,
        found.updates,
        recipe=recipe,
        carry=carry,
        report=report,
        allow_removals=wish.allow_removals,
        check=check,
        locked=locked,
    )


def _ask(planned: Asked, outcome: Outcome) -> None:
    outcome.asking = True
    planned(outcome)
    outcome.asking = False


def _telling(outcome: Outcome, told: Callable[[Preflight], None]) -> Callable[[Preflight], None]:
    def tell(preflight: Preflight) -> None:
        outcome.preflight = preflight
        told(preflight)

    return tell


def _nothing_to_do(corpus: Corpus, found: Found, wish: Wish) -> bool:
    known = status.sources_of(corpus)
    same_places = all(known.get(update.plan.origin) == update.place for update in found.updates)
    return found.is_empty and same_places and wish.language in ("", build.language_of(corpus))


def _build_missing(workshop: Workshop, corpus: Corpus, configurations: Sequence[Configuration], report: Report) -> Built | None:
    """For unchanged sources: the indexes that are not there yet, in the generation that there is."""
    missing = {each.index_key: each for each in configurations if not corpus.has_index_for(each)}
    built = [
        ingest.build_index(corpus, recipe=workshop.recipe(each, language=build.language_of(corpus)), report=report)
        for each in missing.values()
    ]
    return replace(built[0], carried=tuple(built[1:])) if built else None


def _require_confirmed(found: Found, digest: str) -> None:
    """Raises Busy when a plan was confirmed and this is another one."""
    if digest not in ("", found.digest):
        raise Busy(
            expected=f"the source and the corpus as they were when {shown(digest)} was confirmed",
            got=f"another plan ({found.digest})",
            remedy="Look at the changes again, and confirm those.",
        )


def _require_all_read(found: Found) -> None:
    """Raises PartlyApplied when a document, a source or a part of one could not be read."""
    failed = [failure for update in found.updates for failure in update.plan.failed]
    withheld = [update.plan for update in found.updates if update.plan.withheld]
    problems = [f"{len(failed):,} documents that could not be read ({_first(failed)})"] if failed else []
    problems += [f"{len(found.unread):,} sources that could not be read ({_first(found.unread)})"] if found.unread else []
    problems += [f"{len(plan.withheld):,} documents of {plan.origin} missing, and kept: {plan.why_withheld}" for plan in withheld]
    if problems:
        permission = (
            f" If those that are missing are to go: --allow-removals {sum(len(plan.withheld) for plan in withheld)}." if withheld else ""
        )
        raise PartlyApplied(
            expected="everything that the sources hold",
            got=f"{'; '.join(problems)}; all others are published",
            remedy=f"They stay as they were, and the next update tries them again.{permission}",
        )


def _first(failures: Sequence[Failure]) -> str:
    """The first few failures with their reasons, and how many more there are."""
    more = f"; and {len(failures) - SHOWN_FAILURES} more" if len(failures) > SHOWN_FAILURES else ""
    return "; ".join(f"{failure.id}: {failure.reason}" for failure in failures[:SHOWN_FAILURES]) + more


@contextlib.contextmanager
def _written_down(workshop: Workshop, wish: Wish, outcome: Outcome) -> Iterator[None]:
    """Writes a line of the journal however an update ends.

    None of what was wrongly asked for, or not wanted once it was seen, and none of a corpus that could not be made.
    """
    started, message, exit_code = time.monotonic(), "", 1
    ended: journal.Outcome | None = None
    try:
        yield
        ended, exit_code = _ended(outcome), 0
    except PartlyApplied as error:
        ended, message, exit_code = _ended(outcome), str(error), error.exit_code
        raise
    except (Cancelled, KeyboardInterrupt):
        ended, message = "cancelled", "stopped"
        raise
    except SittError as error:
        # What the corpus remembers nobody has asked for wrongly: a contact may be missing where an update is scheduled.
        wrongly_asked = isinstance(error, InvalidInput) and (outcome.asking or (outcome.found is None and bool(wish.sources)))
        if not wrongly_asked:
            ended, message, exit_code = "refused" if isinstance(error, RecallFell) else "failed", str(error), error.exit_code
        raise
    finally:
        if ended and (workshop.settings.store_dir / wish.corpus / "CURRENT").is_file():
            entry = _entry(wish, outcome, message)
            seconds = round(time.monotonic() - started, 1)
            journal.record(workshop.settings.data_dir, replace(entry, outcome=ended, exit_code=exit_code, seconds=seconds))


def _entry(wish: Wish, outcome: Outcome, message: str) -> Entry:
    """What is known of an update, as a line of the journal."""
    found = outcome.found or Found(())
    sources = {update.plan.origin: _source_entry(update) for update in found.updates}
    sources |= {failure.id: SourceEntry(failure.id, problem=failure.reason) for failure in found.unread}
    if outcome.found is None:
        sources = {place: SourceEntry(place, problem=message) for place in outcome.places}
    recall = outcome.preflight.all if outcome.preflight else None
    figures = () if recall is None or recall.before is None or recall.after is None else (recall.before, recall.after)
    return Entry(wish.corpus, "failed", sources, generation=outcome.generation, message=message, recall=figures)


def _ended(outcome: Outcome) -> journal.Outcome:
    return "published" if outcome.built is not None and not (outcome.found and outcome.found.is_empty) else "unchanged"


BUCKETS = ("added", "changed", "removed", "unchanged", "failed", "kept", "elsewhere", "withheld")
"""The parts of a plan, in the order they are shown."""


def bucket(plan: Plan, name: str) -> tuple[str, ...]:
    """The ids in a part of a plan."""
    return tuple(failure.id for failure in plan.failed) if name == "failed" else getattr(plan, name)


def _source_entry(update: Update) -> SourceEntry:
    plan = update.plan
    return SourceEntry(
        place=update.place,
        counts={name: count for name in BUCKETS if (count := len(bucket(plan, name)))} | {"listed": listed(update.listing)},
        failures=[[failure.id, failure.reason] for failure in plan.failed[:KEPT_FAILURES]],
        withheld=plan.why_withheld,
    )

"""What an update would do, before it does it: documents in buckets by SHA-256, with their differences; nothing is written."""

import difflib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sitt_core.errors import InvalidInput, NotFound, SourceError, shown
from sitt_core.store.reading import Corpus
from sitt_core.text import sha256_text
from sitt_core.types import Document, Failure, Listing, Span

MOST_FREE_REMOVALS = 20
WHOLE = 0.8
"""A listing of less than this share of what the last complete one named is not believed to be whole."""
RESTORED = "restored"
LISTED = "listed:"
"""What a corpus file's meta calls the documents restored by hand, and, with the origin, how many the last complete listing named."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What an update would do, by document id; nothing has been written.

    `kept` were restored by hand and are not in the source: they stay. `elsewhere` are already in the corpus, from another
    of its sources. `withheld` are missing from a listing that is not believed to be whole, `why_withheld`: they stay.
    `free_removals` is how many removals need no permission. `digest` names the plan: the same source and the same corpus
    give it again.
    """

    origin: str
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: tuple[str, ...]
    failed: tuple[Failure, ...]
    kept: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    why_withheld: str = ""
    free_removals: int = 0
    digest: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether the corpus would stay as it is."""
        return not (self.added or self.changed or self.removed)


@dataclass(frozen=True, slots=True)
class Update:
    """One source's part of an update: what it holds now, the place to read it from again, and what is to be done."""

    listing: Listing
    place: str
    plan: Plan


def plan_update(corpus: Corpus | None, listing: Listing, *, allow_removals: int = 0) -> Plan:
    """`plan_updates` of a single source's listing."""
    return plan_updates(corpus, [(listing, "")], allow_removals=allow_removals)[0].plan


def plan_updates(corpus: Corpus | None, found: Sequence[tuple[Listing, str]], *, allow_removals: int = 0) -> list[Update]:
    """Compares listings, each with its place, with what is stored, by SHA-256; a failed document stays as it was.

    A listing that is not whole removes nothing: one that says so, one that names no document, one that names less than
    `WHOLE` of what the last complete one did, unless a single document is missing or as many removals are allowed, which
    the listings share. Raises SourceError when a document's id belongs to another document, of another source.
    """
    owners = {document.id: (document.origin, document.source.url) for document in corpus.documents} if corpus else {}
    updates: dict[int, Update] = {}
    # Those that name documents of another source come last: what that one drops they take over.
    for number in sorted(range(len(found)), key=lambda number: _names_others(found[number][0], owners)):
        listing, place = found[number]
        plan = _plan(corpus, listing, owners, allow_removals)
        allow_removals -= permission_taken(plan)
        for id_ in plan.removed:
            del owners[id_]
        own = {*plan.added, *plan.changed}
        owners |= {document.id: (listing.origin, document.source.url) for document in listing.documents if document.id in own}
        updates[number] = Update(listing, place, plan)
    return [updates[number] for number in range(len(found))]


def _names_others(listing: Listing, owners: Mapping[str, tuple[str, str]]) -> bool:
    """Whether a listing names a document that belongs to another source."""
    return any(owners.get(document.id, (listing.origin,))[0] != listing.origin for document in listing.documents)


def _plan(corpus: Corpus | None, listing: Listing, owners: Mapping[str, tuple[str, str]], allow_removals: int) -> Plan:
    elsewhere = _elsewhere(listing, owners)
    found = {document.id: document.sha256 for document in listing.documents if document.id not in elsewhere}
    stored = corpus.documents if corpus else ()
    own = {document.id: document.sha256 for document in stored if document.origin == listing.origin and document.id in owners}
    failed = {failure.id for failure in listing.failures}
    missing = own.keys() - found.keys() - failed
    kept = missing & set(restored_ids(corpus))
    gone = missing - kept
    # A single one may always go: of four documents it would be more than a fifth.
    why = _why_not_whole(corpus, listing, len(own), permitted=len(gone) <= max(1, allow_removals)) if gone else ""
    return Plan(
        origin=listing.origin,
        added=tuple(sorted(found.keys() - own.keys())),
        changed=tuple(sorted(id_ for id_ in found.keys() & own.keys() if found[id_] != own[id_])),
        removed=() if why else tuple(sorted(gone)),
        unchanged=tuple(sorted(id_ for id_ in found.keys() & own.keys() if found[id_] == own[id_])),
        failed=listing.failures,
        kept=tuple(sorted(kept)),
        elsewhere=tuple(sorted(elsewhere)),
        withheld=tuple(sorted(gone)) if why else (),
        why_withheld=why,
        free_removals=free_removals(len(own)),
        digest=_digest(corpus, listing, found, gone),
    )


def _elsewhere(listing: Listing, owners: Mapping[str, tuple[str, str]]) -> set[str]:
    """The documents that the corpus has from another source, at the same URL; SourceError where only the name is the same."""
    others = [document for document in listing.documents if owners.get(document.id, (listing.origin,))[0] != listing.origin]
    clashing = [each.id for each in others if owners[each.id][1] != each.source.url or not each.source.url.startswith("http")]
    if clashing:
        raise SourceError(
            expected="document names that no other source of the corpus uses",
            got=", ".join(clashing[:3]),
            remedy="Put this source into a corpus of its own with --corpus NAME, or rename the folder.",
        )
    return {document.id for document in others}


def _why_not_whole(corpus: Corpus | None, listing: Listing, own: int, *, permitted: bool) -> str:
    """Why a listing does not show that what it lacks is gone; "" when it does. Permission outweighs a number, not a fault."""
    if not listing.complete:
        return listing.why_incomplete or "the source could not be read as a whole"
    if not listed(listing):
        return "the source named no document at all"
    before = last_listed(corpus, listing.origin) or own
    if listed(listing) < WHOLE * before and not permitted:
        return f"the source named {listed(listing):,} documents, less than {WHOLE:.0%} of the {before:,} of its last complete listing"
    return ""


def listed(listing: Listing) -> int:
    """How many documents a listing names, those that could not be read too."""
    return len({document.id for document in listing.documents} | {failure.id for failure in listing.failures})


def last_listed(corpus: Corpus | None, origin: str) -> int:
    """How many documents the last complete listing of a source named; 0 when none is known."""
    return int(corpus.meta.get(f"{LISTED}{origin}", "0")) if corpus else 0


def _digest(corpus: Corpus | None, listing: Listing, found: Mapping[str, str], gone: Collection[str]) -> str:
    """12 hex digits over everything that an update could publish."""
    facts = [corpus.generation if corpus else "", listing.origin, listing.complete, found, sorted(gone)]
    return sha256_text(json.dumps(facts, sort_keys=True))[:12]


def digest_of(updates: Sequence[Update]) -> str:
    """The digest of several plans at once; that of a single one is its own."""
    digests = [update.plan.digest for update in updates]
    return digests[0] if len(digests) == 1 else sha256_text(json.dumps(digests))[:12]


def free_removals(documents: int) -> int:
    """How many of a source's documents an update may retire without being told: a tenth, at least 1 and at most 20."""
    return max(1, min(MOST_FREE_REMOVALS, documents // 10))


def permission_taken(plan: Plan) -> int:
    """How many of the removals that are allowed a plan uses up: all of its own, unless they are free."""
    return len(plan.removed) if len(plan.removed) > plan.free_removals else 0


def require_removals_allowed(plans: Sequence[Plan], allowed: int) -> None:
    """Raises InvalidInput when a plan removes more than `free_removals` and more than is left of `allowed`."""
    needed = sum(map(permission_taken, plans))
    for plan in plans:
        count, most = len(plan.removed), max(plan.free_removals, allowed)
        if count > most:
            raise InvalidInput(
                expected=f"at most {most:,} documents of {plan.origin} to be removed without permission",
                got=f"{count:,} that the source no longer has",
                remedy=f"Check that the source is whole. If all of them are to go: --allow-removals {needed}",
            )
        allowed -= permission_taken(plan)


def restored_ids(corpus: Corpus | None) -> tuple[str, ...]:
    """The documents that somebody restored and whose source has not named them since: no update retires them."""
    return tuple(json.loads(corpus.meta.get(RESTORED, "[]"))) if corpus else ()


def before_and_after(corpus: Corpus | None, listing: Listing, document_id: str) -> tuple[Document | None, Document | None]:
    """A document as it is stored, and as the source has it now; None where it is not there. Raises NotFound when it is nowhere."""
    new = next((document for document in listing.documents if document.id == document_id), None)
    old = None
    if corpus is not None and (new is None or any(document.id == document_id for document in corpus.documents)):
        old = corpus.document(document_id)
    if old is None and new is None:
        raise NotFound(
            expected="a document of the corpus or of the source", got=shown(document_id), remedy="Choose one that the plan names."
        )
    return old, new


def versions(corpus: Corpus | None, listing: Listing, document_ids: Sequence[str]) -> dict[str, tuple[Document | None, Document | None]]:
    """`before_and_after` of many documents, by id: stored ones are read at once."""
    found = {document.id: document for document in listing.documents}
    stored = {document.id: document for document in corpus.all_documents()} if corpus and document_ids else {}
    return {id_: (stored.get(id_), found.get(id_)) for id_ in document_ids}


def diff(corpus: Corpus | None, listing: Listing, document_id: str) -> list[str]:
    """What an update would change in a document, as the lines of a unified diff: its attributes, then its text.

    A document that is new has only added lines, one that is gone only removed ones; one that is unchanged has none.
    Raises NotFound.
    """
    old, new = before_and_after(corpus, listing, document_id)
    return diff_lines(old, new, listing.origin)


def diff_lines(old: Document | None, new: Document | None, origin: str) -> list[str]:
    """A unified diff of a document as it is stored and as a source has it; None where it is not there."""
    before, after = (_lines(document) if document else [] for document in (old, new))
    return list(difflib.unified_diff(before, after, "stored", origin, lineterm=""))


def _lines(document: Document) -> list[str]:
    """Everything that a document's hash covers, as lines."""
    facts = {
        "title": document.title,
        "source": f"{document.source.title}, {document.source.url}, {document.source.license}",
        "category": document.category,
        "region": document.region,
        "countries": ", ".join(document.countries),
        "aliases": ", ".join(document.aliases),
        "see also": document.see_also,
    }
    return [*(f"{name}: {value}" for name, value in facts.items() if value), "", *document.text.split("\n")]


@dataclass(frozen=True, slots=True)
class SectionChange:
    """A section that an update touches: its heading path (empty for what stands before the first heading), and how."""

    heading_path: tuple[str, ...]
    how: str


def sections_touched(old: Document | None, new: Document | None) -> tuple[SectionChange, ...]:
    """The sections that differ between two versions of a document, in the order of the new one, those that are gone last.

    `how` is `added`, `changed` or `removed`; sub-sections count for themselves.
    """
    before, after = (_sections(document) if document else {} for document in (old, new))
    there = [SectionChange(path, "changed" if path in before else "added") for path, texts in after.items() if before.get(path) != texts]
    return (*there, *(SectionChange(path, "removed") for path in before if path not in after))


def _sections(document: Document) -> dict[tuple[str, ...], list[str]]:
    """The texts under each heading path, of which some documents have several."""
    found: dict[tuple[str, ...], list[str]] = {}
    for section in document.sections:
        text = document.text[section.start : section.end].strip()
        if text:
            found.setdefault(section.heading_path, []).append(text)
    return found


def changed_spans(old: str, new: str) -> list[Span]:
    """Where the old text is not in the new one, as spans of whole lines of the old; a line that only moved does not count."""
    after = set(new.split("\n"))
    spans: list[Span] = []
    at = 0
    for line in old.split("\n"):
        end = at + len(line)
        if line.strip() and line not in after:
            spans.append(Span(at, end))
        at = end + 1
    return spans

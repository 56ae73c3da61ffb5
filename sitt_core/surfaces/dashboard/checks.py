"""What a check for changes has left behind, found again: which is the latest, what may be published of it, and how that ended. Without Streamlit."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.preflight import Preflight, Touched, preflight_from_json, touched_from_json
from sitt_core import jobs, journal
from sitt_core.configuration import Configuration
from sitt_core.errors import StoreError
from sitt_core.jobs import Job
from sitt_core.journal import Freshness
from sitt_core.plan import plan_updates
from sitt_core.store.reading import Corpus
from sitt_core.surfaces import status
from sitt_core.surfaces.source_forms import describe
from sitt_core.surfaces.updating import Found

ANY = 1_000_000_000
SHOWN_SECONDS = 24 * 3600
"""So long the result of an update that another session started is shown."""


def check_key(corpus: str) -> str:
    """The key of the job that looks at a corpus's sources."""
    return f"check:{corpus}"


def update_key(corpus: str) -> str:
    """The key of the job that publishes."""
    return f"update:{corpus}"


def latest(known: Sequence[Job], key: str, *, done: bool = False) -> Job | None:
    """The newest job of a key, of those that ended by themselves alone if `done`; `known` are the latest jobs, newest first."""
    return next((job for job in known if job.key == key and (job.state == "done" or not done)), None)


def shown_result(known: Sequence[Job], corpus: str, *, own: str, now: float) -> Job | None:
    """The ended update whose result a page shows: the latest, if nothing has been checked since, this session's (`own`) or a recent one."""
    update, check = latest(known, update_key(corpus)), latest(known, check_key(corpus), done=True)
    if update is None or update.state == "running" or (check is not None and check.started > update.started):
        return None
    return update if update.id == own or now - update.started < SHOWN_SECONDS else None


def fruitless(known: Sequence[Job], corpus: str, *, now: float) -> Job | None:
    """The latest check, if it ended without having found anything: recently, and no update has been started since."""
    check, update = latest(known, check_key(corpus)), latest(known, update_key(corpus))
    if check is None or check.state in ("running", "done") or now - check.started >= SHOWN_SECONDS:
        return None
    return None if update is not None and update.started > check.started else check


def being_made(known: Sequence[Job], names: Collection[str]) -> str | None:
    """The corpus whose first update runs, whoever started it; `names` are those that there are."""
    running = (job.key.removeprefix("update:") for job in known if job.state == "running" and job.key.startswith("update:"))
    return next((name for name in running if name not in names), None)


def check_arguments(corpus: str, places: Sequence[str], *, moved: bool = False) -> list[str]:
    """The command line of a check: no places means all that the corpus remembers."""
    named = [option for place in places for option in ("--source", place)]
    return ["update", "--corpus", corpus, *named, "--dry-run", "--json", *(["--moved"] if moved else [])]


def make_arguments(corpus: str, place: str, language: str) -> list[str]:
    """The command line that makes a corpus of a source."""
    return ["update", "--source", place, "--corpus", corpus, "--language", language, "--yes"]


def forget_arguments(corpus: str, origin: str) -> list[str]:
    """The command line that takes a source away."""
    return ["forget", origin, "--corpus", corpus]


def publish_arguments(corpus: str, folder: Path, digest: str, *, carried: Sequence[str] = (), permitted: int = 0) -> list[str]:
    """The command line that publishes exactly what a check has found, unless the questions then find less."""
    return [
        *("update", "--corpus", corpus, "--checked", str(folder), "--confirmed", digest, "--yes"),
        *("--max-recall-drop", "0"),
        *(option for key in carried for option in ("--index", key)),
        *(["--allow-removals", str(permitted)] if permitted else []),
    ]


def accepting(arguments: Sequence[str]) -> list[str]:
    """The same command line, whatever the questions find."""
    at = list(arguments).index("--max-recall-drop") + 1
    return [*arguments[:at], "1", *arguments[at + 1 :]]


def told_removals(folder: Path) -> int:
    """How many documents a check says would go without what is withheld: as many have to be permitted."""
    return sum(len(each["plan"]["removed"]) for each in jobs.left(folder, "plan").get("updates", []))


def told_digest(folder: Path) -> str:
    """The digest that a check said."""
    return str(jobs.left(folder, "plan").get("digest", ""))


def touched_of(folder: Path) -> Touched | None:
    """What a check says is touched; None where it does not say, or not as this version reads it."""
    kept = jobs.left(folder, "plan").get("touched")
    try:
        return touched_from_json(kept) if isinstance(kept, dict) else None
    except StoreError:
        return None


def preflight_of(folder: Path) -> Preflight | None:
    """What an update measured before it published; None where it measured nothing."""
    kept = jobs.left(folder, "preflight")
    try:
        return preflight_from_json(kept) if kept else None
    except StoreError:
        return None


def failures_of(folder: Path) -> tuple[list[tuple[str, str, str]], list[str]]:
    """What an update could not read, as (place, id, reason), and the places to try again: those of sources that could not be read at all too."""
    plan = jobs.left(folder, "plan")
    found = [
        (str(each["place"]), str(failure["id"]), str(failure["reason"]))
        for each in plan.get("updates", [])
        for failure in each["plan"]["failed"]
    ]
    found += [(str(each["place"]), "", str(each["reason"])) for each in plan.get("unread", [])]
    return found, list(dict.fromkeys(place for place, _, _ in found))


def was_refused(data_dir: Path, corpus: str, job: Job) -> bool:
    """Whether an update was not published because the golden questions find less."""
    entries = journal.entries(data_dir, corpus, 20)
    return job.state == "failed" and any(entry.outcome == "refused" and entry.message == job.message for entry in entries)


def published_by(data_dir: Path, corpus: str, job: Job) -> str:
    """The generation that the latest update has published; "" where it published none."""
    ended = [entry for entry in journal.entries(data_dir, corpus, 20) if entry.at >= job.started and entry.outcome == "published"]
    return ended[0].generation if ended else ""


def is_settled(corpus: Corpus, found: Found, default: Configuration) -> bool:
    """Whether publishing would change nothing: no document, no source's place, no index that is missing."""
    known = status.sources_of(corpus)
    same = all(known.get(update.plan.origin) == update.place for update in found.updates)
    return found.is_empty and same and corpus.has_index_for(default)


def removed_at(corpus: Corpus, found: Found, permitted: int) -> int:
    """How many documents would be retired if so many removals were permitted."""
    listings = [(update.listing, update.place) for update in found.updates]
    return sum(len(update.plan.removed) for update in plan_updates(corpus, listings, allow_removals=permitted))


@dataclass(frozen=True, slots=True)
class Removals:
    """How many documents an update retires by itself, and `most` if all that is missing may go; `needed`: not without its number typed."""

    free: int
    most: int
    needed: bool

    @property
    def asks(self) -> bool:
        """Whether there is a number to type."""
        return self.needed or self.most > self.free


def removals(corpus: Corpus, found: Found) -> Removals:
    """What there is to be permitted."""
    needed = any(len(update.plan.removed) > update.plan.free_removals for update in found.updates)
    return Removals(sum(len(update.plan.removed) for update in found.updates), removed_at(corpus, found, ANY), needed)


def permission(corpus: Corpus, found: Found, typed: str) -> int | None:
    """The removals that a typed number permits, 0 for none typed where none is needed; None for a number that is not what would go.

    What counts is what would really go: permission for one source's many is permission for as many of another's.
    """
    wanted = removals(corpus, found)
    text = typed.strip().replace(",", "")
    if not text:
        return None if wanted.needed else 0
    number = int(text) if text.isdecimal() and len(text) < 10 else -1
    return number if number > 0 and removed_at(corpus, found, number) == number else None


def source_rows(corpus: Corpus, fresh: Mapping[str, Freshness], checked: Mapping[str, float], *, now: float) -> list[dict[str, str | int]]:
    """A line for each source that a corpus was filled from; `checked` says when a check has read one whole since its last update."""
    held = corpus.values("origin")
    rows: list[dict[str, str | int]] = []
    for origin, place in status.sources_of(corpus).items():
        known, told = fresh.get(origin, Freshness()), describe(place)
        rows.append(
            {
                "source": told.name,
                "kind": told.kind,
                "documents": held.get(origin, 0),
                "last read whole": ago(max(known.read_at, checked.get(origin, 0.0)), now),
                "last update": met(known, now),
                "place": place,
            }
        )
    return rows


def met(known: Freshness, now: float) -> str:
    """What the latest update met in a source."""
    if not known.tried_at:
        return "none noted"
    count = len(known.failures)
    failed = f"{count:,}{'+' * (count == journal.KEPT_FAILURES)} not read" if count else ""
    return f"{ago(known.tried_at, now)}: {'not read as a whole' if known.problem else failed or 'all read'}"


def read_whole(found: Found, started: float) -> dict[str, float]:
    """When a check has read each source, those alone that it read as a whole and without a failure."""
    return {
        update.plan.origin: started
        for update in found.updates
        if update.listing.complete and not (update.plan.failed or update.plan.withheld)
    }


def ago(at: float, now: float) -> str:
    """How long something is past, in words; `never` for 0."""
    if not at:
        return "never"
    seconds = max(0.0, now - at)
    for size, name in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {name}{'s' * (count != 1)} ago"
    return "just now"


def sections_of(folder: Path) -> dict[str, dict[str, list[tuple[str, str]]]]:
    """The sections that a check says differ, by origin and document: heading path and how."""
    plan: dict[str, Any] = jobs.left(folder, "plan")
    return {
        str(each["plan"]["origin"]): {
            id_: [(" › ".join(section["heading_path"]) or "the beginning", str(section["how"])) for section in found]
            for id_, found in each["sections"].items()
        }
        for each in plan.get("updates", [])
    }

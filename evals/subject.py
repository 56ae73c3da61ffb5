"""What a run is about: a golden set and the corpus that it asks, found again by name or path."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from evals.beir import missing_documents, read_collection
from evals.editing import load_all
from evals.golden import FIELD_GUIDE, GoldenSet, load_questions, with_named
from evals.summary import counted
from sitt_core.build import DEFAULT_LANGUAGE, Workshop, corpus_or_none, language_of, read_source
from sitt_core.configuration import Configuration
from sitt_core.errors import InvalidInput, shown
from sitt_core.ingest import apply_update
from sitt_core.plan import plan_updates
from sitt_core.settings import DEFAULT_CORPUS
from sitt_core.store.layout import check_corpus_name
from sitt_core.store.reading import Corpus
from sitt_core.types import Report

DATASET = "beir:"
OWN = "own"
"""One's own questions about a corpus, from the Questions page."""
DEFAULT_SPLIT = "test"
LISTED = 5


@dataclass(frozen=True, slots=True)
class Subject:
    """A golden set and its corpus; `place` is where both come from, and `notes` is what the reader should know of them."""

    corpus: Corpus
    golden: GoldenSet
    place: str
    notes: tuple[str, ...] = ()


def open_questions(workshop: Workshop, place: str, corpus: str = DEFAULT_CORPUS, *, report: Report) -> Subject:
    """A golden set by name or path, and the corpus that it asks; the field guide's corpus is made where there is none yet.

    `own` is what was written about the corpus on the Questions page; the field guide's set has that with it. Both get
    their generated questions, one for each document. Raises NotFound, InvalidInput or StoreError.
    """
    kept = place in (FIELD_GUIDE, OWN)
    golden = None if kept else load_questions(place)
    if place == FIELD_GUIDE and corpus == DEFAULT_CORPUS and corpus_or_none(workshop, corpus) is None:
        _update(workshop, FIELD_GUIDE, corpus, DEFAULT_LANGUAGE, workshop.settings.defaults, report)
    opened = workshop.corpus(corpus)
    titles = [(document.id, document.title) for document in opened.documents]
    if golden is None and (place == OWN or corpus == DEFAULT_CORPUS):
        golden = load_all(workshop.settings, corpus, titles)
    elif golden is None:  # the field guide under another name
        golden = with_named(load_questions(place), titles)
    return Subject(opened, golden, place if kept else str(Path(place).expanduser().resolve()), _missing(golden, opened))


def _missing(golden: GoldenSet, corpus: Corpus) -> tuple[str, ...]:
    """A note that names expected documents which the corpus lacks, if there are any."""
    missing = missing_documents(golden, [document.id for document in corpus.documents])
    if not missing:
        return ()
    listed = f"{', '.join(missing[:LISTED])}{', …' * (len(missing) > LISTED)}"
    return (f"Not in the corpus, so counted as not found: {counted(len(missing), 'expected document')} ({listed})",)


def open_dataset(
    workshop: Workshop,
    spec: str,
    *,
    split: str = DEFAULT_SPLIT,
    corpus: str = "",
    language: str = "",
    first: Configuration,
    require: Callable[[GoldenSet], object],
    dry_run: bool = False,
    report: Report,
) -> Subject:
    """A BEIR collection: its questions of one split, and its documents as a corpus, made or brought up to date first.

    The corpus is named like the folder unless `corpus` says otherwise; a new one is published with the index of `first`.
    `require` looks at the questions before anything is built, and raises what it will; with `dry_run` nothing is built.
    Raises InvalidInput, NotFound, SourceError or StoreError.
    """
    if not spec.startswith(DATASET) or spec == DATASET:
        raise InvalidInput(expected="a dataset as beir:PATH", got=shown(spec), remedy="Name the folder that holds corpus.jsonl.")
    folder = Path(spec.removeprefix(DATASET)).expanduser().resolve()
    name = check_corpus_name(corpus or folder.name.lower())
    collection = read_collection(folder, split=split)
    require(collection.golden)
    _update(workshop, f"{DATASET}{folder}", name, language, first, report, dry_run=dry_run)
    opened = workshop.corpus(name)
    notes = (*collection.notes, *_missing(collection.golden, opened))
    return Subject(opened, collection.golden, f"{DATASET}{folder}@{split}", notes)


def reopen(workshop: Workshop, place: str, corpus: str, *, report: Report) -> Subject:
    """The subject of an earlier run, from its manifest; the corpus stays as it is. Raises as the others do."""
    if not place.startswith(DATASET):
        return open_questions(workshop, place, corpus, report=report)
    folder, _, split = place.removeprefix(DATASET).rpartition("@")
    collection = read_collection(Path(folder), split=split)
    return Subject(workshop.corpus(corpus), collection.golden, place, collection.notes)


def _update(
    workshop: Workshop, source: str, name: str, language: str, first: Configuration, report: Report, *, dry_run: bool = False
) -> None:
    """Brings a corpus to what its source holds; an unchanged one is left alone."""
    existing = corpus_or_none(workshop, name)
    listing, place = read_source(source, existing)
    origins: Mapping[str, int] = existing.values("origin") if existing else {}
    if origins and listing.origin not in origins:
        raise InvalidInput(
            expected=f"corpus {name} to hold {source}",
            got=f"one filled from {', '.join(origins)}",
            remedy="Give the collection a corpus of its own: --corpus NAME.",
        )
    updates = plan_updates(existing, [(listing, place)])
    plan = updates[0].plan
    if existing and plan.is_empty:
        return
    if dry_run:
        raise InvalidInput(
            expected=f"{name} to be a corpus already, to plan with",
            got=f"{counted(len(listing.documents), 'document')}, of which it lacks {len(plan.added) + len(plan.changed):,}",
            remedy=f"Make it first: python -m sitt_core update --source {source} --corpus {name}",
        )
    spoken = language or language_of(existing)
    recipe = workshop.recipe(first, language=spoken)
    apply_update(workshop.settings.store_dir / name, existing, updates, recipe=recipe, report=report)

"""Source → plan → confirmed → published: how a corpus and its indexes come to be."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from sitt_core.configuration import Configuration
from sitt_core.errors import Busy, NotFound, SourceError
from sitt_core.retrieval.keyword import build_postings
from sitt_core.retrieval.words import WORDS_VERSION
from sitt_core.store.layout import CORPUS_FILE, current_generation, index_file, new_file, new_generation, new_index_file, write_lock
from sitt_core.store.reading import Corpus
from sitt_core.store.vectors import VectorCache, text_key
from sitt_core.store.writing import require_unit_vectors, write_corpus, write_index
from sitt_core.text import TOKENIZER
from sitt_core.types import Chunk, Document, Embedder, Failure, Listing, Report

EMBED_BATCH = 64
"""Texts per step of a build: progress, cancel and the vector cache move on by as many."""
SAMPLE = 16
"""Texts embedded to estimate how long the rest will take."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything an index is made from, the concrete parts chosen by build.py."""

    configuration: Configuration
    embedder: Embedder
    chunk: Callable[[Document], list[Chunk]]
    chunker_version: str
    language: str

    @property
    def fingerprint(self) -> dict[str, str]:
        """What the index's vectors, spans and words depend on; an index with another one is refused."""
        return {
            **text_fingerprint(self.chunker_version, self.language),
            "embedder": self.embedder.fingerprint,
            "dimension": str(self.embedder.dimension),
        }


def text_fingerprint(chunker_version: str, language: str) -> dict[str, str]:
    """The part of a fingerprint that needs no model: it is what keyword search alone depends on."""
    return {"chunker": chunker_version, "tokenizer": TOKENIZER, "words": WORDS_VERSION, "language": language}


@dataclass(frozen=True, slots=True)
class Plan:
    """What an update would do, by document id; nothing has been written."""

    origin: str
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: tuple[str, ...]
    failed: tuple[Failure, ...]

    @property
    def is_empty(self) -> bool:
        """Whether the corpus would stay as it is."""
        return not (self.added or self.changed or self.removed)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What building an index takes: its chunks, how many of their vectors are cached, about how long the others need."""

    chunks: int
    cached: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Built:
    """What a finished build reports."""

    index_key: str
    chunks: int
    embedded: int
    windowed: int
    seconds: float


def plan_update(corpus: Corpus | None, listing: Listing) -> Plan:
    """Compares a listing with what is stored, by SHA-256; a failed document stays as it was.

    Raises SourceError when a document's id belongs to another source of the corpus.
    """
    stored = {document.id: document for document in corpus.documents} if corpus else {}
    foreign = [document.id for document in listing.documents if document.id in stored and stored[document.id].origin != listing.origin]
    if foreign:
        raise SourceError(
            expected="document names that no other source of the corpus uses",
            got=", ".join(foreign[:3]),
            remedy="Put this source into a corpus of its own with --corpus NAME, or rename the folder.",
        )
    own = {id_: document.sha256 for id_, document in stored.items() if document.origin == listing.origin}
    found = {document.id: document.sha256 for document in listing.documents}
    kept = found.keys() | {failure.id for failure in listing.failures}
    return Plan(
        origin=listing.origin,
        added=tuple(sorted(found.keys() - own.keys())),
        changed=tuple(sorted(id_ for id_ in found.keys() & own.keys() if found[id_] != own[id_])),
        removed=tuple(sorted(own.keys() - kept)) if listing.complete else (),
        unchanged=tuple(sorted(id_ for id_ in found.keys() & own.keys() if found[id_] == own[id_])),
        failed=listing.failures,
    )


def apply_update(
    corpus_dir: Path, corpus: Corpus | None, listing: Listing, plan: Plan, *, recipe: Recipe, sources: Mapping[str, str], report: Report
) -> Built:
    """Publishes a new generation with the plan's documents and the recipe's index; until it ends, nothing served changes.

    Documents of other sources are carried over; removed ones are retired, not deleted. Raises Busy, StoreError,
    ModelError, Cancelled.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    with write_lock(corpus_dir, "update"):
        _require_current(corpus_dir, corpus)
        before = {document.id: document for document in corpus.all_documents()} if corpus else {}
        retired = {document.id: (document, when) for document, when in corpus.retired_documents()} if corpus else {}
        fresh = set(plan.added) | set(plan.changed)
        after = {**before, **{document.id: replace(document, fetched_at=now) for document in listing.documents if document.id in fresh}}
        for document_id in plan.removed:
            retired[document_id] = (after.pop(document_id), now)
        documents = sorted(after.values(), key=lambda document: document.id)
        gone = [retired[document_id] for document_id in sorted(retired.keys() - after.keys())]
        meta = {"language": recipe.language, "published_at": now, **{f"source:{origin}": place for origin, place in sources.items()}}
        with new_generation(corpus_dir) as folder:
            write_corpus(folder / CORPUS_FILE, documents, retired=gone, meta=meta)
            return _write_index(new_index_file(folder, recipe.configuration.index_key), documents, corpus_dir, recipe, report)


def _require_current(corpus_dir: Path, corpus: Corpus | None) -> None:
    """Raises Busy when another update was published since the plan was made: publishing would undo it."""
    try:
        current = current_generation(corpus_dir)
    except NotFound:
        current = "none"
    planned = corpus.generation if corpus else "none"
    if current != planned:
        raise Busy(
            expected=f"{corpus_dir.name} to be at the generation that the update was planned for ({planned})",
            got=current,
            remedy="Another update was published meanwhile. Run this one again: it is planned anew.",
        )


def build_index(corpus: Corpus, *, recipe: Recipe, report: Report) -> Built:
    """Adds the recipe's index to the corpus's generation, or replaces it; raises Busy, StoreError, ModelError, Cancelled."""
    key = recipe.configuration.index_key
    with write_lock(corpus.folder, key):
        old, path = index_file(corpus.folder, key), new_index_file(corpus.folder, key)
        with new_file(path) as building:
            built = _write_index(building, corpus.all_documents(), corpus.folder.parent, recipe, report)
        if old is not None:
            old.unlink(missing_ok=True)
        return built


def _write_index(path: Path, documents: Sequence[Document], corpus_dir: Path, recipe: Recipe, report: Report) -> Built:
    started = time.monotonic()
    chunks = _chunk_all(documents, recipe, report)
    texts = [chunk.embedded for chunk in chunks]
    cache = _cache(corpus_dir, recipe.embedder)
    embedded = _embed_missing(texts, cache, recipe.embedder, report)
    vectors = cache.get([text_key(text) for text in texts]) if texts else np.zeros((0, recipe.embedder.dimension), np.float32)
    windowed = sum(length > recipe.embedder.limit for length in recipe.embedder.count_tokens(texts))
    report("index words", 0, len(chunks))
    postings = build_postings(texts, recipe.language)
    report("index words", len(chunks), len(chunks))
    meta = {
        **recipe.fingerprint,
        "configuration": str(recipe.configuration.to_dict()),
        "windowed": str(windowed),
        "built_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    report("write", 0, 1)
    write_index(path, chunks, vectors, postings, meta=meta)
    report("write", 1, 1)
    return Built(recipe.configuration.index_key, len(chunks), embedded, windowed, time.monotonic() - started)


def _chunk_all(documents: Sequence[Document], recipe: Recipe, report: Report) -> list[Chunk]:
    chunks: list[Chunk] = []
    for done, document in enumerate(documents):
        report("chunk", done, len(documents))
        chunks += recipe.chunk(document)
    report("chunk", len(documents), len(documents))
    return chunks


def _cache(corpus_dir: Path, embedder: Embedder) -> VectorCache:
    return VectorCache(corpus_dir / "vectors", fingerprint=embedder.fingerprint, dimension=embedder.dimension)


def _missing(texts: Sequence[str], cache: VectorCache) -> list[str]:
    """The distinct texts whose vectors are not cached, in order."""
    return [text for text in dict.fromkeys(texts) if text_key(text) not in cache]


def _embed_missing(texts: Sequence[str], cache: VectorCache, embedder: Embedder, report: Report) -> int:
    """Embeds what is not cached, a batch at a time into the cache; returns how many texts that were."""
    missing = sorted(_missing(texts, cache), key=len)  # texts of like length share a batch
    done = 0
    report("embed", 0, len(missing))
    while done < len(missing):
        batch = missing[done : done + EMBED_BATCH]
        vectors = embedder.embed_passages(batch)
        require_unit_vectors(vectors, (len(batch), embedder.dimension))  # nonsense must not enter the cache
        cache.append([text_key(text) for text in batch], vectors)
        done += len(batch)
        report("embed", done, len(missing))
    cache.reload()
    return len(missing)


def estimate_build(corpus: Corpus, *, recipe: Recipe) -> Estimate:
    """Chunks the corpus, looks its texts up in the vector cache, and times a sample of the others."""
    started = time.monotonic()
    texts = [chunk.embedded for document in corpus.all_documents() for chunk in recipe.chunk(document)]
    chunking = time.monotonic() - started
    missing = _missing(texts, _cache(corpus.folder.parent, recipe.embedder))
    uncached = set(missing)
    sample = missing[:: max(1, len(missing) // SAMPLE)][:SAMPLE]
    started = time.monotonic()
    if sample:
        recipe.embedder.embed_passages(sample)
    per_text = (time.monotonic() - started) / max(1, len(sample))
    return Estimate(len(texts), sum(text not in uncached for text in texts), 2 * chunking + per_text * len(missing))

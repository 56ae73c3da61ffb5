"""Source → plan → confirmed → published: how a corpus and its indexes come to be."""

import contextlib
import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np

from sitt_core.chunking.chunks import count_oversized
from sitt_core.chunking.semantic import EmbedSentences, all_alike, sentence_texts
from sitt_core.configuration import Configuration
from sitt_core.errors import Busy, Cancelled, FingerprintError, IndexMissing, InvalidInput, NotFound, StoreError, shown
from sitt_core.plan import LISTED, RESTORED, Update, listed, require_removals_allowed, restored_ids
from sitt_core.retrieval.keyword import build_postings, extend_postings
from sitt_core.retrieval.words import WORDS_VERSION, words_language
from sitt_core.store.layout import (
    CORPUS_FILE,
    UPDATE_LOCK,
    current_generation,
    index_file,
    new_file,
    new_generation,
    new_index_file,
    write_lock,
)
from sitt_core.store.reading import Corpus, stored_configuration
from sitt_core.store.vectors import VectorCache, text_key
from sitt_core.store.writing import add_graph, require_unit_vectors, write_corpus, write_index
from sitt_core.text import TOKENIZER, sentence_spans
from sitt_core.types import Chunk, Document, Embedder, Matrix, Postings, Report

EMBED_BATCH = 64
"""Texts per step of a build: progress, cancel and the vector cache move on by as many."""
GRAPH_CHUNKS = 5_000
"""An index of so many chunks gets an HNSW graph without being asked."""
RECALL_SAMPLE = 200
"""A graph's recall is measured with so many questions."""
SAMPLE = 16
"""Texts embedded to estimate how long the rest will take."""
OUTDATED = "outdated"
SOURCE = "source:"
"""What a corpus file's meta calls the configurations whose index an update left behind, and, with the origin, where a source is."""


Check = Callable[[Corpus], None]
"""Looks at a generation that is built and not published yet; what it raises keeps it from being published."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything an index is made from, the concrete parts chosen by build.py."""

    configuration: Configuration
    embedder: Embedder
    chunk: Callable[..., list[Chunk]]
    chunker_version: str
    language: str
    sentence_embedder: Embedder | None = None
    """Whose vectors of sentences `chunk` takes as `embed=`; None where the strategy needs none."""

    @property
    def words(self) -> str:
        """What the texts are tokenized as for keyword search."""
        return words_language(self.language, self.configuration.keyword_stopwords)

    @property
    def fingerprint(self) -> dict[str, str]:
        """What the index's vectors, spans and words depend on; an index with another one is refused."""
        return {
            **text_fingerprint(self.chunker_version, self.words),
            "embedder": self.embedder.fingerprint,
            "dimension": str(self.embedder.dimension),
            **({"sentences": self.sentence_embedder.fingerprint} if self.sentence_embedder else {}),
        }


def text_fingerprint(chunker_version: str, words: str) -> dict[str, str]:
    """The part of a fingerprint that needs no model: it is what keyword search alone depends on; `words` as `words_language` has it."""
    return {"chunker": chunker_version, "tokenizer": TOKENIZER, "words": WORDS_VERSION, "language": words}


@dataclass(frozen=True, slots=True)
class Estimate:
    """What building an index takes: its chunks, how many of their vectors are cached, about how long the others need.

    While `sentences` have to be embedded before semantic chunking can cut, `chunks` is the least there will be.
    """

    chunks: int
    cached: int
    seconds: float
    sentences: int = 0


@dataclass(frozen=True, slots=True)
class Built:
    """What a finished build reports: `windowed` texts were longer than the embedder reads at once, `oversized` chunks are
    single graphemes over the chunk size, `carried` are the other indexes that an update took along.
    """

    index_key: str
    chunks: int
    embedded: int
    windowed: int
    seconds: float
    carried: tuple["Built", ...] = ()
    oversized: int = 0


def apply_update(
    corpus_dir: Path,
    corpus: Corpus | None,
    updates: Sequence[Update],
    *,
    recipe: Recipe,
    report: Report,
    carry: Sequence[Recipe] = (),
    allow_removals: int = 0,
    check: Check | None = None,
    locked: bool = False,
) -> Built:
    """Publishes a new generation with what the updates of one or more sources bring, the recipe's index and those of `carry`.

    Until it ends, nothing served changes. Documents of other sources are carried over; removed ones are retired, not
    deleted. `check` looks at the finished generation before it is published, and keeps it from that by raising. `locked`
    says that the caller holds the corpus's write lock, as who reads the sources under it does. Raises what `check`
    raises, InvalidInput (too many removals), Busy, StoreError, ModelError, Cancelled.
    """
    require_removals_allowed([update.plan for update in updates], allow_removals)
    now = _now()
    with contextlib.nullcontext() if locked else write_lock(corpus_dir, UPDATE_LOCK):
        _require_current(corpus_dir, corpus)
        active = {document.id: document for document in corpus.all_documents()} if corpus else {}
        retired = {document.id: (document, when) for document, when in corpus.retired_documents()} if corpus else {}
        named: set[str] = set()
        for update in updates:
            for document_id in update.plan.removed:
                retired[document_id] = (active.pop(document_id), now)
        for update in updates:  # now, since one source may take over what another drops
            fresh = {*update.plan.added, *update.plan.changed}
            active |= {
                document.id: replace(document, fetched_at=document.fetched_at or now)
                for document in update.listing.documents
                if document.id in fresh
            }
            named |= {document.id for document in update.listing.documents}
        meta = {
            **_of_sources(corpus, updates),
            "language": recipe.language,
            RESTORED: json.dumps(sorted(set(restored_ids(corpus)) - named)),
        }
        return _publish(corpus_dir, corpus, active, retired, recipes=(recipe, *carry), meta=meta, report=report, check=check)


def _of_sources(corpus: Corpus | None, updates: Sequence[Update]) -> dict[str, str]:
    """What the corpus knows of its sources, with those of the updates: where each is, and how many documents it named last."""
    known = {name: value for name, value in (corpus.meta if corpus else {}).items() if name.startswith((SOURCE, LISTED))}
    for update in updates:
        known[f"{SOURCE}{update.plan.origin}"] = update.place
        if update.listing.complete and not update.plan.withheld:
            known[f"{LISTED}{update.plan.origin}"] = str(listed(update.listing))
    return known


def restore_documents(
    corpus: Corpus, document_ids: Sequence[str], *, recipe: Recipe, report: Report, carry: Sequence[Recipe] = ()
) -> Built:
    """Publishes a new generation in which retired documents are active again, as they were when they were retired.

    No later update retires them as long as their source does not name them. Raises NotFound, Busy, StoreError,
    ModelError, Cancelled.
    """
    with write_lock(corpus.folder.parent, UPDATE_LOCK):
        _require_current(corpus.folder.parent, corpus)
        active = {document.id: document for document in corpus.all_documents()}
        retired = {document.id: (document, when) for document, when in corpus.retired_documents()}
        _require_known(document_ids, retired.keys(), f"retired documents of {corpus.name} (documents --retired lists them)")
        for document_id in document_ids:
            active[document_id] = retired[document_id][0]
        meta = {**corpus.meta, RESTORED: json.dumps(sorted({*restored_ids(corpus), *document_ids}))}
        return _publish(corpus.folder.parent, corpus, active, retired, recipes=(recipe, *carry), meta=meta, report=report)


def retire_documents(corpus: Corpus, document_ids: Sequence[str], *, recipe: Recipe, report: Report, carry: Sequence[Recipe] = ()) -> Built:
    """Publishes a new generation without those documents: the way back for what was restored.

    A source that still names one brings it back with its next update, which its plan says. Raises NotFound, InvalidInput
    (nothing would be left), Busy, StoreError, ModelError, Cancelled.
    """
    _require_known(document_ids, {document.id for document in corpus.documents}, f"documents of {corpus.name}")
    return _without(corpus, document_ids, corpus.meta, recipes=(recipe, *carry), report=report)


def forget_sources(corpus: Corpus, origins: Sequence[str], *, recipe: Recipe, report: Report, carry: Sequence[Recipe] = ()) -> Built:
    """Publishes a new generation that those sources are none of, and whose documents are retired; an update does not read them again.

    Raises NotFound, InvalidInput (nothing would be left), Busy, StoreError, ModelError, Cancelled.
    """
    known = [name.removeprefix(SOURCE) for name in corpus.meta if name.startswith(SOURCE)]
    unknown = [origin for origin in origins if origin not in known]
    if unknown:
        raise NotFound(
            expected=f"sources of {corpus.name}: {', '.join(known)}",
            got=", ".join(map(shown, unknown)),
            remedy="Name one as status does, without its place.",
        )
    gone = {f"{prefix}{origin}" for prefix in (SOURCE, LISTED) for origin in origins}
    meta = {name: value for name, value in corpus.meta.items() if name not in gone}
    ids = [document.id for document in corpus.documents if document.origin in origins]
    return _without(corpus, ids, meta, recipes=(recipe, *carry), report=report)


def _without(corpus: Corpus, document_ids: Sequence[str], meta: Mapping[str, str], *, recipes: Sequence[Recipe], report: Report) -> Built:
    """Publishes the corpus with those documents retired."""
    now = _now()
    with write_lock(corpus.folder.parent, UPDATE_LOCK):
        _require_current(corpus.folder.parent, corpus)
        active = {document.id: document for document in corpus.all_documents()}
        retired = {document.id: (document, when) for document, when in corpus.retired_documents()}
        for document_id in dict.fromkeys(document_ids):
            retired[document_id] = (active.pop(document_id), now)
        if not active:
            raise InvalidInput(
                expected="at least one document to stay", got="all of them", remedy=f"To be rid of the corpus: delete {corpus.name}"
            )
        left = {**meta, RESTORED: json.dumps(sorted(set(restored_ids(corpus)) - set(document_ids)))}
        return _publish(corpus.folder.parent, corpus, active, retired, recipes=recipes, meta=left, report=report)


def _require_known(document_ids: Sequence[str], known: Collection[str], what: str) -> None:
    unknown = [document_id for document_id in document_ids if document_id not in known]
    if unknown:
        raise NotFound(
            expected=what, got=", ".join(map(shown, unknown[:5])), remedy="Check the names; they are the files' paths in their folder."
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _publish(
    corpus_dir: Path,
    corpus: Corpus | None,
    active: Mapping[str, Document],
    retired: Mapping[str, tuple[Document, str]],
    *,
    recipes: Sequence[Recipe],
    meta: Mapping[str, str],
    report: Report,
    check: Check | None = None,
) -> Built:
    """A new generation of those documents (a retired one that is active counts as active) with an index per recipe, the first one's first.

    The caller holds the corpus's write lock.
    """
    recipes = list({recipe.configuration.index_key: recipe for recipe in reversed(recipes)}.values())[::-1]
    documents = [active[document_id] for document_id in sorted(active)]
    gone = [retired[document_id] for document_id in sorted(retired.keys() - active.keys())]
    outdated = {configuration.index_key: configuration for configuration in index_configurations(corpus)}
    for recipe in recipes:
        outdated.pop(recipe.configuration.index_key, None)
    facts = {"published_at": _now(), OUTDATED: json.dumps([configuration.to_dict() for configuration in outdated.values()])}
    with new_generation(corpus_dir) as folder:
        write_corpus(folder / CORPUS_FILE, documents, retired=gone, meta={**meta, **facts})
        built = [
            _write_index(
                new_index_file(folder, recipe.configuration.index_key),
                documents,
                corpus_dir,
                recipe,
                _labelled(report, recipe, recipes),
                graph=wants_graph(recipe.configuration, corpus),
                carried=carried_over(corpus, documents, recipe),
            )
            for recipe in recipes
        ]
        if check:
            with contextlib.closing(Corpus(corpus_dir, folder.name)) as unpublished:
                check(unpublished)
        report("publish", 0, 1)
    with contextlib.suppress(Cancelled):  # too late: it is published
        report("publish", 1, 1)
    return replace(built[0], carried=tuple(built[1:]))


def _labelled(report: Report, recipe: Recipe, recipes: Sequence[Recipe]) -> Report:
    """The report with the index's name in the stage's where there are several."""
    if len(recipes) == 1:
        return report
    name = f"{recipe.configuration.slug} ({recipe.configuration.index_key})"
    return lambda stage, done, total: report(f"{stage}, {name}", done, total)


def index_configurations(corpus: Corpus | None) -> list[Configuration]:
    """What an update can carry: the configurations of the indexes that the corpus has, then of those that need building."""
    if corpus is None:
        return []
    infos = [info.configuration for info in corpus.indexes()]
    return [configuration for configuration in (*infos, *needs_building(corpus)) if configuration is not None]


def needs_building(corpus: Corpus) -> list[Configuration]:
    """The configurations that had an index before the last updates and have none now."""
    stored = [stored_configuration(values) for values in json.loads(corpus.meta.get(OUTDATED, "[]"))]
    return [configuration for configuration in stored if configuration is not None and not corpus.has_index(configuration.index_key)]


def chosen_to_carry(corpus: Corpus | None, keys: Sequence[str]) -> list[Configuration]:
    """The configurations of those index keys (`all` for every one), which the corpus has or had; raises NotFound."""
    known = {configuration.index_key: configuration for configuration in index_configurations(corpus)}
    if "all" in keys:
        return list(known.values())
    unknown = [key for key in keys if key not in known]
    if unknown:
        raise NotFound(
            expected=f"indexes of the corpus: {', '.join(f'{key} ({each.slug})' for key, each in known.items()) or 'it has none'}",
            got=", ".join(map(shown, unknown)),
            remedy="Choose from those, or all; an index that was never built: python -m sitt_core index --set …",
        )
    return [known[key] for key in dict.fromkeys(keys)]


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
    _require_there(corpus)
    with write_lock(corpus.folder, key):
        old, path = index_file(corpus.folder, key), new_index_file(corpus.folder, key)
        with new_file(path) as building:
            graph = wants_graph(recipe.configuration, corpus)
            built = _write_index(building, corpus.all_documents(), corpus.folder.parent, recipe, report, graph=graph)
            _require_there(corpus)
        if old is not None:
            old.unlink(missing_ok=True)
        return built


def _require_there(corpus: Corpus) -> None:
    """Raises Busy when the generation has been removed since it was opened: what is built in it would be lost."""
    if not (corpus.folder / CORPUS_FILE).is_file():
        raise Busy(
            expected=f"generation {corpus.generation} of {corpus.name} to be there",
            got="a newer one, or none",
            remedy="The corpus was updated, renamed or removed meanwhile. Run this again.",
        )


def wants_graph(configuration: Configuration, corpus: Corpus | None) -> bool:
    """Whether an index gets an HNSW graph however small it is: asked for, or there before (and then somebody searches it)."""
    return configuration.dense == "hnsw" or (corpus is not None and corpus.has_graph(configuration.index_key))


@dataclass(frozen=True, slots=True)
class Carried:
    """What the index of the generation before knows of documents that have not changed: nothing of it is worked out again."""

    chunks: Mapping[str, Sequence[Chunk]] = field(default_factory=dict)
    """By document id."""
    position: Mapping[str, int] = field(default_factory=dict)
    postings: Postings | None = None
    windowed: int = 0

    def places(self, chunks: Sequence[Chunk]) -> list[int]:
        """Where each chunk stands in the index before; -1 for those of other documents."""
        return [self.position[chunk.id] if chunk.document_id in self.chunks else -1 for chunk in chunks]


def carried_over(corpus: Corpus | None, documents: Sequence[Document], recipe: Recipe) -> Carried:
    """What can be taken from the corpus's index of the same key and fingerprint; nothing when there is none that can be read."""
    if corpus is None or not corpus.has_index(recipe.configuration.index_key):
        return Carried()
    try:
        index = corpus.index(recipe.configuration.index_key, fingerprint=recipe.fingerprint)
        chunks = index.all_chunks()
    except (FingerprintError, IndexMissing, StoreError):
        return Carried()
    now = {document.id: document.sha256 for document in documents}
    kept: dict[str, list[Chunk]] = {document.id: [] for document in corpus.documents if now.get(document.id) == document.sha256}
    gone = [chunk.embedded for chunk in chunks if chunk.document_id not in kept]
    for chunk in chunks:
        if chunk.document_id in kept:
            kept[chunk.document_id].append(chunk)
    return Carried(kept, index.position, index.postings, int(index.meta["windowed"]) - _count_windowed(gone, recipe.embedder))


def _count_windowed(texts: Sequence[str], embedder: Embedder) -> int:
    """How many texts are above the embedder's limit."""
    return sum(length > embedder.limit for length in embedder.count_tokens(texts)) if texts else 0


def _write_index(
    path: Path,
    documents: Sequence[Document],
    corpus_dir: Path,
    recipe: Recipe,
    report: Report,
    *,
    graph: bool,
    carried: Carried = Carried(),
) -> Built:
    """Everything from documents to a finished index file; with `graph` it holds one even below `GRAPH_CHUNKS`."""
    started = time.monotonic()
    chunks = _chunk_all(documents, recipe, corpus_dir, report, carried)
    texts, places = [chunk.embedded for chunk in chunks], carried.places(chunks)
    cache = _cache(corpus_dir, recipe.embedder)
    embedded = _embed_missing(texts, cache, recipe.embedder, report)
    vectors = cache.get([text_key(text) for text in texts]) if texts else np.zeros((0, recipe.embedder.dimension), np.float32)
    new = [text for text, place in zip(texts, places, strict=True) if place < 0]
    windowed = carried.windowed + _count_windowed(new, recipe.embedder)
    report("index words", 0, len(chunks))
    if carried.postings is None:
        postings = build_postings(texts, recipe.words)
    else:
        postings = extend_postings(carried.postings, places, texts, recipe.words)
    report("index words", len(chunks), len(chunks))
    meta = {
        **recipe.fingerprint,
        "configuration": json.dumps(recipe.configuration.to_dict()),
        "windowed": str(windowed),
        "built_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    report("write", 0, 1)
    write_index(path, chunks, vectors, postings, meta=meta)
    report("write", 1, 1)
    if graph or len(chunks) >= GRAPH_CHUNKS:
        report("graph", 0, 1)
        asked, said = recipe.configuration, [_said_in(chunk) for chunk in _spread(chunks, RECALL_SAMPLE)]
        queries = recipe.embedder.embed_queries(said) if said else vectors
        add_graph(path, vectors, queries, m=asked.hnsw_m, ef_construction=asked.hnsw_ef_construction, ef_search=asked.hnsw_ef_search)
        report("graph", 1, 1)
    seconds = time.monotonic() - started
    oversized = count_oversized(chunks, recipe.configuration)
    return Built(recipe.configuration.index_key, len(chunks), embedded, windowed, seconds, oversized=oversized)


def _spread(chunks: Sequence[Chunk], most: int) -> list[Chunk]:
    """At most that many of the chunks, evenly over all of them."""
    places = np.unique(np.linspace(0, len(chunks) - 1, min(most, len(chunks))).astype(int))
    return [chunks[place] for place in places]


def _said_in(chunk: Chunk) -> str:
    """The last sentence of a chunk: as long as a question, and near its subject as one is."""
    sentences = [chunk.text[start:end] for start, end in sentence_spans(chunk.text)]
    return next((said for said in reversed(sentences) if any(map(str.isalnum, said))), chunk.text)


def _chunk_all(documents: Sequence[Document], recipe: Recipe, corpus_dir: Path, report: Report, carried: Carried) -> list[Chunk]:
    cut = recipe.chunk
    if recipe.sentence_embedder is not None:
        new = [document for document in documents if document.id not in carried.chunks]
        cut = partial(cut, embed=_embed_sentences(new, corpus_dir, recipe.sentence_embedder, report))
    chunks: list[Chunk] = []
    for done, document in enumerate(documents):
        report("chunk", done, len(documents))
        chunks += carried.chunks[document.id] if document.id in carried.chunks else cut(document)
    report("chunk", len(documents), len(documents))
    return chunks


def _embed_sentences(documents: Sequence[Document], corpus_dir: Path, embedder: Embedder, report: Report) -> EmbedSentences:
    """The documents' sentences as vectors, each distinct one embedded once into the cache where the chunks' vectors are."""
    cache = _cache(corpus_dir, embedder)
    texts = [text for document in documents for text in sentence_texts(document)]
    _embed_missing(texts, cache, embedder, lambda _, done, total: report("embed sentences", done, total))
    return partial(_cached, cache)


def _cached(cache: VectorCache, texts: Sequence[str]) -> Matrix:
    return cache.get([text_key(text) for text in texts])


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
    """Chunks the corpus, looks its texts up in the vector cache, and times a sample of the others.

    Sentences that semantic chunking needs are looked up and sampled as well, not embedded: while any is missing, the
    chunks are counted as if the subject never changed within a section.
    """
    return _estimate(corpus.all_documents(), corpus.folder.parent, recipe)


def estimate_update(corpus: Corpus | None, corpus_dir: Path, updates: Sequence[Update], *, recipe: Recipe) -> Estimate:
    """What the recipe's index of the corpus will take once the updates have been carried out, as `estimate_build` counts it."""
    gone = {id_ for update in updates for id_ in (*update.plan.changed, *update.plan.removed)}
    documents = [document for document in corpus.all_documents() if document.id not in gone] if corpus else []
    for update in updates:
        fresh = {*update.plan.added, *update.plan.changed}
        documents += [document for document in update.listing.documents if document.id in fresh]
    return _estimate(documents, corpus_dir, recipe)


def _estimate(documents: Sequence[Document], corpus_dir: Path, recipe: Recipe) -> Estimate:
    started = time.monotonic()
    cut, sentences, seconds = recipe.chunk, 0, 0.0
    if recipe.sentence_embedder is not None:
        cache = _cache(corpus_dir, recipe.sentence_embedder)
        wanted = _missing([text for document in documents for text in sentence_texts(document)], cache)
        sentences, seconds = len(wanted), _seconds_to_embed(wanted, recipe.sentence_embedder)
        cut = partial(cut, embed=all_alike if wanted else partial(_cached, cache))
    texts = [chunk.embedded for document in documents for chunk in cut(document)]
    chunking = time.monotonic() - started
    missing = _missing(texts, _cache(corpus_dir, recipe.embedder))
    uncached = set(missing)
    seconds += 2 * chunking + _seconds_to_embed(missing, recipe.embedder)
    return Estimate(len(texts), sum(text not in uncached for text in texts), seconds, sentences)


def _seconds_to_embed(texts: Sequence[str], embedder: Embedder) -> float:
    """About how long those texts take: a sample of them is embedded."""
    sample = texts[:: max(1, len(texts) // SAMPLE)][:SAMPLE]
    if not sample:
        return 0.0
    started = time.monotonic()
    embedder.embed_passages(sample)
    return (time.monotonic() - started) / len(sample) * len(texts)

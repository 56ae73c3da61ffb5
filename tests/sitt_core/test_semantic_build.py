"""An index cut by vectors: sentences are embedded once, kept, estimated without embedding them, and part of what the index is."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from sitt_core import build, ingest
from sitt_core.build import Workshop
from sitt_core.chunking.chunks import VERSION, chunk
from sitt_core.chunking.semantic import sentence_texts
from sitt_core.configuration import configure
from sitt_core.errors import Cancelled, FingerprintError
from sitt_core.ingest import EMBED_BATCH, SAMPLE, Recipe
from sitt_core.settings import Settings
from sitt_core.store.reading import Corpus
from sitt_core.types import Document
from tests.fakes import corpora
from tests.fakes.embedder import HashEmbedder

SEMANTIC = configure({"chunking.strategy": "semantic", "chunking.breakpoint": 60})
SHARED = "Everybody at the inn knows the story. It is told every winter. Nobody believes it in summer."


def stories() -> list[Document]:
    """Documents with the same three sentences and five of their own each."""
    own = "\n\n".join(f"Number {number} came down the {{0}} road." for number in range(5))
    return [corpora.document(f"{name}.md", f"# {name}\n\n{SHARED}\n\n{own.format(name)}") for name in ("north", "south", "west")]


def recipe(sentences: HashEmbedder, embedder: HashEmbedder | None = None) -> Recipe:
    cut = partial(chunk, configuration=SEMANTIC, embed=sentences.embed_passages)
    return Recipe(SEMANTIC, embedder or HashEmbedder(), cut, str(VERSION), "english", sentences)


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return corpora.publish(tmp_path, stories())


def test_each_sentence_is_embedded_once(corpus: Corpus) -> None:
    """What two documents share is one sentence; a build that comes later embeds none, and cuts alike."""
    sentences = HashEmbedder(seed=1)
    ingest.build_index(corpus, recipe=recipe(sentences), report=corpora.silent)
    distinct = {text for document in stories() for text in sentence_texts(document)}
    assert len(distinct) == 3 + 3 * 5
    assert sorted(sentences.embedded) == sorted(distinct)
    later = HashEmbedder(seed=1)
    again = ingest.build_index(corpus, recipe=recipe(later), report=corpora.silent)
    assert (later.embedded, again.embedded) == ([], 0)
    assert corpus.all_documents()
    uncached = [each.id for document in corpus.all_documents() for each in recipe(later).chunk(document)]
    assert list(corpus.index(SEMANTIC.index_key, fingerprint=recipe(later).fingerprint).chunk_ids) == uncached
    assert len(uncached) > len(stories())


def test_the_index_names_whose_vectors_cut_it(corpus: Corpus) -> None:
    """An index whose sentences another model compared is refused; other strategies name none."""
    ingest.build_index(corpus, recipe=recipe(HashEmbedder(seed=1)), report=corpora.silent)
    with pytest.raises(FingerprintError, match="sentences"):
        corpus.index(SEMANTIC.index_key, fingerprint=recipe(HashEmbedder(seed=2)).fingerprint)
    assert "sentences" not in corpora.recipe().fingerprint


def test_an_estimate_samples_the_sentences(corpus: Corpus) -> None:
    """It says how many sentences have to be embedded first and counts the least chunks there can be; afterwards it counts exactly."""
    sentences = HashEmbedder(seed=1)
    before = ingest.estimate_build(corpus, recipe=recipe(sentences))
    assert before.sentences == 18
    assert len(sentences.embedded) <= SAMPLE < before.sentences
    built = ingest.build_index(corpus, recipe=recipe(sentences), report=corpora.silent)
    after = ingest.estimate_build(corpus, recipe=recipe(HashEmbedder(seed=1)))
    assert before.chunks < after.chunks == built.chunks == after.cached
    assert after.sentences == 0
    assert ingest.estimate_build(corpus, recipe=corpora.recipe()).sentences == 0


def test_a_stopped_build_keeps_its_sentences(tmp_path: Path) -> None:
    """Cancelled between two batches of sentences: the finished batch is never embedded again, and no index is there."""
    many = [corpora.document("many.md", " ".join(f"Sentence {number} is here." for number in range(2 * EMBED_BATCH)))]
    corpus = corpora.publish(tmp_path, many)

    def stop(stage: str, done: int, _total: int) -> None:
        if (stage, done) == ("embed sentences", EMBED_BATCH):
            raise Cancelled(expected="the build to finish", got="a request to stop", remedy="Start it again.")

    first, second = HashEmbedder(seed=1), HashEmbedder(seed=1)
    with pytest.raises(Cancelled):
        ingest.build_index(corpus, recipe=recipe(first), report=stop)
    assert not corpus.has_index(SEMANTIC.index_key)
    ingest.build_index(corpus, recipe=recipe(second), report=corpora.silent)
    assert len(first.embedded) == len(second.embedded) == EMBED_BATCH
    assert not set(first.embedded) & set(second.embedded)


def test_the_workshop_hands_over_the_chunking_embedder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`chunking.embedder` compares the sentences, averaging long ones, whatever embeds the index; other strategies load only that one."""
    loaded: list[tuple[str, str]] = []

    def embedder(_: Workshop, configuration: object) -> HashEmbedder:
        loaded.append((configuration["embedder"], configuration["overlong"]))  # type: ignore[index]
        return HashEmbedder(seed=len(loaded))

    monkeypatch.setattr(build.Workshop, "embedder", embedder)
    workshop = Workshop(Settings(tmp_path))
    changes = {"chunking.strategy": "semantic", "chunking.embedder": "static-minilm", "overlong": "truncate"}
    made = workshop.recipe(configure(changes), language="english")
    assert loaded == [("minilm", "truncate"), ("static-minilm", "windows")]
    assert made.sentence_embedder is not None
    assert (made.fingerprint["embedder"], made.fingerprint["sentences"]) == ("fake 1 (8)", "fake 2 (8)")
    (document,) = stories()[:1]
    assert made.chunk(document) == replace(made).chunk(document) != []
    loaded.clear()
    assert workshop.recipe(configure({}), language="english").sentence_embedder is None
    assert loaded == [("minilm", "windows")]

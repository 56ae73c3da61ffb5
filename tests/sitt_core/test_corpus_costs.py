"""What the Corpus page says an update takes and its vectors hold."""

from pathlib import Path

from sitt_core import ingest
from sitt_core.plan import plan_updates
from sitt_core.store.admin import cache_sizes
from sitt_core.store.reading import open_corpus
from tests.fakes import corpora
from tests.fakes.embedder import HashEmbedder


def test_an_update_is_estimated_for_what_there_will_be_afterwards(tmp_path: Path) -> None:
    """One tale changed, one gone, one new: 12 documents with 13 chunks of which the 2 new texts have no vector, and that is what the update embeds."""
    corpus = corpora.publish(tmp_path)
    kept = [tale for tale in corpora.tales() if tale.id not in ("moor.md", "ice.md")]
    found = corpora.listing(
        [*kept, corpora.document("moor.md", "# The moor hound\n\nIt was a calf."), corpora.document("fen.md", "# The fen light\n\nA lamp.")]
    )
    updates = plan_updates(corpus, [(found, found.origin)])
    plan = updates[0].plan
    assert (plan.added, plan.changed, plan.removed) == (("fen.md",), ("moor.md",), ("ice.md",))
    estimate = ingest.estimate_update(corpus, corpus.folder.parent, updates, recipe=corpora.recipe())
    assert (estimate.chunks, estimate.cached) == (13, 11)
    built = corpora.update(tmp_path, found, corpora.recipe())
    assert (built.chunks, built.embedded) == (13, 2)


def test_vector_caches_name_the_embedder_that_uses_them(tmp_path: Path) -> None:
    """A cache that an index was made from has that embedder's name, one of another embedder has none; sizes are the files'."""
    corpora.publish(tmp_path)
    corpus = open_corpus(tmp_path, corpora.NAME)
    other = ingest._cache(corpus.folder.parent, HashEmbedder(seed=7))
    other.append([b"0" * 32], HashEmbedder(seed=7).embed_queries(["a lake"]))
    sizes = cache_sizes(corpus)
    assert sorted(user for _, user in sizes.values()) == ["", "fake 0 (8)"]
    assert {name: size for name, (size, _) in sizes.items()} == {
        path.name: path.stat().st_size for path in (corpus.folder.parent / "vectors").glob("*.vectors")
    }

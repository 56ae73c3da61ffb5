import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core import ingest
from sitt_core.configuration import configure
from sitt_core.errors import Busy, Cancelled, ModelError, SourceError
from sitt_core.ingest import Carried, Recipe, apply_update, build_index, carried_over, estimate_build
from sitt_core.plan import Plan, plan_update, plan_updates
from sitt_core.store.layout import generations, index_file, write_lock
from sitt_core.store.reading import Corpus, open_corpus
from sitt_core.types import Chunk, Document, Failure, Listing
from tests.fakes import corpora
from tests.fakes.embedder import HashEmbedder

ROOT = Path(__file__).parents[2]


def text_of(paragraphs: int) -> str:
    return "# Long\n\n" + "\n\n".join(f"Paragraph {number} tells of creature {number} in the wood." for number in range(paragraphs))


def chunk_count(corpus: Corpus, recipe: Recipe) -> int:
    return len(corpus.index(recipe.configuration.index_key, fingerprint=recipe.fingerprint).chunk_ids)


def everything(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file below, with what would show that it was written."""
    return {str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.rglob("*") if path.is_file()}


def a_dozen() -> list[Document]:
    return corpora.tales()


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return corpora.publish(tmp_path)


def test_a_first_plan_adds_everything() -> None:
    """Without a corpus every document is new."""
    plan = plan_update(None, corpora.listing(a_dozen()))
    assert plan.added == tuple(sorted(document.id for document in a_dozen()))
    assert (plan.changed, plan.removed, plan.unchanged, plan.is_empty) == ((), (), (), False)


def test_a_plan_sorts_documents_by_what_happened_to_them(corpus: Corpus) -> None:
    """Added, changed by hash, removed, unchanged and failed, each document in one bucket, and nothing is written."""
    before = everything(corpus.folder.parent)
    kept, changed, _gone, broken, *rest = a_dozen()
    found = [kept, replace(changed, sha256="another"), *rest, corpora.document("new.md", "# New\n\nNew.")]
    failure = Failure(broken.id, "front matter")
    plan = plan_update(corpus, corpora.listing(found, failures=[failure]))
    assert plan == Plan(
        origin=corpora.ORIGIN,
        added=("new.md",),
        changed=(changed.id,),
        removed=(_gone.id,),
        unchanged=tuple(sorted(document.id for document in (kept, *rest))),
        failed=(failure,),
        free_removals=1,
        digest=plan.digest,
    )
    assert everything(corpus.folder.parent) == before


def test_an_unchanged_source_plans_nothing(corpus: Corpus) -> None:
    """The hash decides, not the time of reading or the order."""
    found = [replace(document, fetched_at="later") for document in reversed(a_dozen())]
    plan = plan_update(corpus, corpora.listing(found))
    assert plan.is_empty
    assert len(plan.unchanged) == len(found)


@given(
    stored=st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("12"), max_size=6),
    found=st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("12"), max_size=6),
    failed=st.sets(st.sampled_from("abcdef"), max_size=3),
    complete=st.booleans(),
)
def test_every_document_has_one_bucket(stored: dict[str, str], found: dict[str, str], failed: set[str], complete: bool) -> None:
    """The buckets are disjoint and together hold what was found and what is gone; only a listing that is whole, and not much shorter, removes."""
    base = corpora.document("x", "text")
    corpus = Corpus.__new__(Corpus)  # a plan reads nothing but the documents
    corpus.documents = tuple(replace(base, id=id_, sha256=sha256) for id_, sha256 in stored.items())  # type: ignore[assignment]
    documents = tuple(replace(base, id=id_, sha256=sha256) for id_, sha256 in found.items() if id_ not in failed)
    failures = tuple(Failure(id_, "broken") for id_ in sorted(failed))
    corpus.meta, corpus.generation = {}, "000001"
    plan = plan_update(corpus, Listing(corpora.ORIGIN, documents, failures, complete))
    buckets = [*plan.added, *plan.changed, *plan.removed, *plan.unchanged, *plan.withheld]
    assert len(set(buckets)) == len(buckets)
    gone = stored.keys() - found.keys() - failed
    named = len(found.keys() | failed)
    assert set(buckets) == (found.keys() - failed) | gone
    assert set(plan.removed) == (gone if complete and named and (named >= 0.8 * len(stored) or len(gone) == 1) else set())
    assert bool(plan.withheld) == bool(plan.why_withheld)


def test_the_same_source_three_times_gives_the_same_counts(tmp_path: Path) -> None:
    """Publishing again neither doubles a chunk nor embeds a text twice."""
    recipe = corpora.recipe(chunking__size=20)
    found = corpora.listing([corpora.document("long.md", text_of(17)), *a_dozen()])
    counts = set()
    for _ in range(3):
        built = corpora.update(tmp_path, found, recipe)
        corpus = open_corpus(tmp_path, corpora.NAME)
        counts.add((built.chunks, chunk_count(corpus, recipe), len(corpus.documents), len(corpus.retired_documents())))
    ((chunks, *_rest),) = counts
    assert chunks > len(found.documents)
    assert isinstance(recipe.embedder, HashEmbedder)
    assert len(recipe.embedder.embedded) == len(set(recipe.embedder.embedded))
    assert built.embedded == 0


def test_a_shortened_document_leaves_no_old_chunks(tmp_path: Path) -> None:
    """After it shrank, every chunk is a slice of the text as it is now."""
    recipe = corpora.recipe(chunking__size=20)
    corpora.update(tmp_path, corpora.listing([corpora.document("long.md", text_of(17))]), recipe)
    before = chunk_count(open_corpus(tmp_path, corpora.NAME), recipe)
    corpora.update(tmp_path, corpora.listing([corpora.document("long.md", text_of(5))]), recipe)
    corpus = open_corpus(tmp_path, corpora.NAME)
    index = corpus.index(recipe.configuration.index_key, fingerprint=recipe.fingerprint)
    chunks = index.chunks(range(len(index.chunk_ids)))
    assert 0 < len(chunks) < before
    assert all(corpus.document("long.md").text[chunk.start : chunk.end] == chunk.text for chunk in chunks)


def test_a_failed_document_stays_as_it_was(corpus: Corpus, tmp_path: Path) -> None:
    """A document that its source could not give is served as before, while the others move on."""
    broken, *others = a_dozen()
    found = [replace(document, text=document.text + " Really.", sha256="new") for document in others]
    corpora.update(tmp_path, corpora.listing(found, failures=[Failure(broken.id, "front matter")]), corpora.recipe())
    after = open_corpus(tmp_path, corpora.NAME)
    assert after.document(broken.id) == corpus.document(broken.id)
    assert after.document(others[0].id).text.endswith("Really.")
    assert after.retired_documents() == ()


def test_an_incomplete_listing_removes_nothing(corpus: Corpus, tmp_path: Path) -> None:
    """3 of 12 documents, or none at all, in a listing that is not whole retire nothing."""
    for found in (a_dozen()[:3], []):
        listing = corpora.listing(found, complete=False)
        assert plan_update(corpus, listing).removed == ()
        corpora.update(tmp_path, listing, corpora.recipe())
        assert len(open_corpus(tmp_path, corpora.NAME).documents) == len(a_dozen())


def test_a_removed_document_is_retired_and_may_return(corpus: Corpus, tmp_path: Path) -> None:
    """It is no longer found, its text is kept with the time, and when its source has it again it is active as before."""
    gone, *others = a_dozen()
    recipe = corpora.recipe()
    corpora.update(tmp_path, corpora.listing(others), recipe)
    corpora.update(tmp_path, corpora.listing([*others, corpora.document("new.md", "# New\n\nNew.")]), recipe)
    after = open_corpus(tmp_path, corpora.NAME)
    ((document, when),) = after.retired_documents()
    assert replace(document, fetched_at="") == gone
    assert when
    assert gone.id not in {info.id for info in after.documents}
    corpora.update(tmp_path, corpora.listing(a_dozen()), recipe)
    back = open_corpus(tmp_path, corpora.NAME)
    assert replace(back.document(gone.id), fetched_at="") == gone
    assert [document.id for document, _ in back.retired_documents()] == ["new.md"]


def test_a_second_source_leaves_the_first_alone(corpus: Corpus, tmp_path: Path) -> None:
    """Each source removes only what is its own."""
    recipe = corpora.recipe()
    notes = [corpora.document(f"{name}.md", f"# Note {name}\n\nMine.") for name in "ab"]
    for found in (notes, notes[:1]):
        listing = corpora.listing(found, origin="markdown:notes")
        corpora.update(tmp_path, listing, recipe)
        after = open_corpus(tmp_path, corpora.NAME)
        assert after.values("origin") == {corpora.ORIGIN: 12, "markdown:notes": len(found)}


def test_a_name_that_another_source_uses_is_refused(corpus: Corpus) -> None:
    """The error names the documents and what to do; neither source overwrites the other."""
    listing = corpora.listing(a_dozen()[:2], origin="markdown:other")
    with pytest.raises(SourceError, match=r"lake\.md, forest\.md.*--corpus NAME"):
        plan_update(corpus, listing)


def test_the_time_of_reading_is_that_of_the_last_change(corpus: Corpus, tmp_path: Path) -> None:
    """An unchanged document keeps its time; a source that knows when it fetched a document says so."""
    changed, fetched, *others = a_dozen()
    listing = corpora.listing([replace(changed, sha256="new"), replace(fetched, sha256="new", fetched_at="yesterday"), *others])
    corpora.update(tmp_path, listing, corpora.recipe())
    after = open_corpus(tmp_path, corpora.NAME)
    assert after.document(others[0].id) == corpus.document(others[0].id)
    assert after.document(changed.id).fetched_at not in ("", corpus.document(changed.id).fetched_at)
    assert after.document(fetched.id).fetched_at == "yesterday"


def test_an_embedder_that_is_down_publishes_nothing_and_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run 1 ends in a named error; run 2, with the source unchanged, indexes, and no text is embedded twice."""
    monkeypatch.setattr(ingest, "EMBED_BATCH", 4)
    embedder = HashEmbedder()
    embedder.down_after = 6
    found = corpora.listing(a_dozen())
    with pytest.raises(ModelError, match="the embedder to answer"):
        corpora.update(tmp_path, found, corpora.recipe(embedder))
    assert generations(tmp_path / corpora.NAME) == ()
    assert len(embedder.embedded) == 4
    embedder.down_after = None
    assert plan_update(None, found).added
    built = corpora.update(tmp_path, found, corpora.recipe(embedder))
    assert built.chunks == built.embedded + 4
    assert len(embedder.embedded) == len(set(embedder.embedded)) == built.chunks
    assert chunk_count(open_corpus(tmp_path, corpora.NAME), corpora.recipe()) == built.chunks


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda embedder: setattr(embedder, "nan_in", "serpent"), id="NaN for one text"),
        pytest.param(lambda embedder: setattr(embedder, "missing", 1), id="one vector short"),
        pytest.param(lambda embedder: setattr(embedder, "missing", 11), id="one vector for all"),
        pytest.param(lambda embedder: setattr(embedder, "dimension", 9), id="not of the dimension it states"),
    ],
)
def test_nonsense_from_an_embedder_is_kept_out(
    tmp_path: Path, spoil: Callable[[HashEmbedder], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a ModelError before anything is cached or published; what is served goes on, and a mended embedder builds."""
    monkeypatch.setattr(ingest, "EMBED_BATCH", 12)
    corpus = corpora.publish(tmp_path)
    found = corpora.listing([replace(document, text=document.text + " Now.", sha256="new") for document in a_dozen()])
    embedder = HashEmbedder()
    really = embedder._vectors

    def vectors_of_eight(texts: list[str]) -> object:
        embedder.dimension, stated = 8, embedder.dimension
        made = really(texts)
        embedder.dimension = stated
        return made

    monkeypatch.setattr(embedder, "_vectors", vectors_of_eight)
    spoil(embedder)
    cached = everything(tmp_path / corpora.NAME / "vectors")
    with pytest.raises(ModelError, match="vectors of length 1"):
        corpora.update(tmp_path, found, corpora.recipe(embedder))
    assert everything(tmp_path / corpora.NAME / "vectors") == cached
    assert generations(tmp_path / corpora.NAME) == (corpus.generation,)
    assert chunk_count(corpus, corpora.recipe()) > 0
    assert corpora.update(tmp_path, found, corpora.recipe()).embedded > 0


def test_a_cancelled_build_keeps_its_vectors_and_what_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped half way, the generation stays, and starting again embeds only the rest."""
    monkeypatch.setattr(ingest, "EMBED_BATCH", 2)
    corpus = corpora.publish(tmp_path)
    embedder = HashEmbedder(seed=5)

    def stop_half_way(stage: str, done: int, total: int) -> None:
        if stage == "embed" and done >= total // 2:
            raise Cancelled(expected="to finish", got="a request to stop", remedy="Start it again.")

    found = corpora.listing([*a_dozen(), corpora.document("new.md", "# New\n\nNew.")])
    recipe = corpora.recipe(embedder)
    with pytest.raises(Cancelled):
        corpora.update(tmp_path, found, recipe, report=stop_half_way)
    half = len(embedder.embedded)
    assert half > 0
    assert open_corpus(tmp_path, corpora.NAME).generation == corpus.generation
    assert sorted(path.name for path in corpus.folder.parent.glob(".building-*")) == []
    built = corpora.update(tmp_path, found, recipe)
    assert built.embedded == built.chunks - half
    assert len(embedder.embedded) == built.chunks


KILLED = """
import sys
from pathlib import Path
from sitt_core import ingest
from tests.fakes import corpora
from tests.fakes.embedder import HashEmbedder
ingest.EMBED_BATCH = 2
def wait_half_way(stage, done, total):
    if stage == "embed" and done >= total // 2:
        print(done, flush=True)
        sys.stdin.read()
corpora.update(Path(sys.argv[1]), corpora.listing(corpora.tales()), corpora.recipe(HashEmbedder(seed=5)), report=wait_half_way)
"""


def test_a_killed_build_harms_nothing_and_is_gone_on_with(tmp_path: Path) -> None:
    """After SIGKILL half way the served generation answers, the next run embeds only the rest and clears away what was left."""
    corpus = corpora.publish(tmp_path)
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        half = int(process.stdout.readline())
        process.kill()
    assert [path.name for path in corpus.folder.parent.glob(".building-*")] == [".building-000002"]
    assert open_corpus(tmp_path, corpora.NAME).generation == corpus.generation
    assert chunk_count(corpus, corpora.recipe()) > 0
    built = corpora.update(tmp_path, corpora.listing(a_dozen()), corpora.recipe(HashEmbedder(seed=5)))
    assert (built.embedded, half > 0) == (built.chunks - half, True)
    assert generations(corpus.folder.parent) == ("000001", "000002")
    assert list(corpus.folder.parent.glob(".building-*")) == []


@pytest.mark.parametrize("stage", ["chunk", "embed", "index words", "write"])
def test_a_build_can_be_stopped_at_every_stage(corpus: Corpus, stage: str) -> None:
    """Wherever an index build stops, the generation has the indexes it had and nothing half made."""

    def stop(at: str, _done: int, _total: int) -> None:
        if at == stage:
            raise Cancelled(expected="to finish", got="a request to stop", remedy="Start it again.")

    recipe = corpora.recipe(chunking__strategy="fixed")
    before = everything(corpus.folder)
    with pytest.raises(Cancelled):
        build_index(corpus, recipe=recipe, report=stop)
    after = {name: facts for name, facts in everything(corpus.folder).items() if not name.endswith(".lock")}
    assert after == before
    build_index(corpus, recipe=recipe, report=corpora.silent)
    assert chunk_count(corpus, recipe) > 0


def test_a_build_reports_every_stage_to_its_end(corpus: Corpus) -> None:
    """Each stage begins at nothing done, never goes back and ends with everything."""
    seen: dict[str, list[tuple[int, int]]] = {}
    build_index(corpus, recipe=corpora.recipe(chunking__size=30), report=lambda *at: seen.setdefault(at[0], []).append(at[1:]))
    assert list(seen) == ["chunk", "embed", "index words", "write"]
    for points in seen.values():
        assert points[0][0] == 0
        assert points == sorted(points)
        assert points[-1][0] == points[-1][1]


def test_an_estimate_counts_what_the_build_then_does(corpus: Corpus) -> None:
    """Chunks and cached vectors are those of the build that follows; estimating writes nothing and fills no cache."""
    embedder = HashEmbedder()
    recipe = corpora.recipe(embedder, chunking__size=18, chunking__overlap=0)
    before = everything(corpus.folder.parent)
    estimate = estimate_build(corpus, recipe=recipe)
    assert everything(corpus.folder.parent) == before
    assert len(embedder.embedded) <= ingest.SAMPLE
    built = build_index(corpus, recipe=recipe, report=corpora.silent)
    assert (estimate.chunks, estimate.chunks - estimate.cached) == (built.chunks, built.embedded)
    assert 0 < estimate.cached < estimate.chunks
    again = estimate_build(corpus, recipe=recipe)
    assert (again.chunks, again.cached) == (built.chunks, built.chunks)
    assert build_index(corpus, recipe=recipe, report=corpora.silent).embedded == 0


def test_equal_texts_are_embedded_once(tmp_path: Path) -> None:
    """A text in several documents costs one vector."""
    embedder = HashEmbedder()
    found = [corpora.document(f"{name}.md", "# Twin\n\nThe same tale.") for name in "abc"]
    built = corpora.update(tmp_path, corpora.listing(found), corpora.recipe(embedder))
    assert (built.chunks, built.embedded, len(embedder.embedded)) == (3, 1, 1)


def test_texts_above_the_limit_are_counted(tmp_path: Path) -> None:
    """The build says how many chunks were embedded in windows, and so does the index."""
    recipe = corpora.recipe(HashEmbedder(limit=20))
    built = corpora.update(tmp_path, corpora.listing([corpora.document("long.md", text_of(9)), *a_dozen()[3:]]), recipe)
    index = open_corpus(tmp_path, corpora.NAME).index(recipe.configuration.index_key, fingerprint=recipe.fingerprint)
    assert built.windowed == int(index.meta["windowed"])
    assert 0 < built.windowed < built.chunks


def test_a_rebuild_replaces_the_file(corpus: Corpus) -> None:
    """The new file has a new name and the old one is gone."""
    recipe = corpora.recipe()
    build_index(corpus, recipe=recipe, report=corpora.silent)
    path = index_file(corpus.folder, recipe.configuration.index_key)
    assert path is not None
    assert path.name.endswith(".2.duckdb")
    assert list(corpus.folder.glob("*.1.duckdb")) == []


def test_one_writer_at_a_time(corpus: Corpus, tmp_path: Path) -> None:
    """While another writes the same corpus or index, both ways of writing are Busy and harm nothing."""
    recipe = corpora.recipe()
    with write_lock(corpus.folder.parent, "update"), pytest.raises(Busy):
        corpora.update(tmp_path, corpora.listing(a_dozen()[:3]), recipe)
    with write_lock(corpus.folder, recipe.configuration.index_key), pytest.raises(Busy):
        build_index(corpus, recipe=recipe, report=corpora.silent)
    assert chunk_count(open_corpus(tmp_path, corpora.NAME), recipe) > 0


def test_an_update_planned_for_another_generation_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    """Two updates planned at the same time do not undo each other: the second is told to plan anew, and then both are there."""
    recipe = corpora.recipe()
    late = corpora.listing([corpora.document("late.md", "# Late\n\nLate.")], origin="markdown:late")
    updates = plan_updates(corpus, [(late, "late")])
    corpora.update(tmp_path, corpora.listing([corpora.document("early.md", "# Early\n\nEarly.")], origin="markdown:early"), recipe)
    with pytest.raises(Busy, match=r"\(000001\); got 000002.*again"):
        apply_update(corpus.folder.parent, corpus, updates, recipe=recipe, report=corpora.silent)
    with pytest.raises(Busy, match=r"\(none\)"):
        apply_update(corpus.folder.parent, None, updates, recipe=recipe, report=corpora.silent)
    corpora.update(tmp_path, late, recipe)
    assert set(open_corpus(tmp_path, corpora.NAME).values("origin")) == {corpora.ORIGIN, "markdown:early", "markdown:late"}


def test_switches_that_are_no_part_of_the_index_share_it(corpus: Corpus) -> None:
    """One index serves every retrieval configuration; each indexing one has its own."""
    key = configure({}).index_key
    for changes in ({"dense": "off"}, {"keyword": "rank-bm25"}, {"top_k": 9}, {"fusion.k": 1}, {"fusion.candidates": 99}):
        assert configure(changes).index_key == key
    for changes in ({"chunking.size": 499}, {"chunking.strategy": "fixed"}, {"chunking.header": "off"}, {"overlong": "truncate"}):
        assert configure(changes).index_key != key


class TestCarryingOver:
    def long_tales(self) -> list[Document]:
        return [corpora.document(f"{number}.md", f"# Tale {number}\n\n" + "word " * (number + 1)) for number in range(12)]

    def test_an_update_works_out_only_what_changed(self, tmp_path: Path) -> None:
        """Documents that are as they were are neither cut, tokenized by the embedder nor embedded again."""
        embedder = HashEmbedder()
        made_from = corpora.recipe(embedder)
        corpora.publish(tmp_path, self.long_tales(), made_from=made_from)
        found = [corpora.document("3.md", "# Tale 3\n\nAnother ending."), *(each for each in self.long_tales() if each.id != "3.md")]
        cut: list[str] = []
        counted: list[str] = []

        def cutting(document: Document, **options: object) -> list[Chunk]:
            cut.append(document.id)
            return made_from.chunk(document, **options)

        count_tokens = embedder.count_tokens
        embedder.embedded.clear()
        embedder.count_tokens = lambda texts: counted.extend(texts) or count_tokens(texts)  # type: ignore[method-assign, func-returns-value]
        corpora.update(tmp_path, corpora.listing(found), replace(made_from, chunk=cutting))
        assert cut == ["3.md"]
        assert len(embedder.embedded) == 1
        assert len(counted) == 2  # the text that came, and the one that went

    def test_what_is_carried_over_is_what_would_be_made(self, tmp_path: Path) -> None:
        """After updates that add, change, retitle and remove, the index is the one that a corpus made at once has, windowed texts and all."""
        embedder = HashEmbedder(limit=8)
        made_from = corpora.recipe(embedder)
        first = self.long_tales()
        corpora.publish(tmp_path, first, made_from=made_from)
        second = [
            *first[1:7],
            corpora.document("7.md", "# Another title\n\n" + "word " * 8),
            corpora.document("0a.md", "# New\n\n" + "word " * 20),
        ]
        corpora.update(tmp_path, corpora.listing([*second, *first[8:]]), made_from)
        updated = open_corpus(tmp_path, corpora.NAME)
        at_once = corpora.publish(tmp_path / "other", [*second, *first[8:]], made_from=made_from)
        key, fingerprint = made_from.configuration.index_key, made_from.fingerprint
        one, other = updated.index(key, fingerprint=fingerprint), at_once.index(key, fingerprint=fingerprint)
        assert one.all_chunks() == other.all_chunks()
        assert np.array_equal(one.vectors, other.vectors)
        assert one.meta["windowed"] == other.meta["windowed"] != "0"
        assert dict(one.postings.terms) == dict(other.postings.terms)
        for name in ("starts", "chunks", "counts", "weights", "lengths"):
            assert np.array_equal(getattr(one.postings, name), getattr(other.postings, name))

    def test_another_fingerprint_carries_nothing(self, tmp_path: Path) -> None:
        """With another embedder or chunker everything is made anew, and a damaged index is no hindrance."""
        made_from = corpora.recipe(HashEmbedder())
        corpus = corpora.publish(tmp_path, made_from=made_from)
        found = corpus.all_documents()
        assert len(carried_over(corpus, found, made_from).chunks) == len(found)
        assert carried_over(corpus, found, corpora.recipe(HashEmbedder(seed=3))) == Carried()
        assert carried_over(corpus, found, replace(made_from, chunker_version="another")) == Carried()
        assert carried_over(None, found, made_from) == Carried()
        path = index_file(corpus.folder, made_from.configuration.index_key)
        assert path is not None
        path.write_bytes(b"damaged")
        assert carried_over(open_corpus(tmp_path, corpora.NAME), found, made_from) == Carried()

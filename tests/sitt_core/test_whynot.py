from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitt_core.errors import InvalidInput, NotFound
from sitt_core.pipeline import Engine, search
from sitt_core.store.reading import Corpus
from sitt_core.types import Filters
from sitt_core.whynot import Explanation, Fate, explain_document, explain_quote
from tests.fakes import corpora

QUESTION = "A hairy giant left footprints beside the river"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """The tales, which no test of this module writes to."""
    return corpora.publish(tmp_path_factory.mktemp("store"))


def engine(corpus: Corpus, **changes: object) -> Engine:
    return corpora.engine(corpus, corpora.recipe(**changes))


def document(made: Engine, document_id: str, question: str = QUESTION, filters: Filters | None = None) -> Explanation:
    return explain_document(search(question, made, filters=filters), made, document_id=document_id, filters=filters)


def quote(made: Engine, words: str, question: str = QUESTION, filters: Filters | None = None) -> Explanation:
    return explain_quote(search(question, made, filters=filters), made, quote=words, filters=filters)


def stages(fate: Fate) -> list[tuple[str, int | None, bool]]:
    return [(standing.stage, standing.rank, standing.passed) for standing in fate.standings]


@given(
    question=st.sampled_from([QUESTION, "red eyes on the bridge", "the of", "black hound", "zzyzx", "a cold lake of iron traps"]),
    candidates=st.integers(1, 14),
    top_k=st.integers(1, 14),
    off=st.sampled_from([{}, {"fusion": "convex"}, {"dense": "off"}, {"keyword": "off"}, {"keyword": "rank-bm25"}]),
    category=st.sampled_from([(), ("hominid",), ("canine", "winged")]),
)
@settings(max_examples=40)
def test_it_agrees_with_the_search(
    corpus: Corpus, question: str, candidates: int, top_k: int, off: dict[str, object], category: tuple[str, ...]
) -> None:
    """A chunk is said to be shown at a rank exactly when the search shows it there, and its ranks are those of the trace."""
    made = engine(corpus, fusion__candidates=candidates, top_k=min(top_k, candidates), **off)
    filters = Filters(category)
    result = search(question, made, filters=filters)
    shown = {each.chunk.id: passage.rank for passage in result.passages for each in (passage, *passage.twins)}
    traced = {name: stage.hits for name in ("dense", "keyword", "fusion") if (stage := result.trace.stage(name))}
    told = {}
    for info in corpus.documents:
        for fate in explain_document(result, made, document_id=info.id, filters=filters).fates:
            told[fate.chunk.id] = fate.shown_at
            assert fate.sentence.startswith("the filter leaves it out") is bool(category and info.category not in category)
            for stage, hits in traced.items():
                standing = fate.standing("fused" if stage == "fusion" else stage)
                if not fate.excluded and standing is not None:
                    assert standing.passed is (fate.chunk.id in [hit.chunk_id for hit in hits])
                    if standing.passed:
                        hit = hits[standing.rank - 1]  # type: ignore[operator]
                        assert (hit.chunk_id, hit.score) == (fate.chunk.id, standing.score)
                        assert standing.last_score == hits[-1].score
    assert told.keys() == set(made.index.chunk_ids)
    assert {chunk_id: rank for chunk_id, rank in told.items() if rank} == shown


def test_a_shown_document_says_its_ranks(corpus: Corpus) -> None:
    """The rank it is shown at and how each retriever sees it, over all chunks."""
    made = engine(corpus)
    size = len(made.index.chunk_ids)
    found = document(made, "forest.md")
    best = found.fates[0]
    dense, keyword = best.standing("dense"), best.standing("keyword")
    assert best.shown_at == 1
    assert dense is not None
    assert dense.ranked == size
    assert keyword is not None
    assert (keyword.rank, keyword.ranked) == (1, 2)
    assert found.sentence.startswith("The forest giant, its only chunk: shown at rank 1; dense ranks it ")
    assert found.sentence.endswith("keyword ranks it 1st of 2.")


def test_lost_before_the_fusion(corpus: Corpus) -> None:
    """Beyond the candidates of one retriever and unmatched by the other: the sentence says both, with the scores."""
    made = engine(corpus, fusion__candidates=2, top_k=2)
    result = search(QUESTION, made)
    dense = result.trace.stage("dense")
    assert dense is not None
    worst = max((document(made, info.id).fates[0] for info in corpus.documents), key=lambda fate: fate.standing("dense").rank or 0)  # type: ignore[union-attr]
    last = worst.standing("dense")
    assert last is not None
    assert (last.goes_on, last.last_score, last.passed) == (2, dense.hits[-1].score, False)
    assert stages(worst)[2:] == [("fused", None, False), ("merged", None, False), ("shown", None, False)]
    assert worst.sentence.startswith(f"no retriever hands it over; dense ranks it {last.rank}th of {last.ranked}, below the 2 candidates (")
    assert worst.sentence.endswith("keyword does not match: it shares no word with the question.")


def test_lost_at_the_final_cut(corpus: Corpus) -> None:
    """Fused, but below the passages that are shown: its rank there, and its score beside that of the last."""
    made = engine(corpus, top_k=1)
    found = document(made, "ice.md")
    final = found.fates[0].standings[-1]
    assert final.rank is not None
    assert (final.stage, final.goes_on, final.passed) == ("shown", 1, False)
    assert final.score is not None
    assert final.last_score is not None
    assert final.score < final.last_score
    assert f"lost at the final cut, {final.rank}" in found.sentence
    assert f"where 1 are shown: {final.score:.4f} against {final.last_score:.4f} of the last" in found.sentence


@pytest.mark.parametrize(
    ("question", "changes", "said"),
    [
        pytest.param(
            "hound", {"dense": "off"}, "keyword does not match: it shares no word with the question; dense is off", id="dense off"
        ),
        pytest.param("of the", {"dense": "off"}, "the question has no searchable word", id="no word"),
        pytest.param("hound", {"keyword": "off", "fusion__candidates": 1, "top_k": 1}, "keyword is off", id="keyword off"),
    ],
)
def test_a_retriever_that_took_no_part_is_named(corpus: Corpus, question: str, changes: dict[str, object], said: str) -> None:
    """Off, or without a word to look for."""
    assert said in document(engine(corpus, **changes), "desert.md", question).sentence


def test_a_filter_that_leaves_it_out_is_said_first(corpus: Corpus) -> None:
    """With what the filter wants and what the document has, and what would be without the filter."""
    found = document(engine(corpus), "forest.md", filters=Filters(category=("winged", "canine"), region=("Americas",)))
    assert "the filter leaves it out (category winged or canine, and it has hominid). Without the filter: shown at rank 1" in found.sentence
    assert (found.fates[0].shown_at, found.fates[0].excluded) == (None, True)
    assert found.fates[0].standing("dense") is not None


def test_the_best_chunk_comes_first(corpus: Corpus) -> None:
    """A document of several chunks is told by the one that came farthest."""
    found = document(engine(corpus), "lake.md", "iron traps of fishermen")
    assert len(found.fates) > 1
    assert "traps of iron" in found.fates[0].chunk.text
    assert f"the best of its {len(found.fates)} chunks" in found.sentence
    ranks = [fate.shown_at or 99 for fate in found.fates]
    assert ranks == sorted(ranks)


def test_an_unknown_document_is_a_named_error(corpus: Corpus) -> None:
    """Not in the corpus: named."""
    with pytest.raises(NotFound, match=r"a document of tales"):
        document(engine(corpus), "nessie.md")


def test_the_same_text_elsewhere_is_shown_with_it(tmp_path: Path) -> None:
    """A chunk whose text stands for another document is told so, at the rank of the passage they share."""
    twin = "# Twin\n\nThe very same tale of a giant."
    found = [corpora.document(name, twin) for name in ("a.md", "b.md")] + corpora.tales()
    made = engine(corpora.publish(tmp_path, found))
    result = search("the very same tale of a giant", made)
    (other,) = result.passages[0].twins
    told = explain_document(result, made, document_id=other.chunk.document_id)
    assert told.fates[0].shown_at == 1
    assert "shown at rank 1 as the same text in Twin" in told.sentence


def test_a_quotation_is_followed_into_its_chunk(corpus: Corpus) -> None:
    """Word for word, in which document, and what became of the chunk that holds it."""
    found = quote(engine(corpus), "hairy giant left footprints")
    assert found.sentence.startswith("It is found word for word in The forest giant: shown at rank 1;")
    assert [fate.chunk.document_id for fate in found.fates] == ["forest.md"]


def test_a_quotation_is_found_with_typography_aside(corpus: Corpus) -> None:
    """Case, line ends and dashes do not hide it, and the answer says that they were put aside."""
    found = quote(engine(corpus), "A HAIRY\n giant “left")
    assert "in no document" in found.sentence
    found = quote(engine(corpus), "A HAIRY\n giant   LEFT")
    assert found.sentence.startswith("It is found with case, white space and typography aside in The forest giant")


def test_a_quotation_in_several_documents_is_told_by_the_best(corpus: Corpus) -> None:
    """All chunks that hold it, the shown ones first."""
    found = quote(engine(corpus), "giant")
    assert {fate.chunk.document_id for fate in found.fates} == {"forest.md", "ice.md"}
    assert "and 1 more document, the best of 2 chunks that hold it: shown at rank 1" in found.sentence


def test_a_quotation_across_a_boundary_is_said_to_be(tmp_path: Path) -> None:
    """No chunk holds it whole: the fates are those of the parts, with how much the nearest holds."""
    text = "# Tale\n\n" + " ".join(f"word{at} says that." for at in range(30))
    recipe = corpora.recipe(chunking__strategy="fixed", chunking__size=20, chunking__overlap=0)
    made = corpora.engine(corpora.publish(tmp_path, [corpora.document("tale.md", text), *corpora.tales()], made_from=recipe), recipe)
    index = [chunk for chunk in made.index.chunks(range(len(made.index.chunk_ids))) if chunk.document_id == "tale.md"]
    cut = index[1].start
    canonical = made.corpus.document("tale.md").text
    found = explain_quote(search("word3", made), made, quote=canonical[cut - 12 : cut + 6])
    assert "no chunk holds it whole: it lies across a boundary" in found.sentence
    assert [fate.chunk.id for fate in sorted(found.fates, key=lambda fate: fate.chunk.start)] == [index[0].id, index[1].id]
    assert "% of it: " in found.sentence


def test_a_quotation_that_is_nowhere_is_said_to_be(corpus: Corpus) -> None:
    """No fates, and how it was looked for."""
    found = quote(engine(corpus), "a plesiosaur in Leicester")
    assert found.fates == ()
    assert found.sentence.startswith("These words are in no document of tales")


def test_a_quotation_without_words_is_a_named_error(corpus: Corpus) -> None:
    """Nothing to look for."""
    with pytest.raises(InvalidInput, match="a quotation with a letter or digit"):
        quote(engine(corpus), "  …")


def test_a_document_without_text_says_so(tmp_path: Path) -> None:
    """It has no chunk that a retriever could rank."""
    found = [replace(corpora.document("a.md", "x"), title="Empty", text="", sections=(), blocks=()), *corpora.tales()]
    made = engine(corpora.publish(tmp_path, found))
    assert document(made, "a.md").sentence == "Empty has no text that could be cut into chunks."


def test_what_an_approximate_search_missed_is_said(corpus: Corpus) -> None:
    """A chunk that ranks among the candidates but was not found is told so."""
    made = engine(corpus, keyword="off")
    result = search(QUESTION, made)
    gone = result.passages[0].chunk
    stages = tuple(replace(stage, hits=stage.hits[1:]) if stage.name == "dense" else stage for stage in result.trace.stages)
    told = explain_document(replace(result, trace=replace(result.trace, stages=stages)), made, document_id=gone.document_id)
    fate = next(fate for fate in told.fates if fate.chunk.id == gone.id)
    assert "dense ranks it 1st of 13, but the approximate search (HNSW) did not find it" in fate.sentence

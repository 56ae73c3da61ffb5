from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitt_core.errors import InvalidInput
from sitt_core.pipeline import search
from sitt_core.retrieval.words import tokenize
from sitt_core.store.reading import Corpus
from sitt_core.types import Filters, Hit, Passage, Retrieval
from tests.fakes import corpora
from tests.fakes.embedder import HashEmbedder

QUESTION = "Which giant left footprints?"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """The tales, which no test of this module writes to."""
    return corpora.publish(tmp_path_factory.mktemp("store"))


def ask(corpus: Corpus, question: str = QUESTION, *, filters: Filters | None = None, **changes: object) -> Retrieval:
    return search(question, corpora.engine(corpus, corpora.recipe(**changes)), filters=filters)


def places(result: Retrieval) -> list[str]:
    return [passage.chunk.document_id for passage in result.passages]


def stages(result: Retrieval) -> list[str]:
    return [stage.name for stage in result.trace.stages]


def test_a_hybrid_search_shows_every_stage(corpus: Corpus) -> None:
    """Embedding, both rankings, their fusion and the passages, each with what went in and what came out."""
    result = ask(corpus, top_k=4)
    assert stages(result) == ["embed", "dense", "keyword", "fusion", "passages"]
    embed, dense, keyword, fusion, passages = result.trace.stages
    size = len(corpora.engine(corpus).index.chunk_ids)
    assert (embed.taken, embed.hits) == (1, ())
    assert (dense.taken, len(dense.hits)) == (size, size)
    assert keyword.taken == size
    assert 0 < len(keyword.hits) < size
    assert (fusion.taken, len(fusion.hits)) == (len(dense.hits) + len(keyword.hits), size)
    assert (passages.taken, len(passages.hits)) == (size, 4)
    assert all(0 <= stage.started <= stage.started + stage.milliseconds <= result.trace.milliseconds for stage in result.trace.stages)
    assert result.trace.stage("keyword") is keyword
    assert result.trace.stage("rerank") is None
    assert result.question == QUESTION


def test_every_hit_says_which_stage_put_it_where(corpus: Corpus) -> None:
    """Ranks are places in the stages' own lists, scores those that the stages gave, and the fused score is Σ 1 / (60 + rank)."""
    result = ask(corpus, top_k=10)
    rankings = {name: stage.hits for name in ("dense", "keyword", "fusion") if (stage := result.trace.stage(name))}
    for passage in result.passages:
        hit = passage.hit
        for name, listed in (("dense", "dense"), ("keyword", "keyword"), ("fused", "fusion")):
            if name in hit.ranks:
                there = rankings[listed][hit.ranks[name] - 1]
                assert there.chunk_id == passage.chunk.id
                assert hit.scores[name] == there.score
        assert hit.score == pytest.approx(sum(1 / (60 + hit.ranks[name]) for name in ("dense", "keyword") if name in hit.ranks))
    assert {"dense", "keyword", "fused"} == result.passages[0].hit.ranks.keys()


def test_the_displayed_order_is_the_fused_order(corpus: Corpus) -> None:
    """Passages come in the order of fusion, whose scores never rise, though the retrievers' scales differ widely."""
    result = ask(corpus, top_k=12)
    fusion = result.trace.stage("fusion")
    assert fusion is not None
    assert [passage.chunk.id for passage in result.passages] == [hit.chunk_id for hit in fusion.hits[:12]]
    scores = [passage.hit.score for passage in result.passages]
    assert scores == sorted(scores, reverse=True)
    assert [passage.rank for passage in result.passages] == list(range(1, 13))


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_convex_fusion_is_what_ran(corpus: Corpus, alpha: float) -> None:
    """The trace says so with both weights, and every fused score is the weighted sum of scores stretched over 0 to 1."""
    result = ask(corpus, top_k=12, fusion="convex", fusion__alpha=alpha)
    fusion = result.trace.stage("fusion")
    assert fusion is not None
    assert fusion.note == f"convex sum of scores from 0 to 1, dense {alpha:g}, keyword {1 - alpha:g}"
    ends = {name: (stage.hits[-1].score, stage.hits[0].score) for name in ("dense", "keyword") if (stage := result.trace.stage(name))}
    for hit in fusion.hits:
        shares = {name: (hit.scores[name] - low) / (high - low) for name, (low, high) in ends.items() if name in hit.scores}
        assert hit.score == pytest.approx(alpha * shares.get("dense", 0) + (1 - alpha) * shares.get("keyword", 0))
    assert [passage.chunk.id for passage in result.passages] == [hit.chunk_id for hit in fusion.hits[:12]]


def test_convex_fusion_drops_the_weight_of_a_leg_that_found_nothing(corpus: Corpus) -> None:
    """Its passages are those of dense alone, from 1 down to 0, and the trace names the leg."""
    result = ask(corpus, "zzyzx qwfp", fusion="convex", fusion__alpha=0.2, top_k=12)
    fusion = result.trace.stage("fusion")
    assert fusion is not None
    assert fusion.note == "convex sum of scores from 0 to 1; keyword found nothing and has no weight"
    assert (fusion.hits[0].score, fusion.hits[-1].score) == (1.0, 0.0)
    assert places(result) == places(ask(corpus, "zzyzx qwfp", keyword="off", top_k=12))


@pytest.mark.parametrize("scorer", ["bm25s", "rank-bm25"])
def test_keyword_alone_embeds_nothing(corpus: Corpus, scorer: str) -> None:
    """With dense off only the passages that share a word are there, and no embedder is asked."""
    embedder = HashEmbedder()
    recipe = corpora.recipe(embedder, dense="off", keyword=scorer)
    result = search("giant footprints", corpora.engine(corpus, recipe))
    assert stages(result) == ["keyword", "passages"]
    assert set(places(result)) == {"forest.md", "ice.md"}
    assert (embedder.asked, embedder.embedded) == ([], [])
    assert all(set(tokenize(passage.chunk.embedded)) & {"giant", "footprint"} for passage in result.passages)


def test_dense_alone_is_a_list_by_cosine(corpus: Corpus) -> None:
    """With keyword off the score is the cosine and fusion does not run."""
    result = ask(corpus, keyword="off")
    assert stages(result) == ["embed", "dense", "passages"]
    query = HashEmbedder().embed_queries([QUESTION])[0]
    for passage in result.passages:
        assert passage.hit.score == pytest.approx(float(HashEmbedder().embed_passages([passage.chunk.embedded])[0] @ query), abs=1e-5)
        assert passage.hit.ranks == {"dense": passage.rank}


def test_neither_retriever_is_a_named_error(corpus: Corpus) -> None:
    """Nothing to rank by: refused with the values that would help."""
    with pytest.raises(InvalidInput, match=r"dense=exact, or keyword=bm25s or rank-bm25"):
        ask(corpus, dense="off", keyword="off")


@pytest.mark.parametrize(
    ("question", "named"),
    [
        pytest.param("", "white space", id="empty"),
        pytest.param(" \n\t\u2003", "white space", id="blank"),
        pytest.param("?!… —", "only punctuation", id="punctuation"),
        pytest.param("🦕🦕", "only punctuation", id="emoji"),
        pytest.param("a" * 4001, r"4,001 characters", id="too long"),
        pytest.param("a\x00b", "a NUL character", id="NUL"),
        pytest.param("a\ud800", "a lone surrogate", id="surrogate"),
    ],
)
def test_a_question_that_cannot_be_asked_costs_nothing(corpus: Corpus, question: str, named: str) -> None:
    """It is named, and neither embedder nor store is touched."""
    embedder = HashEmbedder()
    engine = corpora.engine(corpus, corpora.recipe(embedder))
    with pytest.raises(InvalidInput, match=named):
        search(question, engine)
    assert embedder.asked == []


def test_a_filter_that_cannot_be_used_costs_nothing(corpus: Corpus) -> None:
    """An unknown value is named before the question is embedded."""
    embedder = HashEmbedder()
    with pytest.raises(InvalidInput, match="category to be one of"):
        search(QUESTION, corpora.engine(corpus, corpora.recipe(embedder)), filters=Filters(category=("plant",)))
    assert embedder.asked == []


@pytest.mark.parametrize(
    "question",
    [
        pytest.param("a" * 4000, id="as long as may be"),
        pytest.param("what is <|endoftext|>?", id="looks like a special token"),
        pytest.param("'; DROP TABLE chunks; --", id="SQL"),
        pytest.param("怪物 кассовый Storsjöodjuret", id="other scripts"),
        pytest.param("7", id="a digit"),
        pytest.param("\ufeff giant\u200b \U0001f47d", id="invisible characters"),
    ],
)
def test_an_unusual_question_is_only_a_question(corpus: Corpus, question: str) -> None:
    """It is answered as any other."""
    assert len(ask(corpus, question).passages) == 5


def test_a_question_is_asked_without_the_white_space_around_it(corpus: Corpus) -> None:
    """Padding changes nothing."""
    assert ask(corpus, f"\n  {QUESTION} \t").passages == ask(corpus).passages


def test_more_than_there_is_gives_all_and_says_so(corpus: Corpus) -> None:
    """K above the number of chunks shows every chunk, with a notice."""
    result = ask(corpus, top_k=50)
    size = len(corpora.engine(corpus).index.chunk_ids)
    assert len(result.passages) == size
    assert result.trace.notices == (f"Top K is 50, but only {size} chunks can be searched: they are all here.",)


def test_all_within_a_filter_is_said_too(corpus: Corpus) -> None:
    """The number is that of the chunks that pass the filter."""
    result = ask(corpus, "a black hound", filters=Filters(category=("canine",)))
    assert sorted(places(result)) == ["moor.md", "orchard.md"]
    assert result.trace.notices == ("Top K is 5, but only 2 chunks can be searched: they are all here.",)


def test_fewer_matches_than_k_are_not_called_all(corpus: Corpus) -> None:
    """Keyword search alone that finds 2 says so, whether or not K exceeds the number of chunks."""
    for top_k in (5, 50):
        result = ask(corpus, "giant footprints", dense="off", top_k=top_k)
        assert result.trace.notices == (f"2 of {top_k} passages: nothing else was found by the retrievers that are on.",)


@pytest.mark.parametrize(
    ("question", "note"),
    [
        pytest.param("Of the and?", "no searchable word in the question", id="stop words"),
        pytest.param("zzyzx qwfp", "nowhere in the corpus: zzyzx, qwfp", id="unknown words"),
    ],
)
def test_keyword_search_that_does_not_apply_is_reported(corpus: Corpus, question: str, note: str) -> None:
    """The dense side answers alone, in its own order, and a notice says that keyword search took no part."""
    result = ask(corpus, question)
    assert result.trace.notices == (f"Keyword search found nothing ({_keyword_note(result)}); it took no part.",)
    assert note in result.trace.notices[0]
    assert [passage.chunk.id for passage in result.passages] == [
        passage.chunk.id for passage in ask(corpus, question, keyword="off").passages
    ]
    assert ask(corpus, question, dense="off").passages == ()


def _keyword_note(result: Retrieval) -> str:
    stage = result.trace.stage("keyword")
    assert stage is not None
    return stage.note


@pytest.mark.parametrize("changes", [{}, {"keyword": "off"}, {"dense": "off"}, {"keyword": "rank-bm25"}], ids=str)
def test_filters_that_leave_nothing_give_nothing(corpus: Corpus, changes: dict[str, object]) -> None:
    """No passage and a notice, whichever retriever is on."""
    result = ask(corpus, filters=Filters(category=("canine",), region=("Asia",)), **changes)
    assert result.passages == ()
    assert "No chunk passes the filters." in result.trace.notices


@pytest.mark.parametrize("changes", [{}, {"keyword": "off"}, {"dense": "off"}, {"keyword": "rank-bm25"}], ids=str)
@pytest.mark.parametrize("texts", [(), ("the of and",), ("The",)], ids=["no document", "only stop words", "one word"])
def test_a_corpus_without_words_does_not_fail(tmp_path: Path, texts: tuple[str, ...], changes: dict[str, object]) -> None:
    """No documents, or only stop words: keyword search finds nothing, the dense side still answers."""
    found = [replace(corpora.document(f"{at}.md", text), title="") for at, text in enumerate(texts)]
    recipe = corpora.recipe(chunking__header="off", **changes)
    corpus = corpora.publish(tmp_path, found, made_from=recipe)
    result = search("What is it?", corpora.engine(corpus, recipe))
    assert len(result.passages) == (len(texts) if recipe.configuration.dense != "off" else 0)


def test_a_word_of_one_of_two_documents_is_found(tmp_path: Path) -> None:
    """Where BM25Okapi gives a word of half the documents no score, the document that holds it is found all the same."""
    found = [corpora.document("a.md", "# A\n\nA kelpie."), corpora.document("b.md", "# B\n\nA selkie.")]
    corpus = corpora.publish(tmp_path, found)
    for scorer in ("bm25s", "rank-bm25"):
        assert places(ask(corpus, "kelpie", dense="off", keyword=scorer)) == ["a.md"]


def test_equal_texts_are_one_passage_with_every_source(tmp_path: Path) -> None:
    """Twins take one place, count for each of their documents, carry each source, and leave the places to others."""
    twin = "# Twin\n\nThe very same tale of a giant."
    found = [corpora.document(name, twin) for name in ("a.md", "b.md", "c.md")] + corpora.tales()
    corpus = corpora.publish(tmp_path, found)
    result = ask(corpus, "the very same tale of a giant", top_k=5)
    first = result.passages[0]
    assert sorted(first.document_ids) == ["a.md", "b.md", "c.md"]
    assert {first.source.url, *(twin.source.url for twin in first.twins)} == {"a.md", "b.md", "c.md"}
    assert len({passage.chunk.text for passage in result.passages}) == 5
    stage = result.trace.stage("passages")
    assert stage is not None
    assert stage.note == "2 with the same text as a better one"


def test_a_filter_holds_for_twins_too(tmp_path: Path) -> None:
    """A document that the filters leave out does not come back as the twin of one that they let pass."""
    twin = "# Twin\n\nThe very same tale of a giant."
    found = [corpora.document("a.md", twin, category="winged"), corpora.document("b.md", twin, category="aquatic")]
    result = ask(corpora.publish(tmp_path, found), "giant", filters=Filters(category=("aquatic",)))
    assert [passage.document_ids for passage in result.passages] == [("b.md",)]


def test_twins_count_as_shown_when_all_is_shown(tmp_path: Path) -> None:
    """Three chunks in two passages are all there is."""
    twin = "# Twin\n\nThe same."
    found = [corpora.document("a.md", twin), corpora.document("b.md", twin), corpora.document("c.md", "# C\n\nAnother.")]
    result = ask(corpora.publish(tmp_path, found), "twin")
    assert len(result.passages) == 2
    assert result.trace.notices == ("Top K is 5, but only 3 chunks can be searched: they are all here.",)


def test_ties_are_broken_the_same_way_every_time(tmp_path: Path) -> None:
    """Documents of equal vectors and words come in the order of their chunk ids."""
    found = [replace(corpora.document(f"{name}.md", f"Giant {name * 3} sighting"), title="") for name in "dbca"]
    recipe = corpora.recipe(chunking__header="off", dense="off")
    corpus = corpora.publish(tmp_path, found, made_from=recipe)
    result = search("giant", corpora.engine(corpus, recipe))
    assert places(result) == ["a.md", "b.md", "c.md", "d.md"]
    assert len({passage.hit.score for passage in result.passages}) == 1


def test_asking_twice_gives_the_same(corpus: Corpus) -> None:
    """The same question has the same passages, and the same rankings at every stage."""
    first, second = ask(corpus), ask(corpus)
    assert first.passages == second.passages
    assert [stage.hits for stage in first.trace.stages] == [stage.hits for stage in second.trace.stages]


def test_eight_threads_get_what_one_gets(corpus: Corpus) -> None:
    """Many questions at once, each answered as if it were alone."""
    engine = corpora.engine(corpus)
    questions = [f"{title} {text.split()[-1]}" for title, _, _, text in corpora.TALES] * 8
    alone = [search(question, engine).passages for question in questions]
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(lambda question: search(question, engine).passages, questions))
    assert together == alone


def test_a_failing_embedder_fails_the_search(corpus: Corpus) -> None:
    """What the embedder raises is what the asker meets, not a list without its half."""

    def down(_: object) -> np.ndarray:
        raise InvalidInput(expected="the embedder", got="silence", remedy="Start it.")

    with pytest.raises(InvalidInput, match="silence"):
        search(QUESTION, replace(corpora.engine(corpus), embed=down))


WORDS = ["giant", "lake", "hound", "wings", "eyes", "river", "moor", "snow"]
bags = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


def by_hand(question: str, passages: list[Passage], *, candidates: int, top_k: int, mode: str) -> list[str]:
    """The ids that a plain reading of the design gives: cosine, Lucene's BM25, reciprocal ranks, one place per text."""
    embedder = HashEmbedder()
    texts = [passage.chunk.embedded for passage in passages]
    ids = [passage.chunk.id for passage in passages]
    query = embedder.embed_queries([question])[0]
    cosine = [float(np.einsum("ij,j->i", vector[None], query)[0]) for vector in embedder.embed_passages(texts)]
    dense = sorted(range(len(ids)), key=lambda at: (-cosine[at], at))[:candidates]
    bags_of_words = [Counter(tokenize(text)) for text in texts]
    mean = sum(bag.total() for bag in bags_of_words) / len(texts)

    def bm25(at: int) -> float:
        score = 0.0
        for word in tokenize(question):
            holders, count = sum(word in bag for bag in bags_of_words), bags_of_words[at][word]
            idf = np.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
            score += idf * count / (count + 1.5 * (1 - 0.75 + 0.75 * bags_of_words[at].total() / mean))
        return float(np.float32(score))

    matching = [at for at in range(len(ids)) if set(bags_of_words[at]) & set(tokenize(question))]
    keyword = sorted(matching, key=lambda at: (-round(bm25(at), 4), at))[:candidates]
    rankings = {"hybrid": [dense, keyword], "dense": [dense], "keyword": [keyword]}[mode]
    fused = Counter[int]()
    for ranking in rankings:
        for rank, at in enumerate(ranking, start=1):
            fused[at] += 1 / (60 + rank)  # type: ignore[assignment]
    order = sorted(fused, key=lambda at: (-round(fused[at], 12), ids[at])) if mode == "hybrid" else rankings[0]
    first: dict[str, str] = {}
    for at in order:
        first.setdefault(passages[at].chunk.text, ids[at])
    return list(first.values())[:top_k]


asked = st.tuples(bags, st.integers(1, 9)).flatmap(lambda pair: st.tuples(st.just(pair[0]), st.just(pair[1]), st.integers(1, pair[1])))


@given(texts=st.lists(bags, min_size=1, max_size=8), questions=st.lists(asked, min_size=1, max_size=5))
@settings(max_examples=8)
def test_a_search_is_what_the_design_says(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], questions: list[tuple[str, int, int]]
) -> None:
    """On any small corpus, in every mode, the passages are those of a straightforward reading of the design."""
    found = [replace(corpora.document(f"{at:02d}.md", text), title="") for at, text in enumerate(texts)]
    bare = {"chunking__header": "off"}
    corpus = corpora.publish(tmp_path_factory.mktemp("store"), found, made_from=corpora.recipe(**bare))
    index = corpora.engine(corpus, corpora.recipe(**bare)).index
    everything = [replace(passage, twins=()) for passage in corpus.passages(index, [Hit(id_, 0.0) for id_ in index.chunk_ids])]
    for question, candidates, top_k in questions:
        for mode, off in {"hybrid": {}, "dense": {"keyword": "off"}, "keyword": {"dense": "off"}}.items():
            result = ask(corpus, question, fusion__candidates=candidates, top_k=top_k, **bare, **off)
            expected = by_hand(question, everything, candidates=candidates, top_k=top_k, mode=mode)
            assert [passage.chunk.id for passage in result.passages] == expected
    corpus.close()


def test_side_by_side_or_one_after_the_other_is_the_same(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large index ranks by words in another thread: the same hits, and the same stages in the same order."""
    after = ask(corpus)
    monkeypatch.setattr("sitt_core.pipeline.SHARED_ROWS", 0)
    beside = ask(corpus)
    assert [passage.hit for passage in beside.passages] == [passage.hit for passage in after.passages]
    assert stages(beside) == stages(after)

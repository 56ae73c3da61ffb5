"""Both BM25s equal their libraries and their formulas, and a match is a shared word whatever its score."""

import math
from collections import Counter
from collections.abc import Sequence

import bm25s
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from sitt_core.retrieval.keyword import SCORERS, bm25s_scorer, build_postings, extend_postings, okapi_scorer, rank_keyword
from sitt_core.types import Hit, Mask, Postings

WORDS = ("yeti", "lake", "snow", "loch", "eel", "owl")
DOCUMENTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=12), min_size=1, max_size=8).filter(any)
QUESTIONS = st.lists(st.sampled_from((*WORDS, "absent")), max_size=5)

LAKES = ["lake lake snow", "lake eel", "owl", "snow owl lake eel eel"]


def postings_of(documents: Sequence[Sequence[str]]) -> Postings:
    return build_postings([" ".join(words) for words in documents], "none")


def numbers(postings: Postings, words: Sequence[str]) -> list[int]:
    return [postings.terms[word] for word in words if word in postings.terms]


def rank(texts: Sequence[str], question: str, *, scorer: str = "bm25s", n: int = 10, allowed: Mask | None = None) -> list[Hit]:
    """The one ranking for one question over chunks named c0, c1, …"""
    postings = build_postings(texts, "english")
    ids = [f"c{number}" for number in range(len(texts))]
    bag = [*build_postings([question], "english").terms] if question else []
    (ranking,) = rank_keyword(postings, SCORERS[scorer](postings), ids, [bag], n, allowed=allowed)
    return ranking


def lucene_by_hand(documents: Sequence[Sequence[str]], question: Sequence[str]) -> list[float]:
    """Σ ln(1 + (N - df + .5) / (df + .5)) · tf / (tf + k1 (1 - b + b · length / mean length)), k1 = 1.5, b = .75."""
    mean = sum(map(len, documents)) / len(documents)
    frequency = Counter(word for words in documents for word in set(words))

    def weight(word: str, words: Sequence[str]) -> float:
        idf = math.log(1 + (len(documents) - frequency[word] + 0.5) / (frequency[word] + 0.5))
        return idf * words.count(word) / (words.count(word) + 1.5 * (1 - 0.75 + 0.75 * len(words) / mean))

    return [sum(weight(word, words) for word in question) for words in documents]


def okapi_by_hand(documents: Sequence[Sequence[str]], question: Sequence[str]) -> list[float]:
    """Σ idf · tf (k1 + 1) / (tf + k1 (1 - b + b · length / mean length)); a negative idf becomes a quarter of the mean idf."""
    mean = sum(map(len, documents)) / len(documents)
    frequency = Counter(word for words in documents for word in set(words))
    raw = {word: math.log(len(documents) - df + 0.5) - math.log(df + 0.5) for word, df in frequency.items()}
    floor = 0.25 * sum(raw.values()) / len(raw)
    idf = {word: floor if value < 0 else value for word, value in raw.items()}

    def weight(word: str, words: Sequence[str]) -> float:
        return idf.get(word, 0) * words.count(word) * 2.5 / (words.count(word) + 1.5 * (1 - 0.75 + 0.75 * len(words) / mean))

    return [sum(weight(word, words) for word in question) for words in documents]


@given(DOCUMENTS, QUESTIONS)
def test_bm25s_equals_the_library_and_the_formula(documents: list[list[str]], question: list[str]) -> None:
    """Scores from stored weights are those of bm25s over the same words, and of Lucene's formula."""
    postings = postings_of(documents)
    scores = bm25s_scorer(postings)(numbers(postings, question))
    known = [word for word in question if word in postings.terms]
    library = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    library.index([list(words) for words in documents], show_progress=False)
    if known:
        assert scores.tolist() == pytest.approx(library.get_scores(known).tolist(), rel=1e-6)
    assert scores.tolist() == pytest.approx(lucene_by_hand(documents, known), rel=1e-5)


@given(DOCUMENTS, QUESTIONS)
def test_okapi_equals_the_library_and_the_formula(documents: list[list[str]], question: list[str]) -> None:
    """Scores from stored counts are those of rank_bm25's BM25Okapi over the same words, and of its formula with the floor."""
    postings = postings_of(documents)
    scores = okapi_scorer(postings)(numbers(postings, question)).tolist()
    assert scores == pytest.approx(BM25Okapi([list(words) for words in documents], k1=1.5, b=0.75).get_scores(question).tolist(), abs=1e-5)
    assert scores == pytest.approx(okapi_by_hand(documents, question), abs=1e-5)


def test_bm25s_by_arithmetic() -> None:
    """One word, once in one of two chunks of lengths 1 and 3."""
    postings = postings_of([["yeti"], ["lake", "snow", "owl"]])
    expected = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5)) * 1 / (1 + 1.5 * (1 - 0.75 + 0.75 * 1 / 2))
    assert bm25s_scorer(postings)([postings.terms["yeti"]]).tolist() == pytest.approx([expected, 0])


def test_okapi_floors_a_common_word() -> None:
    """A word in three of four chunks gets a quarter of the mean idf instead of its negative one."""
    documents = [["lake", "a"], ["lake", "b"], ["lake", "c"], ["d", "e"]]
    rare, common = math.log(3.5) - math.log(1.5), math.log(1.5) - math.log(3.5)
    floor = 0.25 * (5 * rare + common) / 6
    scores = okapi_scorer(postings := postings_of(documents))([postings.terms["lake"]])
    assert scores.tolist() == pytest.approx([floor * 2.5 / (1 + 1.5)] * 3 + [0])


@given(DOCUMENTS)
def test_postings(documents: list[list[str]]) -> None:
    """Postings say which chunk holds which word how often, and how long each chunk is."""
    postings = postings_of(documents)
    held = {
        (word, int(chunk)): int(count)
        for word, number in postings.terms.items()
        for chunk, count in zip(
            postings.chunks[postings.starts[number] : postings.starts[number + 1]],
            postings.counts[postings.starts[number] : postings.starts[number + 1]],
            strict=True,
        )
    }
    assert held == {(word, chunk): count for chunk, words in enumerate(documents) for word, count in Counter(words).items()}
    assert postings.lengths.tolist() == [len(words) for words in documents]
    assert list(postings.terms) == sorted(postings.terms)


@given(DOCUMENTS, QUESTIONS)
def test_postings_survive_storage(documents: list[list[str]], question: list[str]) -> None:
    """Postings whose arrays went through bytes, and cannot be written to any more, score the same."""
    built = postings_of(documents)
    arrays = {
        name: np.frombuffer(getattr(built, name).tobytes(), dtype=getattr(built, name).dtype)
        for name in ("starts", "chunks", "counts", "weights", "lengths")
    }
    restored = Postings(dict(built.terms), **arrays)
    for scorer in SCORERS.values():
        assert scorer(restored)(numbers(restored, question)).tolist() == scorer(built)(numbers(built, question)).tolist()


@given(DOCUMENTS, QUESTIONS, st.sampled_from(sorted(SCORERS)), st.integers(1, 9), st.data())
def test_a_match_is_a_shared_word(documents: list[list[str]], question: list[str], scorer: str, n: int, data: st.DataObject) -> None:
    """The hits are the allowed chunks that share a word, by score and then place, cut at n, with rank and score."""
    allowed = data.draw(st.none() | st.lists(st.booleans(), min_size=len(documents), max_size=len(documents)).map(np.array))
    postings = postings_of(documents)
    score = SCORERS[scorer](postings)
    ids = [f"c{number}" for number in range(len(documents))]
    (ranking,) = rank_keyword(postings, score, ids, [question], n, allowed=allowed)
    scores = score(numbers(postings, question)).tolist()
    sharing = [at for at, words in enumerate(documents) if set(words) & set(question) and (allowed is None or allowed[at])]
    expected = sorted(sharing, key=lambda at: (-scores[at], at))[:n]
    assert ranking == [Hit(ids[at], scores[at], {"keyword": place}, {"keyword": scores[at]}) for place, at in enumerate(expected, start=1)]


@pytest.mark.parametrize("scorer", SCORERS)
class TestRanking:
    def test_two_chunks(self, scorer: str) -> None:
        """In a corpus of two chunks a word of one of them finds it, though BM25Okapi scores it 0."""
        (hit,) = rank(["the yeti walks", "an eel swims"], "yeti", scorer=scorer)
        assert hit.chunk_id == "c0"
        assert hit.score == pytest.approx(0 if scorer == "rank-bm25" else math.log(2) / (1 + 1.5))

    def test_one_chunk(self, scorer: str) -> None:
        """In a corpus of one chunk its words find it, though BM25Okapi's score is negative."""
        (hit,) = rank(["yeti"], "yeti", scorer=scorer)
        idf = math.log(0.5) - math.log(1.5)
        assert hit.score == pytest.approx(0.25 * idf * 2.5 / (1 + 1.5) if scorer == "rank-bm25" else math.log(1 + 0.5 / 1.5) / (1 + 1.5))

    def test_a_word_in_half_the_chunks(self, scorer: str) -> None:
        """A word in exactly half the chunks finds them."""
        assert {hit.chunk_id for hit in rank(["lake a", "lake b", "owl c", "owl d"], "lake", scorer=scorer)} == {"c0", "c1"}

    @pytest.mark.parametrize("question", ["zzz", "", "the of", "?!"], ids=["unknown", "empty", "stop words", "punctuation"])
    def test_no_shared_word(self, scorer: str, question: str) -> None:
        """A question that shares no word finds nothing, never the last chunks."""
        assert rank(LAKES, question, scorer=scorer) == []

    @pytest.mark.parametrize("texts", [[], [""], ["the of", "and"], ["?!", "…"]], ids=["none", "blank", "stop words", "punctuation"])
    def test_no_words_at_all(self, scorer: str, texts: list[str]) -> None:
        """A corpus without any word finds nothing and divides by nothing."""
        assert rank(texts, "yeti", scorer=scorer) == []

    def test_an_empty_chunk_among_others(self, scorer: str) -> None:
        """A chunk of stop words only is never found and does not shift the others."""
        assert [hit.chunk_id for hit in rank(["the", "yeti", "of and"], "the yeti", scorer=scorer)] == ["c1"]

    def test_ties_in_chunk_order(self, scorer: str) -> None:
        """Equal chunks come in their order, cut where n says."""
        texts = ["owl", "lake", "lake", "owl", "lake", "eel", "eel"]
        assert [hit.chunk_id for hit in rank(texts, "lake", scorer=scorer, n=2)] == ["c1", "c2"]

    def test_allowed(self, scorer: str) -> None:
        """Chunks outside the mask do not take part; a mask of none finds nothing."""
        mask = np.array([False, True, True, True])
        assert {hit.chunk_id for hit in rank(LAKES, "lake", scorer=scorer, allowed=mask)} == {"c1", "c3"}
        assert rank(LAKES, "lake", scorer=scorer, allowed=np.zeros(4, dtype=bool)) == []

    def test_repeated_words_count(self, scorer: str) -> None:
        """A word that a question repeats weighs as often as it is there."""
        postings = build_postings(["owl", "eel", "lake", "snow", "yeti"], "none")
        score = SCORERS[scorer](postings)
        once, twice = rank_keyword(postings, score, ["a", "b", "c", "d", "e"], [["owl"], ["owl", "owl"]], 5)
        assert twice[0].score == pytest.approx(2 * once[0].score)
        assert once[0].score > 0

    def test_a_batch_is_its_questions(self, scorer: str) -> None:
        """A batch ranks each question as it is ranked alone; an empty batch gives nothing."""
        postings = build_postings(LAKES, "none")
        score = SCORERS[scorer](postings)
        questions = [["lake"], [], ["eel", "owl"], ["zzz"]]
        ids = ["a", "b", "c", "d"]
        alone = [rank_keyword(postings, score, ids, [question], 3)[0] for question in questions]
        assert rank_keyword(postings, score, ids, questions, 3) == alone
        assert rank_keyword(postings, score, ids, [], 3) == []

    @pytest.mark.parametrize("question", ["YETI", "yeti?", "“yeti’s”", "ye\u00adti"], ids=["capitals", "mark", "quotes", "soft hyphen"])
    def test_both_sides_alike(self, scorer: str, question: str) -> None:
        """A question finds a word however either side writes it."""
        assert [hit.chunk_id for hit in rank(["Yetis, they say", "owl", "eel"], question, scorer=scorer)] == ["c0"]


TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), max_size=8)


@given(TEXTS, TEXTS, st.data())
def test_extending_equals_building(old: list[str], new: list[str], data: st.DataObject) -> None:
    """Postings of which some chunks were carried over, in any order and place, are those that building from the texts gives."""
    kept = data.draw(st.lists(st.sampled_from(range(len(old))), unique=True)) if old else []
    mixed = data.draw(st.permutations([*((old[at], at) for at in kept), *((text, -1) for text in new)]))
    texts = [text for text, _ in mixed]
    extended = extend_postings(build_postings(old, "english"), [was for _, was in mixed], texts, "english")
    expected = build_postings(texts, "english")
    assert dict(extended.terms) == dict(expected.terms)
    assert list(extended.terms) == list(expected.terms)
    for name in ("starts", "chunks", "counts", "weights", "lengths"):
        was, now = getattr(expected, name), getattr(extended, name)
        assert now.dtype == was.dtype
        assert np.array_equal(now, was)

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core.retrieval.keyword import SCORERS, build_postings, rank_keyword
from sitt_core.retrieval.weights import WordWeight, word_weights
from sitt_core.retrieval.words import tokenize

FIELD_GUIDE = Path(__file__).resolve().parents[3] / "data" / "field_guide"
WORDS = ["lake", "monster", "giant", "moor", "wings", "unheard"]
bags = st.lists(st.sampled_from(WORDS[:-1]), max_size=8).map(" ".join)


@pytest.mark.parametrize("scorer", SCORERS)
@given(texts=st.lists(bags, min_size=1, max_size=8), question=st.lists(st.sampled_from(WORDS), max_size=6))
def test_the_weights_add_up_to_the_score(scorer: str, texts: list[str], question: list[str]) -> None:
    """In every matching chunk, for either library, whatever is repeated in question or text."""
    postings = build_postings(texts, "none")
    score = SCORERS[scorer](postings)
    ids = [str(at) for at in range(len(texts))]
    hits = rank_keyword(postings, score, ids, [question], len(ids))[0]
    found = word_weights(question, postings, score, [int(hit.chunk_id) for hit in hits])
    for hit, weights in zip(hits, found, strict=True):
        assert sum(each.weight for each in weights) == pytest.approx(hit.score, abs=1e-5)
        assert {each.word for each in weights} == set(question) & set(texts[int(hit.chunk_id)].split())


def test_real_passages_add_up_too() -> None:
    """Over the field guide's texts and a question of many words."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(FIELD_GUIDE.glob("*.md"))]
    postings = build_postings(texts, "english")
    words = tokenize("Which lake monster is said to live in Manitoba, and who saw the monster's humps?")
    score = SCORERS["bm25s"](postings)
    hits = rank_keyword(postings, score, [str(at) for at in range(len(texts))], [words], 20)[0]
    for hit, weights in zip(hits, word_weights(words, postings, score, [int(hit.chunk_id) for hit in hits]), strict=True):
        assert sum(each.weight for each in weights) == pytest.approx(hit.score, rel=1e-5)


def test_a_word_says_how_often_where_and_what() -> None:
    """Count in the chunk, holders in the corpus; the rarer word weighs more, and a repeated one counts as often as it is asked."""
    postings = build_postings(["lake lake moor", "lake", "wings"], "none")
    score = SCORERS["bm25s"](postings)
    (once,), (twice,) = (word_weights(["lake"] * times + ["unheard"], postings, score, [0]) for times in (1, 2))
    assert [(each.word, each.count, each.holders) for each in once] == [("lake", 2, 2)]
    assert twice[0].weight == pytest.approx(2 * once[0].weight)
    assert [each.word for each in word_weights(["lake", "moor"], postings, score, [0])[0]] == ["moor", "lake"]


def test_a_chunk_without_a_word_of_the_question_has_none() -> None:
    """No entry, rather than one of zero."""
    postings = build_postings(["lake", "moor"], "none")
    assert word_weights(["lake"], postings, SCORERS["bm25s"](postings), [1, 0]) == [
        (),
        (WordWeight("lake", 1, 1, pytest.approx(0.277, abs=0.1)),),
    ]

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core.retrieval.highlight import excerpt, matches
from sitt_core.retrieval.words import tokenize
from sitt_core.types import Span


def marked(text: str, question: str, language: str = "english") -> list[str]:
    return [text[span.start : span.end] for span in matches(text, tokenize(question, language), language)]


@pytest.mark.parametrize(
    ("text", "question", "expected"),
    [
        pytest.param("The giant left footprints.", "giant footprints", ["giant", "footprints"], id="words"),
        pytest.param("GIANTS! A giant's foot.", "giant", ["GIANTS", "giant's"], id="case, plural, possessive"),
        pytest.param("Nessie’s loch", "nessie", ["Nessie’s"], id="curly possessive"),
        pytest.param("Storsjöodjuret", "storsjoodjuret", ["Storsjöodjuret"], id="diacritics"),
        pytest.param("re\u0301sume\u0301 résumé", "resume", ["re\u0301sume\u0301", "résumé"], id="composed and decomposed"),
        pytest.param("a storm-petrel flew", "storm", ["storm"], id="part of a hyphenated word"),
        pytest.param("a storm-petrel flew", "storm-petrel", ["storm", "petrel"], id="hyphenated word"),
        pytest.param("a storm-petrel flew", "stormpetrel", ["storm-petrel"], id="joined form"),
        pytest.param("a stormpetrel flew", "storm-petrel", ["stormpetrel"], id="joined in the text"),
        pytest.param("mon\u00adster", "monster", ["mon\u00adster"], id="soft hyphen"),
        pytest.param("ｇｉａｎｔ ﬁnd", "giant find", ["ｇｉａｎｔ", "ﬁnd"], id="compatibility forms"),
        pytest.param("the of and", "the of and", [], id="stop words"),
        pytest.param("gigantic", "giant", [], id="another word"),
        pytest.param("", "giant", [], id="empty"),
        pytest.param("— “…” 🦕", "giant", [], id="no words"),
        pytest.param("謎の怪物が出た", "怪物", ["怪物"], id="no spaces"),
        pytest.param("謎の怪物が出た", "の怪物", ["の怪物"], id="neighbouring pairs are joined"),
        pytest.param("BIGFOOTの怪物", "bigfoot", ["BIGFOOT"], id="two scripts in one run"),
        pytest.param("雪", "雪", ["雪"], id="a single character"),
        pytest.param("кассовый аппарат", "кассовый", ["кассовый"], id="Cyrillic"),
    ],
)
def test_what_is_marked(text: str, question: str, expected: list[str]) -> None:
    """A word of the text is marked when keyword search would match it, whole and no more."""
    assert marked(text, question, "russian" if "кассовый" in text else "english") == expected


texts = st.one_of(st.text(max_size=60), st.text("aB -'’_é\u0301ﬁ\u00ad怪物のขวА9\n", max_size=40))


@given(text=texts, other=texts, language=st.sampled_from(["english", "none", "russian"]))
def test_marks_are_ordered_apart_and_matching(text: str, other: str, language: str) -> None:
    """Whatever the text, marks are inside it, in order, never overlap, and every one holds a word that was asked for."""
    words = tokenize(other, language)
    before = 0
    for span in matches(text, words, language):
        assert before <= span.start < span.end <= len(text)
        assert set(tokenize(text[span.start : span.end], language)) & set(words)
        before = span.end


@given(text=st.text("ab -'’é怪物 ", max_size=40), language=st.sampled_from(["english", "none"]))
def test_a_match_is_always_visible(text: str, language: str) -> None:
    """Where keyword search matches a word of a text, something is marked."""
    for word in tokenize(text, language):
        assert matches(text, [word], language)


LONG = "Nothing here. " * 20 + "At last a giant with a red eye, and another giant. " + "Nothing more. " * 20


def test_an_excerpt_shows_the_most_marks() -> None:
    """The stretch around the marks is chosen, begun and ended between words."""
    spans = matches(LONG, tokenize("giant eye"), "english")
    span = excerpt(LONG, spans, width=90)
    shown = LONG[span.start : span.end]
    assert shown.count("giant") == 2
    assert "red eye" in shown
    assert LONG[span.start - 1].isspace()
    assert shown[-1].isspace() or LONG[span.end].isspace()


def test_an_excerpt_without_marks_is_the_beginning() -> None:
    """So is that of a text that fits."""
    assert excerpt(LONG, [], width=50).start == 0
    assert excerpt("short", [], width=50) == Span(0, 5)
    assert excerpt("", [], width=50) == Span(0, 0)


def test_an_excerpt_begins_at_a_mark_that_is_longer_than_itself() -> None:
    """A mark that no stretch can hold still decides where the excerpt begins."""
    assert excerpt("aaa", [Span(1, 3)], width=1) == Span(1, 2)


@given(text=st.text("ab \n怪", max_size=200), width=st.integers(1, 80), data=st.data())
def test_an_excerpt_keeps_its_bounds(text: str, width: int, data: st.DataObject) -> None:
    """It is inside the text, at most as wide as asked, never empty for a text, and some mark begins in it when there is one."""
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    spans = [Span(start, end) for start, end in zip(cuts[::2], cuts[1::2], strict=False)]
    span = excerpt(text, spans, width=width)
    assert 0 <= span.start <= span.end <= len(text)
    assert span.end - span.start <= width
    assert span.end > span.start or not text
    if spans:
        assert any(span.start <= each.start < span.end for each in spans)

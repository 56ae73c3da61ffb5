import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core.errors import InvalidInput
from sitt_core.quotes import check_quote, find_exact, find_loosely
from sitt_core.types import Span


def exact(text: str, quote: str) -> list[str]:
    return [text[span.start : span.end] for span in find_exact(text, quote)]


def loosely(text: str, quote: str) -> list[str]:
    return [text[span.start : span.end] for span in find_loosely(text, quote)]


def test_every_place_is_found_word_for_word() -> None:
    """In order, not overlapping."""
    assert list(find_exact("ab ab aba", "ab")) == [Span(0, 2), Span(3, 5), Span(6, 8)]
    assert list(find_exact("aaa", "aa")) == [Span(0, 2)]
    assert exact("A lake", "a lake") == []


@pytest.mark.parametrize(
    ("text", "quote", "found"),
    [
        pytest.param("In the Cold\n\nLake, at dawn", "the cold lake", "the Cold\n\nLake", id="case and white space"),
        pytest.param("He said “no”.", 'said "no"', "said “no”", id="quotation marks"),
        pytest.param("1933–1934", "1933-1934", "1933–1934", id="dashes"),
        pytest.param("the *Loch Ness* **monster**", "loch ness monster", "Loch Ness* **monster", id="emphasis"),
        pytest.param("Storsjo\u0308n here", "Storsjön", "Storsjo\u0308n", id="decomposed"),
        pytest.param("a ﬁsh", "fish", "ﬁsh", id="ligature"),
        pytest.param("mon\u00adster", "monster", "mon\u00adster", id="soft hyphen"),
        pytest.param("die STRASSE", "straße", "STRASSE", id="one letter for two"),
        pytest.param("二つの　怪物", "二つの 怪物", "二つの　怪物", id="wide space"),
    ],
)
def test_typography_is_put_aside(text: str, quote: str, found: str) -> None:
    """The span is of the text as it stands."""
    assert exact(text, quote) == []
    assert loosely(text, quote) == [found]


@pytest.mark.parametrize("quote", ["**", " ", "\u200b"], ids=["emphasis", "space", "nothing to see"])
def test_what_leaves_nothing_is_nowhere(quote: str) -> None:
    """A quotation that consists of what is put aside has no place."""
    assert loosely("some ** text", quote) == []


@given(st.text(min_size=1, max_size=60), st.data())
def test_a_slice_is_found_where_it_is(text: str, data: st.DataObject) -> None:
    """Word for word always; loosely, whatever is found reads the same with typography aside."""
    start = data.draw(st.integers(0, len(text) - 1))
    quote = text[start : data.draw(st.integers(start + 1, len(text)))]
    assert quote in exact(text, quote)
    for found in loosely(text, quote):
        assert loosely(quote.strip(), found.strip()) or not found.strip()


@pytest.mark.parametrize("quote", ["", "  \n", "…?!", "a" * 4001], ids=["empty", "blank", "punctuation", "too long"])
def test_a_quotation_that_cannot_be_looked_for_is_named(quote: str) -> None:
    """Refused with what is expected."""
    with pytest.raises(InvalidInput, match="a quotation with a letter or digit"):
        check_quote(quote)

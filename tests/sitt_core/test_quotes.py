import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core.errors import InvalidInput
from sitt_core.quotes import check_quote, find_exact, find_folded, find_loosely
from sitt_core.text import normalise
from sitt_core.types import Span


def exact(text: str, quote: str) -> list[str]:
    return [text[span.start : span.end] for span in find_exact(text, quote)]


def loosely(text: str, quote: str) -> list[str]:
    return [text[span.start : span.end] for span in find_loosely(text, quote)]


def folded(text: str, quote: str) -> list[str]:
    return [text[span.start : span.end] for span in find_folded(text, quote)]


def fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


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


class TestFolded:
    @pytest.mark.parametrize(
        ("text", "quote", "found"),
        [
            pytest.param("In the cold\n\nlake, at dawn", "cold lake", ["cold\n\nlake"], id="a line break in the text"),
            pytest.param("In the cold lake", "the\n  cold\tlake", ["the cold lake"], id="line break and tab in the quotation"),
            pytest.param("In the cold lake", "  cold lake \n", ["cold lake"], id="white space around it"),
            pytest.param("cold\u00a0 \u2009lake", "cold lake", ["cold\u00a0 \u2009lake"], id="spaces of other kinds"),
            pytest.param("二つの　怪物", "二つの 怪物", ["二つの　怪物"], id="wide space"),
            pytest.param("the cold lake", "coldlake", [], id="a space too many in the text"),
            pytest.param("the coldlake", "cold lake", [], id="a space too many in the quotation"),
            pytest.param("ab ab  aba", "ab", ["ab", "ab", "ab"], id="repeated, within a word too"),
            pytest.param("a a a", "a  a", ["a a"], id="never overlapping"),
            pytest.param("A lake", "a lake", [], id="another case"),
            pytest.param("1933–1934", "1933-1934", [], id="another dash"),
            pytest.param("the *Loch* Ness", "Loch Ness", [], id="emphasis"),
            pytest.param("mon\u00adster", "monster", [], id="soft hyphen"),
            pytest.param(
                "is it (a.b)*? [no] {1,2} \\d|$^ #x",
                "(a.b)*?  [no] {1,2} \\d|$^ #x",
                ["(a.b)*? [no] {1,2} \\d|$^ #x"],
                id="pattern characters",
            ),
            pytest.param("aXb", "a.b", [], id="a dot is a dot"),
            pytest.param("a\x00b c", "a\x00b  c", ["a\x00b c"], id="NUL"),
            pytest.param("in Storsjo\u0308n here", "Storsj\u00f6n  here", ["Storsjo\u0308n here"], id="decomposed text"),
            pytest.param("in Storsj\u00f6n here", "Storsjo\u0308n\nhere", ["Storsj\u00f6n here"], id="decomposed quotation"),
            pytest.param("o\u0308 o\u0308l", "\u00f6", ["o\u0308", "o\u0308"], id="decomposed and repeated"),
            pytest.param("Storsjo\u0308n", "Storsjo", [], id="a letter without its mark"),
            pytest.param("10 \u212b long, e\u0301", "10 \u00c5 long", ["10 \u212b long"], id="another character for the same"),
            pytest.param(
                "\u1112\u1161\u11ab \u1100\u1173\u11af", "\ud55c \uae00", ["\u1112\u1161\u11ab \u1100\u1173\u11af"], id="Hangul in letters"
            ),
            pytest.param("e\u0301\r\nx y", "x y", ["x y"], id="after a line end of two characters"),
            pytest.param("x\u0323\u0307 e\u0301", "x\u0307\u0323", ["x\u0323\u0307"], id="marks in another order"),
            pytest.param("die STRASSE", "die stra\u00dfe", [], id="compatible, not the same"),
            pytest.param("", "a", [], id="empty text"),
            pytest.param("some text", "", [], id="empty quotation"),
            pytest.param("some text", " \n\t", [], id="blank quotation"),
        ],
    )
    def test_only_form_and_white_space_are_put_aside(self, text: str, quote: str, found: list[str]) -> None:
        """Everything else stands word for word; the spans are of the text as it stands, in order."""
        assert folded(text, quote) == found
        spans = list(find_folded(text, quote))
        assert all(one.end <= other.start for one, other in pairwise(spans))

    @given(
        st.text(st.sampled_from("aab.(\\ \n\t\u00a0\u2028é\u0301\u0323q한\u0915\u0940👩\u200d👧"), max_size=30).map(normalise), st.data()
    )
    def test_a_slice_of_a_composed_text_is_found(self, text: str, data: st.DataObject) -> None:
        """Whatever white space it is quoted with, it is found no later than where it is, and all that is found reads the same."""
        text = unicodedata.normalize("NFC", text)
        start = data.draw(st.integers(0, len(text)))
        words = text[start : data.draw(st.integers(start, len(text)))].split()
        quote = data.draw(st.sampled_from([" ", "\n", " \t "])).join(words)
        spans = list(find_folded(text, quote))
        assert bool(spans) == bool(words)
        assert all(span.start <= text.index(words[0], start) for span in spans[:1])
        assert {fold(text[span.start : span.end]) for span in spans} <= {fold(quote)}

    @given(
        st.lists(st.text(st.sampled_from("aeq\u0301\u0323\u0308ö한\u0915\u0940"), max_size=4).map("x{}".format), min_size=1, max_size=6),
        st.data(),
    )
    def test_whole_words_of_a_decomposed_text_are_found(self, words: list[str], data: st.DataObject) -> None:
        """Quoted in either form, with other white space, they are found as they stand."""
        text = unicodedata.normalize("NFD", "  ".join(words))
        start = data.draw(st.integers(0, len(words) - 1))
        quoted = words[start : data.draw(st.integers(start + 1, len(words)))]
        quote = unicodedata.normalize(data.draw(st.sampled_from(["NFC", "NFD"])), "\n".join(quoted))
        spans = list(find_folded(f"e\u0301 {text}", quote))
        assert fold(quote) in {fold(f"e\u0301 {text}"[span.start : span.end]) for span in spans}

    @pytest.mark.parametrize(
        ("rest", "quote"),
        [
            pytest.param("q\u0307x", "q", id="ends within a grapheme"),
            pytest.param("a \u0915\u0940", "a \u0915", id="ends before a vowel sign"),
            pytest.param("👩\u200d👧 here", "👧 here", id="begins within a grapheme"),
        ],
    )
    def test_a_composed_part_is_found_as_in_a_composed_text(self, rest: str, quote: str) -> None:
        """What stands decomposed elsewhere in a text changes nothing."""
        assert folded(f"\u00e9 {rest}", quote) == [quote]
        assert folded(f"e\u0301 {rest}", quote) == [quote]

    def test_separators_are_white_space_on_both_sides(self) -> None:
        """What `str` takes for white space is white space in the text too."""
        assert folded("cold\x1flake", "cold\x1flake") == ["cold\x1flake"]

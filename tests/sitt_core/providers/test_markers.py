import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core.providers.markers import LONGEST, MarkerReader
from sitt_core.types import CitationPart, TextPart

Parts = list[str | tuple[str, str]]
IDS = ("p-a", "p-b", "p-c")
PIECES = st.sampled_from(
    [
        *("[", "[[", "]]", "]", "1", "2", "99", ":", " ", "\n", '"', "“", "”", "'", "\\", '\\"', "word", "It is big.", "é", "[[1]]"),
        *('[[1: "big"]]', "[[2: “old”]]", '[[3: "said "hi" twice"]]', "[[1: plain]]", '[[7: "far"]]', '[[1: "open', '"]]'),
    ]
)


def joined(parts: list[TextPart | CitationPart]) -> Parts:
    """Texts as strings, adjacent ones joined; citations as pairs."""
    out: Parts = []
    for part in parts:
        if isinstance(part, CitationPart):
            out.append((part.excerpt, part.quote))
        elif out and isinstance(out[-1], str):
            out[-1] += part.text
        else:
            out.append(part.text)
    return out


def read(*pieces: str) -> Parts:
    reader = MarkerReader(IDS)
    return joined([part for piece in pieces for part in reader.feed(piece)] + reader.close())


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param('It is big. [[1: "big"]] And old.', ["It is big.", ("p-a", "big"), " And old."], id="between sentences"),
        pytest.param('It is big. [[1: "big"]]', ["It is big.", ("p-a", "big")], id="at the end"),
        pytest.param('Big.\n[[1: "a"]] [[2: "b"]]\n\nOld.', ["Big.", ("p-a", "a"), ("p-b", "b"), "\n\nOld."], id="several"),
        pytest.param('Big. [[1: "a"]]Old.', ["Big.", ("p-a", "a"), " Old."], id="the space that was before goes behind"),
        pytest.param('Big[[1: "a"]]old', ["Big", ("p-a", "a"), "old"], id="no space"),
        pytest.param("Big [[2: “old”]].", ["Big", ("p-b", "old"), " ."], id="curly quotation marks"),
        pytest.param("Big. [[ 1 : 'old' ]]", ["Big.", ("p-a", "old")], id="single quotation marks and spaces"),
        pytest.param("Big. [[1]] Old.", ["Big.", ("p-a", ""), " Old."], id="no quotation"),
        pytest.param("Big. [[1:]] Old.", ["Big.", ("p-a", ""), " Old."], id="an empty quotation"),
        pytest.param("Big. [[1: very old]] Old.", ["Big.", ("p-a", "very old"), " Old."], id="no quotation marks"),
        pytest.param('Big. [[1: "he said "hi" twice"]]', ["Big.", ("p-a", 'he said "hi" twice')], id="nested quotation marks"),
        pytest.param('Big. [[1: "he said \\"hi\\""]]', ["Big.", ("p-a", 'he said "hi"')], id="escaped quotation marks"),
        pytest.param('Big. [[1: "he said “hi”"]]', ["Big.", ("p-a", "he said “hi”")], id="curly within straight"),
        pytest.param('Big. [[1: "a list[b[0]] of"]] Old.', ["Big.", ("p-a", "a list[b[0]] of"), " Old."], id="brackets in the quotation"),
        pytest.param('A. [[1: "big]] B. [[2: "old"]]', ["A.", ("p-a", "big"), " B.", ("p-b", "old")], id="a quotation mark forgotten"),
        pytest.param('Big. [[9: "a"]] [[0: "b"]]', ["Big.", ("", "a"), ("", "b")], id="a number out of range"),
        pytest.param('Big. [[1: "a', ['Big. [[1: "a'], id="not finished"),
        pytest.param('Big. [[1: "a"]', ['Big. [[1: "a"]'], id="almost finished"),
        pytest.param("See [[wiki]] and a[0] [", ["See [[wiki]] and a[0] ["], id="other brackets"),
        pytest.param('[[[1: "a"]]]', ["[", ("p-a", "a"), "]"], id="one bracket too many"),
        pytest.param('[[1: [[2: "b"]]', ["[[1:", ("p-b", "b")], id="a mark within a mark"),
        pytest.param("  Big.  ", ["  Big.  "], id="white space that belongs to the text"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_marks_and_text(text: str, parts: Parts) -> None:
    """Whole, and one character at a time."""
    assert read(text) == parts
    assert read(*text) == parts


@given(st.lists(PIECES, max_size=30), st.data())
def test_how_it_is_cut_changes_nothing(pieces: list[str], data: st.DataObject) -> None:
    """Any split of an answer into pieces gives the same parts."""
    text = "".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    assert read(*(text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True))) == read(text)


@given(st.lists(PIECES, max_size=30))
def test_no_text_is_swallowed(pieces: list[str]) -> None:
    """All letters of the answer are in the texts and quotations, in their order."""
    text = "".join(pieces)
    out = "".join(part if isinstance(part, str) else part[1] for part in read(text))
    assert [c for c in out if c.isalpha()] == [c for c in text if c.isalpha()]


@given(st.text(alphabet="ab. \n[", max_size=60))
def test_text_without_marks_stays_as_it_is(text: str) -> None:
    """Not a character is changed."""
    assert "".join(str(part) for part in read(text)) == text


def test_a_mark_beyond_the_limit_is_text() -> None:
    """So no more than that ever waits, in one piece or in many."""
    for text in (f'Big. [[1: "{"a" * LONGEST}"]] Old.', f"Big. [[1: {'a ' * LONGEST}", f"Big.{' ' * 3 * LONGEST}[x]"):
        assert read(text) == [text]
        assert read(*(text[at : at + 7] for at in range(0, len(text), 7))) == [text]
    longest = f'[[1: "{"a" * (LONGEST - 9)}"]]'
    assert len(longest) == LONGEST
    assert read("Big. ", longest, " Old.") == ["Big.", ("p-a", "a" * (LONGEST - 9)), " Old."]


def test_text_is_not_held_back() -> None:
    """What can be no part of a mark is told at once."""
    reader = MarkerReader(IDS)
    assert joined(reader.feed("The serpent ")) == ["The serpent"]
    assert joined(reader.feed("sleeps. [")) == [" sleeps."]
    assert joined(reader.feed("[1: ")) == []
    assert joined(reader.feed('"x"]]')) == [("p-a", "x")]

"""pack(): whatever the text and the cuts, spans cover it, fit, advance, and split no grapheme."""

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sitt_core.chunking.pack import Cut, Measure, Rank, characters_of, pack, tokens_of
from sitt_core.text import count_tokens, grapheme_starts, normalise
from sitt_core.types import Span

FAMILY = "👨‍👩‍👧‍👦"
pieces = st.sampled_from(
    [
        FAMILY,
        "二酸化炭素",
        "e\u0301",
        "z" + "\u0301" * 40,
        " \u0301",
        "<|endoftext|>",
        "\n\n",
        "  ",
        "\xa0",
        "\u3000",
        "a" * 60,
        "123456789",
        "Yes. No.",
    ]
)
texts = st.lists(pieces | st.text(max_size=6), max_size=25).map("".join).map(normalise)


def slices(text: str, spans: list[Span]) -> list[str]:
    return [text[span.start : span.end] for span in spans]


def check(text: str, spans: list[Span], *, size: int, measure: Measure) -> None:
    """Every invariant of chunking but the strategy's own taste."""
    edges = grapheme_starts(text).tolist()
    allowed = set(edges)
    graphemes = set(pairwise(edges))
    covered = {offset for span in spans for offset in range(span.start, span.end)}
    assert all(text[offset].isspace() for offset in range(len(text)) if offset not in covered)
    for span in spans:
        piece = text[span.start : span.end]
        assert piece.strip()
        assert {span.start, span.end} <= allowed
        assert measure.exact(span.start, span.end) <= size or (span.start, span.end) in graphemes
        first = next(end for start, end in pairwise(edges) if start == span.start)
        assert not text[span.start : first].isspace()
    assert all(before.start < after.start and before.end < after.end for before, after in pairwise(spans))


@given(texts, st.lists(st.tuples(st.integers(0, 300), st.sampled_from(Rank))), st.integers(1, 20), st.integers(0, 19), st.booleans())
@example("a" * 2000, [], 10, 5, True)
@example("二酸化炭素" * 50, [], 1, 0, True)
@example(FAMILY * 9, [], 3, 2, True)
@settings(max_examples=400, derandomize=True, deadline=None, database=None)
def test_spans_cover_fit_advance_and_are_never_blank(
    text: str, cuts: list[tuple[int, Rank]], size: int, overlap: int, in_tokens: bool
) -> None:
    """The invariants hold for any text, any cuts, any overlap that is asked for, in tokens and in characters."""
    measure = tokens_of(text) if in_tokens else characters_of(text)
    made = [Cut(min(offset, len(text)), rank) for offset, rank in cuts]
    spans = pack(text, made, size=size, measure=measure, repeats=lambda span: range(span.end - overlap, span.end))
    check(text, spans, size=size, measure=measure)
    assert pack(text, made, size=size, measure=measure, repeats=lambda span: range(span.end - overlap, span.end)) == spans


@given(texts, st.integers(1, 30))
@settings(max_examples=200, derandomize=True, deadline=None, database=None)
def test_characters_are_packed_as_full_as_they_go(text: str, size: int) -> None:
    """No two neighbours would have fitted into one span."""
    spans = pack(text, [], size=size, measure=characters_of(text))
    assert all(after.end - before.start > size for before, after in pairwise(spans))


def test_the_best_rank_within_reach_wins_and_of_it_the_furthest() -> None:
    """Blocks merge while they fit; a finer cut is used only inside a block that does not."""
    text = "aa bb. cc|dd. ee|" + "f" * 12 + "|gg"
    cuts = [Cut(offset + 1, Rank.BLOCK) for offset, character in enumerate(text) if character == "|"] + [
        Cut(7, Rank.SENTENCE),
        Cut(3, Rank.WORD),
    ]
    assert slices(text, pack(text, cuts, size=10, measure=characters_of(text))) == ["aa bb. cc|", "dd. ee|", "f" * 10, "ff|gg"]
    assert slices(text, pack(text, cuts, size=8, measure=characters_of(text)))[:2] == ["aa bb.", "cc|"]
    assert slices(text, pack(text, cuts, size=5, measure=characters_of(text)))[:2] == ["aa", "bb."]


def test_a_section_always_cuts() -> None:
    """Even where both sides would fit, and no overlap crosses it."""
    text = "one two"
    assert slices(text, pack(text, [Cut(4, Rank.SECTION)], size=99, measure=characters_of(text), repeats=lambda _: [1])) == ["one", "two"]


def test_a_cut_counts_by_the_text_before_it() -> None:
    """White space before a cut takes no room: the block before it fits by its own length."""
    text = "aaaa" + " " * 50 + "bbbb"
    assert slices(text, pack(text, [Cut(54, Rank.BLOCK)], size=4, measure=characters_of(text))) == ["aaaa", "bbbb"]


def test_overlap_yields_to_rank() -> None:
    """The largest overlap is taken with which the cut is no worse than without."""
    text = "aaa bbb ccc ddd "
    cuts = [Cut(offset, Rank.WORD) for offset in (4, 8, 12)]

    def pieces_with(wanted: list[int]) -> list[str]:
        return slices(
            text, pack(text, cuts, size=11, measure=characters_of(text), repeats=lambda span: [span.end - back for back in wanted])
        )

    assert pieces_with([]) == ["aaa bbb ccc", "ddd"]
    assert pieces_with([7, 3]) == ["aaa bbb ccc", "bbb ccc ddd"]
    assert pieces_with([9, 3]) == ["aaa bbb ccc", "ccc ddd"]
    assert pieces_with([11, 12, 99, -4]) == ["aaa bbb ccc", "ddd"]


def test_overlap_yields_to_progress() -> None:
    """C5: size 10, overlap 5, units of 8 tokens: the overlap shrinks to what fits beside the next unit."""
    unit = "one two three four five six seven. "
    text = unit * 6
    cuts = [Cut(offset, Rank.SENTENCE) for offset in range(0, len(text), len(unit))]
    spans = pack(text, cuts, size=10, measure=tokens_of(text), repeats=lambda span: range(span.end - 25, span.end))
    check(text, spans, size=10, measure=tokens_of(text))
    assert slices(text, spans) == [unit.strip()] + ["seven. " + unit.strip()] * 5


@pytest.mark.parametrize(
    "text", ["a" * 2000, "https://example.org/" + "path/" * 600, "aGVsbG8gd29ybGQ" * 200], ids=["run", "address", "base64"]
)
def test_a_run_without_spaces_is_cut_and_ends(text: str) -> None:
    """C6: a run longer than the size, with overlap, gets shorter at every turn."""
    measure = tokens_of(text)
    spans = pack(text, [], size=50, measure=measure, repeats=lambda span: [measure.before(span.end, 10)])
    check(text, spans, size=50, measure=measure)
    assert len(spans) <= count_tokens(text) / (50 - 10) * 1.2 + 1


@pytest.mark.parametrize("size", range(1, 21))
@pytest.mark.parametrize("text", ["二酸化炭素" * 50, FAMILY * 20], ids=["cjk", "zwj"])
def test_no_size_splits_a_character(text: str, size: int) -> None:
    """C14: cuts fall between graphemes at every size; one longer than the size is a span of its own."""
    measure = tokens_of(text)
    spans = pack(text, [], size=size, measure=measure, repeats=lambda span: [measure.before(span.end, size // 2)])
    check(text, spans, size=size, measure=measure)
    assert "\ufffd" not in "".join(slices(text, spans))


def test_exact_counts_stay_few() -> None:
    """Counting is the cost: about two exact counts for a span, also in a long document without a space."""
    for text in ("The quick brown fox jumps. " * 2000, "a" * 50_000, "二酸化炭素" * 4000):
        measure, calls = tokens_of(text), []

        def exact(start: int, end: int, inner: Measure = measure, calls: list[int] = calls) -> int:
            calls.append(end)
            return inner.exact(start, end)

        spans = pack(text, [], size=100, measure=Measure(measure.starts, exact))
        assert len(calls) <= 3 * len(spans)


@pytest.mark.parametrize("text", ["", " \n\t\u3000", "\xa0"])
def test_a_blank_text_has_no_span(text: str) -> None:
    """E3: no blank span leaves the packer."""
    assert pack(text, [], size=5, measure=characters_of(text)) == []

"""semantic: cuts fall where the subject changes, measured by vectors that the tests choose."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core.chunking.chunks import chunk
from sitt_core.chunking.semantic import all_alike, gap_distances, sentence_texts, spans_semantic
from sitt_core.configuration import configure
from sitt_core.sources.markdown import read_markdown
from sitt_core.types import Document, Matrix
from tests.fakes.embedder import HashEmbedder

SUBJECTS = ("lake", "forest", "sky")
LAKE = ["The lake is cold.", "A lake hides much.", "Nobody swims in the lake.", "Boats cross the lake."]
FOREST = ["The forest is dark.", "A forest hums.", "Owls rule the forest.", "Paths leave the forest."]
TABLE = "| Year | Account |\n|---|---|\n| 1901 | A lake. A forest! |\n| 1902 | Two. Three. |"
CODE = "```\nlake. Forest. Sky.\n\nforest. Lake.\n```"


def by_subject(texts: Sequence[str]) -> Matrix:
    """The axis of the first subject that a text names, else the last one."""
    found = [next((axis for axis, name in enumerate(SUBJECTS) if name in text), len(SUBJECTS)) for text in texts]
    return np.eye(len(SUBJECTS) + 1, dtype=np.float32)[found]


def document_of(text: str) -> Document:
    return read_markdown(text.encode(), name="lake.md")


def pieces(text: str, *, size: int = 500, overlap: int = 0, percentile: int = 90) -> list[str]:
    document = document_of(text)
    spans = spans_semantic(document, size=size, overlap=overlap, percentile=percentile, embed=by_subject)
    return [document.text[span.start : span.end] for span in spans]


def test_it_cuts_where_the_subject_changes() -> None:
    """Between the last sentence of one subject and the first of the next, inside a paragraph or between two."""
    for space in (" ", "\n\n"):
        lake, forest = " ".join(LAKE), " ".join(FOREST)
        assert pieces(lake + space + forest, percentile=80) == [lake, forest]


def test_a_distance_has_to_exceed_the_percentile() -> None:
    """The percentile is of the document's own distances: three equal ones at the top are cut as long as it lies below them."""
    sky = ["The sky is wide.", "A sky of larks.", "No cloud in the sky.", "The sky at dusk."]
    text = " ".join([*LAKE, *FOREST, LAKE[0], *sky])
    assert pieces(text, percentile=60) == [" ".join(LAKE), " ".join(FOREST), LAKE[0], " ".join(sky)]
    assert pieces(text, percentile=95) == [text]


def test_sections_stay_apart_and_headings_with_their_text() -> None:
    """A heading always cuts, whatever the subjects; sentences of two sections are no neighbours."""
    text = f"{' '.join(LAKE)}\n\n# More\n\n## Of the lake\n\n{' '.join(LAKE)}"
    assert pieces(text) == [" ".join(LAKE), f"# More\n\n## Of the lake\n\n{' '.join(LAKE)}"]


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "One lake.",
        "# Only\n\n## headings",
        "One lake. One forest.",
        "One lake. One forest. A sky. A sea.",
        "One lake. One sea. One sky.\n\n# A\n\nOne forest. One lake. One sky.\n\n# B\n\nOne sky.",
        TABLE,
        CODE,
    ],
    ids=["word", "sentence", "headings", "two sentences", "four sentences", "three a section", "table", "code"],
)
def test_without_two_gaps_nothing_is_embedded(text: str) -> None:
    """Where at most one gap has two sentences on either side no distance can stand out: the document is cut by its sections alone."""

    def never(texts: Sequence[str]) -> Matrix:
        raise AssertionError(texts)

    document = document_of(text)
    spans = spans_semantic(document, size=500, overlap=0, percentile=50, embed=never)
    assert len(spans) == max(1, text.count("# A") + text.count("# B") + 1)
    assert sentence_texts(document) == []


def test_tables_and_code_count_as_one_sentence() -> None:
    """They are embedded and kept whole, with the full stops inside them; a list item and a quotation are prose."""
    text = f"{' '.join(LAKE)}\n\n{TABLE}\n\n{CODE}\n\n- The forest. The sky.\n\n> A lake. A sky."
    document = document_of(text)
    assert sentence_texts(document) == [*LAKE, TABLE, CODE, "- The forest.", "The sky.", "> A lake.", "A sky."]
    assert any(TABLE in piece for piece in pieces(text, percentile=50))
    assert any(CODE in piece for piece in pieces(text, percentile=50))


def test_what_a_build_embeds_ahead_is_what_is_asked_for() -> None:
    """`sentence_texts` names the very texts that cutting embeds, none blank, no heading, in one call."""
    asked: list[list[str]] = []

    def embed(texts: Sequence[str]) -> Matrix:
        asked.append(list(texts))
        return by_subject(texts)

    text = f"# Title\n\n{' '.join(LAKE)}\n\n{TABLE}\n\n## Alone\n\nOne forest.\n\n## B\n\n{' '.join(FOREST)}"
    document = document_of(text)
    chunk(document, configure({"chunking.strategy": "semantic"}), embed=embed)
    assert asked == [sentence_texts(document)] == [[*LAKE, TABLE, *FOREST]]


def test_the_size_is_the_ceiling_and_repeats_sentences() -> None:
    """Where the size cuts, the next chunk begins with the last `overlap` sentences; over a change of subject nothing is repeated."""
    text = " ".join(LAKE * 2 + FOREST)
    assert pieces(text, size=20, overlap=1) == [
        " ".join(LAKE[:3]),
        " ".join([*LAKE[2:], LAKE[0]]),
        " ".join(LAKE[1:]),
        " ".join(FOREST[:3]),
        " ".join(FOREST[2:]),
    ]
    assert pieces(text, size=20) == [
        " ".join(LAKE[:3]),
        " ".join([LAKE[3], *LAKE[:2]]),
        " ".join(LAKE[2:]),
        " ".join(FOREST[:3]),
        FOREST[3],
    ]


def test_a_table_that_is_split_is_not_repeated() -> None:
    """The overlap is whole sentences, and a table counts as one: what continues it repeats nothing of it."""
    rows = "".join(f"| {year} | Seen once. Twice. |\n" for year in range(1900, 1930))
    text = f"{' '.join(LAKE)}\n\n| Year | Account |\n|---|---|\n{rows}\nThe end."
    made = pieces(text, size=80, overlap=2, percentile=95)
    assert "\n".join(made).count("| 19") == 30


def test_distances_by_arithmetic() -> None:
    """1 − cosine of the sum of two vectors before each gap to that of two after it, the ends of the row left out."""
    a, b = [1.0, 0.0], [0.0, 1.0]
    assert gap_distances(np.array([a, a, b, b])) == pytest.approx([1.0])
    assert gap_distances(np.array([a, a, a, b, b])) == pytest.approx([1 - 2**-0.5, 1.0], abs=1e-6)
    assert gap_distances(np.array([a, a, a, a, b])) == pytest.approx([0.0, 1 - 2**-0.5], abs=1e-6)
    assert gap_distances(np.array([a, [-1.0, 0.0], a, a])) == pytest.approx([1.0])  # a pair that cancels out resembles nothing


def test_a_subject_that_never_changes_is_never_cut() -> None:
    """With all sentences alike no distance exceeds any percentile."""
    document = document_of(" ".join(LAKE * 9))
    assert len(spans_semantic(document, size=8000, overlap=0, percentile=50, embed=all_alike)) == 1


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(50, 98), st.integers(0, 2**16))
def test_a_higher_percentile_only_drops_cuts(words: list[int], percentile: int, seed: int) -> None:
    """Whatever the vectors: the cuts at a higher percentile are among those at a lower one, and the same every time."""
    document = document_of(" ".join(f"Word{word} came." for word in words))
    embed = HashEmbedder(seed=seed, dimension=3).embed_passages
    low, high, again = (
        {span.start for span in spans_semantic(document, size=8000, overlap=0, percentile=at, embed=embed)}
        for at in (percentile, percentile + 1, percentile)
    )
    assert high <= low
    assert again == low
    assert len(low) - 1 <= (100 - percentile) / 100 * max(0, len(words) - 3) + 1
    assert all(1 < text_before.count(".") < len(words) - 1 for text_before in (document.text[:start] for start in low if start))

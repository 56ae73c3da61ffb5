"""Documents become chunks: every strategy keeps the invariants, each has its own taste, the header stands outside."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitt_core.chunking.chunks import STRATEGIES, chunk, count_oversized
from sitt_core.chunking.header import MAX_HEADER, column_names
from sitt_core.configuration import SIZING, UNSIZED, Configuration, configure
from sitt_core.errors import InvalidInput
from sitt_core.sources.markdown import read_markdown
from sitt_core.text import count_tokens, grapheme_starts, normalise
from sitt_core.types import Chunk, Document
from tests.fakes.embedder import HashEmbedder

SAMPLE = (Path(__file__).parents[2] / "samples" / "lake.md").read_bytes()
ROWS = "".join(f"| {1900 + number} | Witness number {number} | Shore {number} |\n" for number in range(40))
TABLE = "| Year | Witness | Place |\n|---|:-:|---|\n" + ROWS
HOSTILE = [
    "# T\na\n```py\nx=1\n## S\nb",
    "<|endoftext|>\n\n# <|endoftext|>\n\n<|im_start|>",
    "二酸化炭素。" * 50,
    "👨‍👩‍👧‍👦" * 40,
    "z" + "\u0301" * 100,
    "a" * 5000,
    "# H\n\n" + TABLE,
    "# A\n\n## B\n\n### C\n\n# D",
    "- " + "item " * 200 + "\n  - nested\n\n    more\n- b",
    "| " + "name | " * 60 + "\n" + "|---" * 60 + "|\n" + "| x " * 60 + "|\n",
    "x" + " " * 3000 + "y\n\n\n\n" * 30,
]
pieces = st.sampled_from(
    [*HOSTILE[:5], "\n\n", "\n## Heading\n", "\n# Top\n\n### Deep\n\n", "\n\n| a | b |\n|---|---|\n| c. D | e |\n", "One. Two! Three?"]
)
markdown_texts = st.lists(pieces | st.text(max_size=10), min_size=1, max_size=8).map("".join)


def document_of(text: str) -> Document:
    return read_markdown(normalise(text).encode(), name="lake.md")


def cut(document: Document, configuration: Configuration) -> list[Chunk]:
    return chunk(document, configuration, embed=HashEmbedder().embed_passages)


def chunks_of(text: str, **changes: object) -> list[Chunk]:
    return cut(document_of(text), settings_of(**changes))


def settings_of(**changes: object) -> Configuration:
    return configure({f"chunking.{name}": value for name, value in changes.items()})


def texts_of(text: str, **changes: object) -> list[str]:
    return [made.text for made in chunks_of(text, **changes)]


def check(document: Document, configuration: Configuration) -> None:
    """Every invariant of a document's chunks, whatever the strategy."""
    chunks, text = cut(document, configuration), document.text
    unit = "unsized" if configuration.chunking_strategy in UNSIZED else SIZING[configuration.chunking_strategy].size_unit
    edges = grapheme_starts(text).tolist()
    allowed, graphemes = set(edges), set(pairwise(edges))
    covered = {offset for made in chunks for offset in range(made.start, made.end)}
    assert all(text[offset].isspace() for offset in range(len(text)) if offset not in covered)
    oversized = 0
    for made in chunks:
        assert made.text == text[made.start : made.end]
        assert made.text.strip()
        assert {made.start, made.end} <= allowed
        assert made.tokens == count_tokens(made.text)
        assert count_tokens(made.header) <= MAX_HEADER
        if {"tokens": made.tokens, "characters": len(made.text), "unsized": 0}[unit] > configuration.chunking_size:
            assert (made.start, made.end) in graphemes
            oversized += 1
    assert count_oversized(chunks, configuration) == oversized
    assert all(before.start < after.start and before.end < after.end for before, after in pairwise(chunks))
    assert len({made.id for made in chunks}) == len(chunks)
    assert cut(document, configuration) == chunks


@given(markdown_texts, st.sampled_from(sorted(STRATEGIES)), st.integers(1, 60), st.integers(0, 59))
@settings(max_examples=300, derandomize=True, deadline=None, database=None)
def test_every_strategy_keeps_the_invariants(text: str, strategy: str, size: int, overlap: int) -> None:
    """Exact slices, all of the text, no blank, within the size, ascending, whole graphemes, distinct ids, repeatable."""
    check(document_of("x\n\n" + text), settings_of(strategy=strategy, size=size, overlap=min(overlap, size - 1)))


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:12]))
@pytest.mark.parametrize(("size", "overlap"), [(1, 0), (7, 6), (20, 3), (500, 1)])
def test_hostile_texts_keep_the_invariants(text: str, strategy: str, size: int, overlap: int) -> None:
    """C1, C6, C9, C13, C14: unclosed fences, special tokens, CJK, ZWJ, zalgo, one long word, huge tables, at every size."""
    check(document_of(text), settings_of(strategy=strategy, size=size, overlap=overlap))


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_an_unclosed_fence_loses_nothing(strategy: str) -> None:
    """C1: what follows an unterminated fence is in a chunk."""
    assert any(piece.endswith("b") for piece in texts_of(HOSTILE[0], strategy=strategy))


@pytest.mark.parametrize(
    "values",
    [{"size": 10, "overlap": 10}, {"size": 10, "overlap": 11}, {"size": 0}, {"size": -1}, {"overlap": -1}, {"size": "0"}],
    ids=str,
)
@pytest.mark.parametrize("strategy", ["sentence", "fixed"])
def test_an_overlap_that_leaves_no_room_is_refused(strategy: str, values: dict[str, object]) -> None:
    """C7: overlap ≥ size, size 0 and negatives never reach a chunker."""
    with pytest.raises(InvalidInput):
        settings_of(strategy=strategy, **values)


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_the_overlap_counts_in_the_size(strategy: str) -> None:
    """C9: size 100, overlap 30, lines of about 95 tokens, and Japanese without spaces: no chunk exceeds the size."""
    lines = "\n".join("serpent " * 94 + "end." for _ in range(8))
    for text in (lines, "二酸化炭素は水に溶ける" * 60, "```\n" + lines + "\n```"):
        configuration = settings_of(strategy=strategy, size=100, overlap=30)
        check(document_of(text), configuration)
        assert count_oversized(cut(document_of(text), configuration), configuration) == 0


def test_sections_are_cut_apart_and_blocks_merged() -> None:
    """structural: a chunk never reaches over a heading; short paragraphs share one."""
    text = "lead\n\nlead 2\n\n# A\n\none\n\ntwo\n\n# B\n\nthree"
    assert texts_of(text) == ["lead\n\nlead 2", "# A\n\none\n\ntwo", "# B\n\nthree"]
    assert [made.heading_path for made in chunks_of(text)] == [(), ("A",), ("B",)]


@pytest.mark.parametrize(
    ("text", "expected", "path"),
    [
        ("# A\n\n## B\n\ntext\n\n## C\n\nmore", ["# A\n\n## B\n\ntext", "## C\n\nmore"], ("A", "B")),
        ("# A\n\n# B\n\n### C\n\ntext", ["# A\n\n# B\n\n### C\n\ntext"], ("B", "C")),
        ("# A\n\ntext\n\n# B\n\n## C", ["# A\n\ntext\n\n# B\n\n## C"], ("A",)),
        ("# A\n\n## B", ["# A\n\n## B"], ("A",)),
    ],
    ids=["sub-section", "sibling", "at-the-end", "nothing-else"],
)
def test_no_chunk_is_a_bare_heading(text: str, expected: list[str], path: tuple[str, ...]) -> None:
    """A heading without text of its own goes with what follows, at the end with what precedes; the path is the text's."""
    assert texts_of(text) == expected
    assert chunks_of(text)[0].heading_path == path


def test_a_heading_is_never_left_behind() -> None:
    """Where a section is split, its heading keeps at least some words of what follows."""
    text = "# Alpha beta\n\n" + "word " * 60 + "\n\n" + TABLE
    for size in range(10, 60):
        assert not any(made.text.rstrip().endswith("Alpha beta") for made in chunks_of(text, size=size))


def test_a_split_section_repeats_its_last_paragraph() -> None:
    """structural: one paragraph of overlap, inside the section that had to be split; none without need, none when off."""
    paragraphs = [f"Paragraph {number} says a little." for number in range(6)]
    text = "# A\n\n" + "\n\n".join(paragraphs) + "\n\n# B\n\nend"
    with_one = texts_of(text, size=24, overlap=1)
    assert [piece.split("\n\n") for piece in with_one] == [
        ["# A", *paragraphs[:3]],
        paragraphs[2:5],
        paragraphs[4:],
        ["# B", "end"],
    ]
    assert [piece.split("\n\n")[0] for piece in texts_of(text, size=24, overlap=2)] == ["# A", *paragraphs[1:4], "# B"]
    assert [piece.split("\n\n") for piece in texts_of(text, size=24, overlap=0)] == [
        ["# A", *paragraphs[:3]],
        paragraphs[3:],
        ["# B", "end"],
    ]


@pytest.mark.parametrize(
    "body", ["One more sentence of it. " * 40, TABLE, "```\n" + "line of code\n" * 80 + "```"], ids=["prose", "table", "code"]
)
def test_a_block_that_is_split_is_not_repeated(body: str) -> None:
    """The overlap is whole blocks: a chunk that continues a block starts where the one before it ended."""
    chunks = chunks_of("# A\n\n" + body + "\n\nend", size=100, overlap=2)
    assert all(before.end <= after.start for before, after in pairwise(chunks))


def test_tables_are_cut_between_rows_and_name_their_columns() -> None:
    """C10, C11: a heading over a table of 40 rows, size 80 and 120: whole rows, and columns named in every chunk."""
    for size in (80, 120):
        chunks = chunks_of("# Sightings\n\n" + TABLE, size=size)
        rows = [line for made in chunks for line in made.text.split("\n") if "Witness number" in line]
        assert rows == ROWS.splitlines()
        assert chunks[0].text.startswith("# Sightings\n\n| Year | Witness | Place |\n|---|:-:|---|\n| 1900 |")
        assert chunks[0].header == "Sightings"
        assert {made.header for made in chunks[1:]} == {"Sightings\nYear | Witness | Place"}
        assert all("Year | Witness | Place" in made.embedded for made in chunks)


def test_a_row_longer_than_the_size_is_cut_inside() -> None:
    """Only such a row is; its neighbours stay whole."""
    long = "| 1 | " + "word " * 50 + "|"
    pieces_made = texts_of(f"| Year | Text |\n|---|---|\n| 0 | a |\n{long}\n| 2 | b |\n", size=30)
    assert pieces_made[0] == "| Year | Text |\n|---|---|\n| 0 | a |"
    assert pieces_made[-1].endswith("| 2 | b |")
    assert len(pieces_made) >= 3


def test_code_is_cut_between_lines_and_fences_keep_a_line() -> None:
    """No chunk is a fence alone, no line is cut."""
    code = [f"value_{number} = compute({number})" for number in range(30)]
    chunks = texts_of("~~~python\n" + "\n".join(code) + "\n~~~", size=40)
    lines = "\n".join(chunks).split("\n")
    assert lines == ["~~~python", *code, "~~~"]
    assert all(piece.strip("~python\n") for piece in chunks)


def test_items_are_cut_before_nested_items() -> None:
    """A list item that is too long is cut where an item in it begins, before any sentence."""
    nested = [f"  - Nested item {number}. It has two sentences." for number in range(8)]
    chunks = texts_of("- Top\n" + "\n".join(nested), size=40)
    assert [line.strip() for piece in chunks for line in piece.split("\n")] == ["- Top", *(line.strip() for line in nested)]


def test_sentences_stay_whole() -> None:
    """sentence: chunks end where sentences do, whatever the headings; counted in characters."""
    text = "# A\n\n" + "This is a sentence about the lake. " * 50 + "\n\n## B\n\nShort."
    chunks = chunks_of(text, strategy="sentence", size=200)
    assert all(made.text.endswith(".") and len(made.text) <= 200 for made in chunks)
    assert chunks[-1].text.endswith("## B\n\nShort.")
    assert max(len(made.text) for made in chunks) > 165


def test_sentence_overlap_begins_at_a_sentence_else_at_a_word() -> None:
    """sentence: the successor repeats whole sentences of the last `overlap` characters, whole words where none fits."""
    text = "First one here. Second one here. Third one here. Fourth one here. Fifth one here."
    assert texts_of(text, strategy="sentence", size=50, overlap=20) == [
        "First one here. Second one here. Third one here.",
        "Third one here. Fourth one here. Fifth one here.",
    ]
    assert texts_of(text, strategy="sentence", size=50, overlap=10)[1] == "one here. Fourth one here. Fifth one here."


def test_windows_are_full_and_repeat_the_overlap() -> None:
    """fixed: every window but the last is within two tokens of its size, and repeats the overlap, give or take a token."""
    text = "Something large was seen in the lake at dusk by nine anglers from the village. " * 60
    chunks = chunks_of(text, strategy="fixed", size=64, overlap=8)
    assert all(62 <= made.tokens <= 64 for made in chunks[:-1])
    repeated = [count_tokens(text[after.start : before.end]) for before, after in pairwise(chunks)]
    assert all(7 <= tokens <= 9 for tokens in repeated[:-1])
    assert all(
        after.start == before.end or text[before.end : after.start].isspace()
        for before, after in pairwise(chunks_of(text, strategy="fixed", overlap=0))
    )


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_the_header_moves_no_cut(strategy: str) -> None:
    """Switching the header on or off changes what is embedded, never the spans."""
    for size in (20, 60, 300):
        on, off = ([*chunks_of(SAMPLE.decode(), strategy=strategy, size=size, overlap=1, header=value)] for value in ("on", "off"))
        assert [(made.start, made.end) for made in on] == [(made.start, made.end) for made in off]
        assert all(made.header for made in on)
        assert not any(made.header for made in off)
        assert all(made.embedded == made.text for made in off)
        assert not {made.id for made in on} & {made.id for made in off}


def long_words(number: int) -> str:
    return " ".join(f"word{index}" for index in range(number))


@pytest.mark.parametrize(
    ("title", "headings", "expected"),
    [
        ("Yeti", ["Accounts", "1951"], "Yeti › Accounts › 1951"),
        ("Yeti", ["Yeti", "Accounts"], "Yeti › Accounts"),
        ("Yeti", ["A", long_words(30), "C"], "Yeti › … › C"),
        ("Yeti", [long_words(15), long_words(9), "C"], "Yeti › … › " + long_words(9) + " › C"),
        ("Yeti", ["A", long_words(60)], "Yeti › … › " + long_words(21) + "…"),
        (long_words(60), ["A"], long_words(23) + "…"),
        ("a" * 900, ["A"], None),
    ],
    ids=["whole", "title-once", "middle-dropped", "nearest-kept", "last-cut", "title-cut", "one-word"],
)
def test_a_long_header_loses_the_middle_first(title: str, headings: list[str], expected: str | None) -> None:
    """Title and nearest heading outlast the middle ones; what is still too long is cut at a word."""
    markdown = "\n\n".join("#" * level + " " + heading for level, heading in enumerate(headings, start=1))
    made = chunks_of(f"---\ntitle: {title}\n---\n{markdown}\n\ntext")[-1]
    assert count_tokens(made.header) <= MAX_HEADER
    assert expected is None or made.header == expected
    assert made.header.startswith(title[:20])


def test_a_title_that_is_the_id_is_left_out() -> None:
    """An id says nothing and its parts would be indexed as words; headings, one that repeats it too, and columns stay."""
    text = "lead\n\n# MED-10\n\none\n\n## Traps\n\n" + TABLE
    for id_, lead, headed in (("MED-10", "", "MED-10"), ("other", "MED-10", "MED-10")):
        document = replace(document_of(text), id=id_, title="MED-10")
        made = cut(document, settings_of(size=80))
        assert [each.header for each in made[:3]] == [lead, headed, "MED-10 › Traps"]
        assert made[0].embedded == (f"{lead}\nlead" if lead else "lead")
        assert {each.header for each in made[3:]} == {"MED-10 › Traps\nYear | Witness | Place"}
        bare = cut(replace(document_of(TABLE), id=id_, title="MED-10"), settings_of(size=80))
        assert {each.header for each in bare[1:]} == {f"{lead}\nYear | Witness | Place".strip()}


def test_columns_outrank_headings_and_the_title_stays() -> None:
    """With many columns the headings go, then the title is shortened, then the columns are cut."""
    wide = [f"Column {number}" for number in range(40)]
    row = "| " + " | ".join("x" for _ in wide) + " |\n"
    for names in (wide[:8], wide):
        text = f"# {long_words(30)}\n\n| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|\n" + row[: 4 * len(names) + 1] + "\n"
        text += (row[: 4 * len(names) + 1] + "\n") * 40
        made = chunks_of("---\ntitle: Lake\n---\n" + text, size=300)[-1]
        title, columns = made.header.split("\n")
        assert title == "Lake" if names is wide else title.startswith("Lake › word0 word1")
        assert columns == " | ".join(names) if names is not wide else columns.startswith("Column 0 | Column 1 | ")
        assert count_tokens(made.header) <= MAX_HEADER


def test_column_names_are_read_from_the_first_row() -> None:
    """Escaped pipes stay, markup at a cell's ends goes; a table without a line of dashes has no names."""
    document = document_of("| *A* \\| b | `C` |  |\n| :-- | --: | - |\n| 1 | 2 | 3 |")
    assert column_names(document.text, document.blocks[0]) == ["A* | b", "C", ""]
    assert column_names("a | b\n1 | 2", document.blocks[0]) == []


def test_equal_texts_of_a_document_are_two_chunks() -> None:
    """A chunk's identity is document, text, ordinal among equal texts, and chunking; not where it lies."""
    twice = chunks_of("same\n\n# A\n\nother\n\n# B\n\nother")
    one, two = (chunks_of(text)[-1] for text in ("# A\n\nother", "before\n\n# A\n\nother"))
    assert len({made.id for made in twice}) == 3
    assert one.id == two.id
    assert one.start != two.start
    assert all(len(made.id) == 16 and int(made.id, 16) for made in twice)
    assert chunks_of("# A\n\nother", size=499)[0].id != one.id


def test_the_sample_document_is_cut_as_reviewed() -> None:
    """The structural chunks of a whole document at 60 tokens, as a person checked them."""
    chunks = chunk(document_of(SAMPLE.decode()), settings_of(size=60))
    assert [(" › ".join(made.heading_path), made.tokens, made.text[:14], made.text[-14:]) for made in chunks] == [
        ("", 27, "The Lake Examp", " is 40 m deep."),
        ("Accounts › Sightings by year", 48, "## Accounts\n\n#", "rry, at dusk |"),
        ("Accounts › Sightings by year", 44, "| 1933 | A \\| ", "es out hoaxes."),
        ("Accounts › Hoaxes", 59, "### Hoaxes\n\nIn", "never existed."),
        ("Accounts › Hoaxes", 30, "- A second log", "ybody said so."),
        ("Traps and nets", 56, "Traps and nets", "rg/museum\n\n***"),
        ("Traps and nets", 19, "[museum]: http", " came in 1990."),
    ]
    assert chunks[2].header == "Lake Example Serpent › Accounts › Sightings by year\nYear | Witness | Place"


@pytest.mark.parametrize(
    "text", ["One.", "# A\n\n" + "Nine anglers saw it. " * 9000, TABLE, "\n\n  x\n\n# B\n\n"], ids=["short", "long", "table", "white"]
)
def test_whole_is_the_document(text: str) -> None:
    """whole: one chunk from the first character to the last that is not white space, however long, and never oversized."""
    document, configuration = document_of(text), settings_of(strategy="whole", size=1, overlap=0)
    (only,) = cut(document, configuration)
    assert only.text == document.text.strip()
    assert count_oversized([only], configuration) == 0

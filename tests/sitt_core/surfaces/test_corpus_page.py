"""The Corpus page's HTML, rows and figures, of a document worked out by hand."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core.anatomy import Bin, Cutting, Summary
from sitt_core.configuration import Configuration
from sitt_core.errors import InvalidInput
from sitt_core.ingest import Estimate
from sitt_core.store.admin import GenerationInfo
from sitt_core.store.reading import DocumentInfo, IndexInfo
from sitt_core.surfaces.dashboard import chunk_view, corpus, corpus_figures, found_html, publishing, versions
from sitt_core.surfaces.dashboard.theme import DARK, LIGHT, Palette
from sitt_core.surfaces.dashboard.told import told
from sitt_core.types import Chunk, Document, Source, Span
from tests.fakes.corpora import document

NOTE = document("note.md", "# Lake\n\nAn eel. A monk.\n\nA cat.")
SOURCE = Source("Guide: Loch", "data/loch.md", "CC BY-SA 4.0")


class Elements(HTMLParser):
    """Collects the text a reader sees, and each element with its class and title."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.opened: list[tuple[str, str, str]] = []
        self.inside: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = dict(attrs)
        self.opened.append((tag, held.get("class") or "", held.get("title") or ""))
        self.inside.append(held.get("class") or tag)

    def handle_endtag(self, _tag: str) -> None:
        self.inside.pop()

    def handle_data(self, data: str) -> None:
        self.text += data
        self.texts.append((" ".join(self.inside), data))


def chunk(start: int, end: int, *, of: Document = NOTE, header: str = "Lake") -> Chunk:
    text = of.text[start:end]
    return Chunk(f"{start}-{end}", of.id, start, end, text, ("Lake",), len(text.split()), header)


def cutting(*chunks: Chunk, limit: int = 4) -> Cutting:
    return Cutting(chunks, tuple(len(each.embedded.split()) for each in chunks), limit)


CUT = cutting(chunk(0, 15), chunk(8, 23), chunk(25, 31))


def shades(html: str) -> list[tuple[str, str]]:
    """The shaded texts with their shade; margin and marks are left out."""
    found = Elements(html).texts
    names = [(re.findall(r"sl-(odd|even|both)", inside), text) for inside, text in found]
    return [(shade[0], text) for shade, text in names if shade]


def test_chunks_alternate_and_overlap_has_a_shade_of_its_own() -> None:
    """The first and third chunk share a shade, the second has another, and what two chunks hold a third; headings are bold."""
    html = chunk_view.chunks_html(NOTE, CUT, others=None, part=Span(0, 31))
    assert shades(html) == [("odd", "# Lake"), ("odd", "\n\n"), ("both", "An eel."), ("even", " A monk."), ("odd", "A cat.")]
    assert [inside for inside, text in Elements(html).texts if text == "# Lake"] == ["sl-chunks sl-odd b"]


def test_hovering_tells_each_chunk() -> None:
    """Size, embedded size against the limit, place and header; in an overlap those of both chunks."""
    html = chunk_view.chunks_html(NOTE, CUT, others=None, part=Span(0, 31))
    titles = [title for _, shade, title in Elements(html).opened if shade == "sl-both"]
    assert titles == [
        "chunk 1: 4 tokens; 5 of the embedder's with the header, longer than the 4 it reads at once\ncharacters 0–15\nheader: Lake\n\n"
        "chunk 2: 4 tokens; 5 of the embedder's with the header, longer than the 4 it reads at once\ncharacters 8–23\nheader: Lake"
    ]


@pytest.mark.parametrize(
    ("others", "alone"),
    [
        pytest.param(None, 0, id="nothing to compare with"),
        pytest.param({15, 23}, 0, id="the same cuts"),
        pytest.param({15, 20}, 1, id="one differs"),
        pytest.param(set(), 2, id="the other side does not cut"),
    ],
)
def test_cuts_that_only_this_side_makes_are_marked(others: set[int] | None, alone: int) -> None:
    """Every cut is a bar; one that the other side does not make has a mark too."""
    html = chunk_view.chunks_html(NOTE, CUT, others=others, part=Span(0, 31))
    assert html.count('class="sl-cut"') == 2
    assert html.count('class="sl-alone"') == alone


def test_numbers_in_the_margin_keep_apart() -> None:
    """Chunks that begin within a few lines of one another would overprint: only the first is numbered."""
    text = document("long.md", "word " * 100)
    made = cutting(*(chunk(at, at + 4, of=text) for at in range(0, 495, 5)))
    numbered = re.findall(r"<strong>(\d+)</strong>", chunk_view.chunks_html(text, made, others=None, part=Span(0, len(text.text))))
    assert numbered == ["1", "33", "65", "97"]
    assert chunk_view.GUTTER == 160


def test_a_part_shows_its_own_chunks_and_cuts() -> None:
    """Outside the part nothing is drawn; a chunk that began before is numbered where the part begins."""
    html = chunk_view.chunks_html(NOTE, CUT, others=None, part=Span(16, 31))
    assert shades(html) == [("even", "A monk."), ("odd", "A cat.")]
    assert html.count('class="sl-cut"') == 1
    assert re.findall(r"<strong>(\d+)</strong>", html) == ["2"]


@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=80), st.integers(1, 7))
def test_whatever_a_document_holds_is_text(text: str, size: int) -> None:
    """No character of a document becomes markup: what a reader sees is the text, and the only elements are ours."""
    held = Document("x", "x", SOURCE, text, (), (), "0")
    made = cutting(*(chunk(at, min(at + size, len(text)), of=held, header=text) for at in range(0, len(text), size)))
    html = chunk_view.chunks_html(held, made, others=(), part=Span(0, len(text)))
    found = Elements(html)
    assert {tag for tag, _, _ in found.opened} <= {"div", "span", "strong", "i", "b"}
    seen = "".join(text for inside, text in found.texts if "sl-no" not in inside and "sl-alone" not in inside)
    assert seen == text.replace("\r\n", "\n").replace("\r", "\n") or seen == text


def test_rows_tell_every_chunk() -> None:
    """The table under the text has number, place, lengths, headings, header and beginning."""
    assert chunk_view.chunk_rows(CUT)[1] == {
        "chunk": 2,
        "start": 8,
        "end": 23,
        "tokens": 4,
        "embedded": 5,
        "headings": "Lake",
        "header": "Lake",
        "begins": "An eel. A monk.",
    }


def test_the_summary_is_in_words() -> None:
    """Counts with the limit and its embedder; cuts of which how many are only here, unless there is nothing to compare with."""
    made = Summary(chunks=3, least=2, median=4, most=4, overlong=1, repeated=7)
    seen = Elements(chunk_view.summary_html(made, limit=254, embedder="st:<b>", alone=1)).text
    assert "2 least · 4 median · 4 most" in seen
    assert "1 longer than st:<b>’s 254: in windows" in seen
    assert "2, of which 1 only here" in seen
    assert "only here" not in chunk_view.summary_html(made, limit=254, embedder="minilm", alone=None)


def test_a_document_card_holds_its_attribution() -> None:
    """Title, source, licence, origin and revision; a link only where it is one, and nothing of a document as markup."""
    html = corpus.document_html(NOTE)
    seen = Elements(html).text
    assert all(part in seen for part in ("Lake", "not stated", "from markdown:tales", f"revision {NOTE.revision}", NOTE.text))
    assert "<a " not in html
    hostile = Document("<x>", "<b>t</b>", Source("s", "javascript:alert(1)", "l"), "<script>", (), (), "0", aliases=("<i>",))
    assert not {tag for tag, _, _ in Elements(corpus.document_html(hostile)).opened} & {"b", "script", "a", "i", "x"}


def info(**changes: str) -> DocumentInfo:
    values = {"id": "loch.md", "title": "Loch", "category": "aquatic", "region": "Europe", "origin": "markdown:x", "sha256": "0123456789ab"}
    held = {**values, **changes}
    return DocumentInfo(source=SOURCE, characters=7, fetched_at="2026-11-30T20:26:03+00:00", **held)


def test_a_contents_row_says_what_is_known() -> None:
    """Without an index there is no column of chunks; without a revision the hash stands for it."""
    row = corpus.content_row(info(), {"loch.md": 3})
    assert (row["chunks"], row["characters"], row["revision"], row["fetched"]) == (3, 7, "0123456789", "2026-11-30 20:26")
    assert corpus.content_row(info(), {})["chunks"] == 0
    assert "chunks" not in corpus.content_row(info(revision="r7"), None)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("", True), ("loch", True), ("AQUATIC guide", True), ("by-sa", True), ("loch asia", False)],
    ids=["nothing", "title", "category and source", "licence", "one word missing"],
)
def test_the_filter_wants_every_word_somewhere(wanted: str, found: bool) -> None:
    """Words are looked for in title, name, labels and source, whatever their case."""
    assert corpus.matches(info(), wanted) is found


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_the_histogram_marks_what_lies_beyond_the_limit(colours: Palette) -> None:
    """Bars beyond the limit have another colour and a hatching, and the limit is a line with its name."""
    bins = [Bin(0, 10, 3), Bin(10, 20, 2)]
    figure = corpus_figures.length_histogram(bins, colours, limit=10, reach=20, name="minilm")
    (bars,) = figure.data
    assert list(bars.y) == [3, 2]
    assert bars.marker.color[0] != bars.marker.color[1]
    assert list(bars.marker.pattern.shape) == ["", "/"]
    assert [shape.x0 for shape in figure.layout.shapes] == [10]
    assert figure.layout.annotations[0].text == "minilm reads 10"
    assert corpus_figures.length_rows(bins) == [{"from": 1, "to": 10, "chunks": 3}, {"from": 11, "to": 20, "chunks": 2}]


def map_row(document: str, category: str) -> dict[str, object]:
    return {"x": 0.0, "y": 0.0, "document": document, "title": f"<{document}>", "heading": "", "category": category}


def test_the_map_tells_categories_by_colour_and_mark() -> None:
    """Each category has both of its own, the most frequent first; no two share one, documents without a category are grey."""
    rows = [map_row("a", "winged"), map_row("b", "aquatic"), map_row("c", "aquatic"), map_row("d", "")]
    figure = corpus_figures.embedding_map(rows, LIGHT, explained=(0.5, 0.25), document="b", question=(0.1, 0.2))
    names = [trace.name for trace in figure.data]
    assert names == ["aquatic", "winged", "no category", "this document", "the question"]
    marks = [(trace.marker.color, trace.marker.symbol) for trace in figure.data[:3]]
    assert len(set(marks)) == 3
    assert len({mark for _, mark in marks}) == 3
    assert [list(each) for each in figure.data[0].customdata] == [["b"], ["c"]]
    assert figure.data[0].text[0] == "‹b›"
    assert figure.data[4].marker.color == LIGHT.accent
    assert figure.layout.xaxis.title.text == "first component, 50% of the variance"


def test_map_rows_join_places_and_names() -> None:
    """A row per chunk, in order."""
    assert corpus_figures.map_rows(np.array([[0.25, -0.5]]), [{"document": "a"}]) == [{"x": 0.25, "y": -0.5, "document": "a"}]


def test_a_diff_is_escaped_and_keeps_its_signs() -> None:
    """Added and removed lines are told by their sign as well as by their shade; the head is no change."""
    html = found_html.diff_html(["--- stored", "+++ markdown:x", "@@ -1 +1 @@", "-<b>old</b>", "+new", " same"])
    found = Elements(html)
    assert {tag for tag, _, _ in found.opened} == {"div"}
    kinds = {text: inside.split()[-1] for inside, text in found.texts}
    assert kinds == {
        "--- stored": "sl-place-of",
        "+++ markdown:x": "sl-place-of",
        "@@ -1 +1 @@": "sl-place-of",
        "-<b>old</b>": "sl-removed",
        "+new": "sl-added",
        " same": "sl-same",
    }
    assert "… 2 more lines" in found_html.diff_html(["+x"] * (found_html.SHOWN_LINES + 2))


def test_buckets_are_counted() -> None:
    """Every bucket with its size, empty ones too; those kept by hand only when there are any."""
    counts = dict.fromkeys(found_html.BUCKETS, 0) | {"changed": 2}
    assert Elements(found_html.buckets_html(counts)).text == "0added2changed0removed0unchanged0failed"
    assert "1kept" in Elements(found_html.buckets_html({**counts, "kept": 1})).text


def test_lines_of_tables_say_what_there_is() -> None:
    """An index with and without a graph, a cache with and without a user, a generation, what carrying costs."""
    plain = versions.index_row(IndexInfo("abc", None, 2048, {"chunks": "7", "windowed": "2", "built_at": "2026-11-30T20:26:03+00:00"}))
    assert (plain["index"], plain["size"], plain["HNSW"], plain["HNSW recall@10"]) == (
        "of an older version (abc)",
        "2 kB",
        "none: exact search",
        "—",
    )
    graph = versions.index_row(IndexInfo("abc", Configuration(), 1, {"hnsw": "m=16 ef_construction=128", "hnsw_recall": "0.9871"}))
    assert (graph["HNSW"], graph["HNSW recall@10"]) == ("m=16 ef_construction=128", "0.987")
    assert versions.cache_row("f", 1024, "") == {"embedder": "none of the indexes above", "size": "1 kB", "file": "f"}
    line = versions.generation_line(GenerationInfo("000002", True, "2026-11-30T20:26:03+00:00", 5, 1, 3 * 2**20))
    assert line == "published 2026-11-30 20:26 UTC · 5 documents, 1 retired · 3.0 MB"
    assert versions.generation_line(GenerationInfo("000002", False, "", 0, 0, 1, "broken")) == "cannot be read"
    cost = publishing.cost_row("x", Estimate(10, 8, 1.2))
    assert (cost["to embed"], cost["about"]) == (2, "1 s")


def test_a_failure_is_told_as_text() -> None:
    """Markdown in what somebody gave stays text: nothing in it is a picture, a link or an icon."""
    seen = told(InvalidInput(expected="a folder", got="'![x](http://x) :material/home: **b**'", remedy="Check it."))
    assert seen.startswith("Expected a folder; got ")
    assert not re.search(r"(?<!\\)[\[\]*`!]", seen)
    assert ":material" not in seen

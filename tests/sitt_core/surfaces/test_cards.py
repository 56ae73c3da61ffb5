"""Results as HTML and figures: what a card and a chart say about a retrieval worked out by hand."""

import re
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core.retrieval.contributions import Contribution
from sitt_core.store.reading import DocumentInfo
from sitt_core.surfaces.dashboard import cards, figures
from sitt_core.surfaces.dashboard.theme import DARK, LIGHT, Palette, palette, style_sheet
from sitt_core.types import Chunk, Hit, Passage, Retrieval, Source, Span, Stage, Trace

SOURCE = Source("Guide: Loch", "data/loch.md", "CC BY-SA 4.0")


def chunk(name: str, text: str = "A lake.", start: int = 0) -> Chunk:
    return Chunk(name, f"{name}.md", start, start + len(text), text, ("Accounts",), 2)


def passage(text: str = "A lake.", *, rank: int = 1, name: str = "a", length: int = 100, source: Source = SOURCE) -> Passage:
    hit = Hit(name, 0.03, {"dense": 2, "fused": 1}, {"dense": 0.5, "fused": 0.03})
    return Passage(rank, chunk(name, text), "Loch", source, hit, length)


def card(shown: Passage, words: tuple[str, ...] = (), fusion: str = "rrf", about: Mapping[str, DocumentInfo] | None = None) -> str:
    return cards.passage_card(
        shown,
        words=words,
        language="english",
        best={"dense": 1.0, "keyword": 3.0, "fused": 0.03},
        depths={"dense": 50, "keyword": 7, "fused": 55},
        fusion=fusion,
        about=about or {},
    )


class Texts(HTMLParser):
    """Collects what a reader sees, and every element that is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.elements: set[str] = set()

    def handle_starttag(self, tag: str, _attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)

    def handle_data(self, data: str) -> None:
        self.seen.append(data)


def read(html: str) -> Texts:
    parser = Texts()
    parser.feed(html)
    parser.close()
    return parser


OURS = {"article", "h2", "span", "div", "mark", "details", "summary", "i", "a"}


@given(st.text(min_size=1, max_size=700), st.text(max_size=40), st.text(max_size=40))
def test_whatever_a_document_holds_is_text(text: str, title: str, url: str) -> None:
    """No element but the card's own comes out of a card, for any text, title and address."""
    shown = Passage(1, chunk("a", text), title, Source(title, url, title), Hit("a", 0.0), len(text))
    assert read(card(shown, ("lake",))).elements <= OURS


@given(st.text(alphabet="lake monster.\n#é", min_size=1, max_size=1400))
def test_a_text_says_which_characters_of_the_document_it_shows(text: str) -> None:
    """The excerpt and the whole passage: what is selected in either is a stretch of the document."""
    shown = replace(passage(), chunk=chunk("a", text, start=1000))
    drawn = re.findall(
        r'<div class="sl-text" dir="auto" data-start="(\d+)" data-end="(\d+)" data-lead="(\d)">(.*?)</div>',
        card(shown, ("lake",)),
        re.DOTALL,
    )
    assert drawn
    for start, end, lead, html in drawn:
        seen = "".join(read(html).seen)[int(lead) :]
        held = text[int(start) - 1000 : int(end) - 1000]
        assert seen in (held, f"{held} …")


@given(st.text(max_size=300), st.lists(st.tuples(st.integers(0, 299), st.integers(1, 30)), max_size=6))
def test_marking_loses_nothing(text: str, places: list[tuple[int, int]]) -> None:
    """The marked text reads exactly as the text."""
    spans, at = [], 0
    for start, length in sorted(places):
        if start >= at and start + length <= len(text):
            spans.append(Span(start, start + length))
            at = start + length
    html = cards.marked_html(text, spans, Span(0, len(text)))
    # A parser reads character references back; a carriage return is a line end to it.
    assert "".join(read(html.replace("\r", "&#13;")).seen) == text or "\x00" in text or "\r" in text
    assert html.count("<mark>") == len(spans)


def test_a_card_names_stage_ranks_place_and_source() -> None:
    """Bars are shares of the stage's best score; a stage without the passage says how deep it looked."""
    html = card(passage("A lake with a monster.", length=200), ("lake", "monster"))
    assert "#2 · cosine 0.50" in html
    assert 'style="width:50.0%"' in html  # 0.5 of the best 1.0
    assert "not among its 7" in html
    assert "#1 · RRF 0.0300" in html
    assert "#1 · convex 0.0300" in card(passage(), fusion="convex")
    assert 'style="left:0.0%;width:11.0%"' in html  # 22 of 200 characters
    assert html.count("<mark>") == 2
    assert "Guide: Loch · data/loch.md · CC BY-SA 4.0" in html


@pytest.mark.parametrize(
    ("url", "linked"),
    [("https://example.org/a?b=1&c=2", True), ("http://example.org", True), ("javascript:alert(1)", False), ("data/loch.md", False)],
    ids=["https", "http", "javascript", "relative"],
)
def test_only_web_addresses_become_links(url: str, linked: bool) -> None:
    """A link opens elsewhere and gives nothing away; anything but http and https stays text."""
    html = card(passage(source=Source("S", url, "L")))
    assert ("<a href=" in html) is linked
    assert ('rel="noopener noreferrer"' in html) is linked


def test_headings_at_the_start_stand_above_the_excerpt_only() -> None:
    """The excerpt begins after the passage's own heading lines, which the path already shows; the whole passage keeps them."""
    html = card(passage("## Accounts\n\n" + "Seen in 1933. " * 60, length=900))
    excerpt, _, whole = html.partition("<details>")
    assert "## Accounts" not in excerpt
    assert "## Accounts" in whole
    assert "## Accounts" not in card(passage("## Accounts\n\nSeen.", length=50))


def retrieval() -> Retrieval:
    """dense: a b c, keyword: c d, fused (rrf 60): c 1/63+1/61, a 1/61, b 1/62 = d 1/62; shown: c, a."""
    dense = tuple(Hit(name, score) for name, score in (("a", 0.9), ("b", 0.8), ("c", 0.7)))
    keyword = (Hit("c", 4.0), Hit("d", 2.0))
    fused = tuple(Hit(name, score) for name, score in (("c", 1 / 63 + 1 / 61), ("a", 1 / 61), ("b", 1 / 62), ("d", 1 / 62)))
    stages = (
        Stage("embed", 0.0, 4.0, 1, ()),
        Stage("dense", 4.0, 1.0, 9, dense),
        Stage("keyword", 0.0, 0.5, 9, keyword, "words: <b>lake</b>"),
        Stage("fusion", 5.0, 0.1, 5, fused),
        Stage("passages", 5.1, 2.0, 4, fused[:2]),
    )
    shown = (passage(rank=1, name="c"), passage(rank=2, name="a"))
    return Retrieval("lake", shown, Trace(stages, 7.1))


def test_flow_rows_give_the_rank_at_every_stage() -> None:
    """A row per passage that any list ranks, the shown ones first, None where a list does not hold it."""
    rows = figures.flow_rows(retrieval(), {"a": "Ann"}, top_k=2)
    assert [(row["passage"], row["dense"], row["keyword"], row["fused"], row["shown"]) for row in rows] == [
        ("c", 3, 1, 1, 1),
        ("Ann", 1, None, 2, 2),
        ("b", 2, None, 3, None),
        ("d", None, 2, 4, None),
    ]


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_the_flow_draws_a_line_for_each_way_into_the_result(colours: Palette) -> None:
    """c comes from both lists and a from one: three coloured lines; b and d leave as two stubs."""
    figure = figures.rank_flow(figures.flow_rows(retrieval(), {}, top_k=2), colours, top_k=2)
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    assert sorted(trace.line.color for trace in lines) == sorted(
        [colours.stages["dense"]] * 2 + [colours.stages["keyword"]] + [colours.line] * 2
    )


def test_flow_places_never_overlap() -> None:
    """Shown passages from far down a list stand below its first ranks, each on a line of its own."""
    rows = [{"passage": str(rank), "chunk": str(rank), "dense": rank, "shown": at} for at, rank in enumerate((11, 30, 2), start=1)]
    figure = figures.rank_flow(rows, LIGHT, top_k=3)
    heights = next(trace.y for trace in figure.data if trace.mode == "text" and list(trace.text) == ["11", "30", "2"])
    assert heights == (3.0, 4.0, 2.0)


def test_the_waterfall_starts_each_bar_when_its_stage_began() -> None:
    """Bars begin at the stage's start and are as long as it took; markup in notes stays text."""
    result = retrieval()
    figure = figures.waterfall(figures.waterfall_rows(result.trace), LIGHT, total=7.1)
    bar = figure.data[0]
    assert list(bar.base) == [0.0, 4.0, 0.0, 5.0, 5.1]
    assert list(bar.x) == [4.0, 1.0, 0.5, 0.1, 2.0]
    assert "<b>" not in str(bar.customdata)


def test_contributions_say_what_one_retriever_alone_would_have_shown() -> None:
    """Missing passages carry the rank that the retriever gave them, or that it did not find them."""
    html = cards.contribution_html(
        [Contribution("keyword", ("a",), ("d",)), Contribution("dense", ("c",), ("b",))],
        retrieval(),
        dict(zip("abcd", "ABCD", strict=True)),
    )
    seen = " ".join(" ".join(read(html).seen).split())
    assert "Keyword alone misses A (not found by it) shows instead D" in seen
    assert "Dense alone misses C (its #3) shows instead B" in seen


def test_contributions_stay_short() -> None:
    """Of many passages the first few are named and the rest counted; a retriever without a hit is not charged with each of them."""
    names = [f"n{at}" for at in range(8)]
    html = cards.contribution_html([Contribution("dense", (), tuple(names))], retrieval(), {name: name.upper() for name in names})
    assert "N4 and 3 more" in html
    assert "N5" not in html
    nothing = Retrieval("lake", (), Trace((Stage("keyword", 0.0, 0.5, 9, ()),), 1.0))
    html = cards.contribution_html([Contribution("keyword", ("a", "b"), ())], nothing, {"a": "A", "b": "B"})
    assert " ".join(" ".join(read(html).seen).split()) == "Keyword alone finds nothing."


def test_a_title_that_is_the_first_heading_is_said_once() -> None:
    """The path of a document named by its own first heading begins below it."""
    shown = Passage(1, Chunk("a", "a.md", 0, 7, "A lake.", ("Loch", "Size"), 2), "Loch", SOURCE, Hit("a", 0.0), 100)
    assert '<div class="sl-path" dir="auto">Size</div>' in card(shown)
    assert list(cards.headings("Loch", ("Accounts",))) == ["Accounts"]


def test_a_licence_that_nobody_stated_is_said_to_be_that() -> None:
    """The attribution never ends in a bare "not stated"."""
    assert "· notes/a.md · licence not stated" in card(passage(source=Source("A", "notes/a.md", "not stated")))


@given(st.text(max_size=60))
def test_a_notice_is_text(text: str) -> None:
    """Whatever a link or a question holds, a notice has no element but its own."""
    assert read(cards.notice([text], problem=True)).elements <= {"div", "p"}


def test_the_flow_names_no_retriever_that_found_nothing() -> None:
    """An empty list has no heading: it would stand over the other's ranks."""
    rows = [{"passage": "a", "chunk": "a", "dense": 1, "keyword": None, "fused": 1, "shown": 1}]
    headings = [annotation.text for annotation in figures.rank_flow(rows, LIGHT, top_k=5).layout.annotations]
    assert headings == ["<b>dense</b>", "<b>fused, shown</b>"]


def luminance(colour: str) -> float:
    """WCAG 2 relative luminance of #rrggbb."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme_type", ["light", "dark"])
def test_every_ink_can_be_read(theme_type: str) -> None:
    """Text, faint text, accent and stage names have a contrast of at least 4.5 : 1 on paper and card."""
    colours = palette(theme_type)
    inks = [
        colours.text,
        colours.faint,
        colours.accent,
        colours.danger,
        *(colours.stages[name] for name in ("dense", "keyword", "fused", "reranked")),
    ]
    for ink in inks:
        for ground in (colours.paper, colours.card):
            bright, dim = sorted((luminance(ink), luminance(ground)), reverse=True)
            assert (bright + 0.05) / (dim + 0.05) >= 4.5, (ink, ground)


def test_the_style_sheet_names_only_our_classes() -> None:
    """Every class is ours, so that nothing of Streamlit's own can be hit."""
    assert all(name.startswith("sl-") for name in re.findall(r"\.([a-z][\w-]*)", re.sub(r"\{[^}]*\}", "", style_sheet(LIGHT))))


def test_a_card_says_at_which_revision_its_document_was_read_and_when() -> None:
    """As a link where the revision is an address, of each twin too; without that, and without a time, nothing is made up."""
    stated = Source("Wiki: Loch", "https://example.org/Loch", "not stated")
    seen = DocumentInfo(
        "a.md", "Loch", stated, "", "", "wikipedia:titles", "0", 7, "https://example.org/Loch?oldid=5", "2026-11-30T20:26:03+00:00"
    )
    told = "Wiki: Loch · https://example.org/Loch · licence not stated"
    assert "".join(read(cards.source_html(stated, seen)).seen) == f"{told} · this revision · fetched 2026-11-30 20:26"
    assert 'href="https://example.org/Loch?oldid=5"' in cards.source_html(stated, seen)
    assert "".join(read(cards.source_html(stated, replace(seen, revision="0123", fetched_at=""))).seen) == told
    assert "".join(read(cards.source_html(stated)).seen) == told
    shown = replace(passage(source=stated), twins=(replace(passage(), chunk=chunk("b")), passage(source=stated)))
    lines = re.findall(r'<div class="sl-small">(?=Wiki|Guide)(.*?)</div>', card(shown, about={"a.md": seen}))
    assert ["this revision" in line for line in lines] == [True, False]

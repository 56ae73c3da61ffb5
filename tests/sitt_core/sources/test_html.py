"""HTML becomes one canonical text with sections and blocks: nothing of the article is lost, nothing around it is in it."""

import contextlib
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core.errors import SourceError
from sitt_core.sources.html import MAX_COLUMNS, grid_of, outline_html, outline_lines, parse_html, words_of
from sitt_core.sources.outline import Outline
from sitt_core.sources.parsoid import CUT, is_article_title, is_chrome, is_red, link_target, outline_article, redirect_target, revision_of
from sitt_core.types import Document, Source

ELEMENTS = (
    "div",
    "p",
    "span",
    "b",
    "ul",
    "li",
    "ol",
    "dl",
    "dt",
    "dd",
    "table",
    "tr",
    "td",
    "section",
    "blockquote",
    "h2",
    "h4",
    "figure",
    "sup",
)
SAMPLE = Path(__file__).parents[2] / "samples" / "wikipedia-article.html"


def outline(body: str) -> Outline:
    return outline_article(parse_html(f"<html><body>{body}</body></html>"))


def text(body: str) -> str:
    return outline(body).text


def check(found: Outline) -> None:
    """Sections partition the text; blocks are in order, apart, without white space around them, and leave nothing out."""
    if found.text:
        assert found.sections[0].start == 0
        assert found.sections[-1].end == len(found.text)
        assert all(one.end == other.start for one, other in pairwise(found.sections))
    assert all(one.end <= other.start for one, other in pairwise(found.blocks))
    pieces = [found.text[block.start : block.end] for block in found.blocks]
    assert all(piece == piece.strip() != "" for piece in pieces)
    assert "".join(found.text.split()) == "".join("".join(pieces).split())


class TestBlocks:
    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            pytest.param("a <b>b</b>\n<i>c</i>&nbsp;d", "a b c d", id="words are joined by single blanks"),
            pytest.param("<p>one</p>two<p>three</p>", "one\n\ntwo\n\nthree", id="words outside paragraphs"),
            pytest.param("<p>one<br/>two<wbr/>fold</p>", "one\ntwofold", id="line breaks"),
            pytest.param(
                "<ul><li>a<ul><li>b</li></ul> c</li><li></li></ul><ol><li>d</li><li>e</li></ol>", "- a c\n  - b\n\n1. d\n2. e", id="lists"
            ),
            pytest.param("<dl><dt>Term</dt><dd>What it is</dd><dd>and was</dd></dl>", "- Term\n  What it is\n  and was", id="definitions"),
            pytest.param("<dl><dd>Indented.</dd></dl>", "Indented.", id="an indented paragraph"),
            pytest.param("<blockquote><p>Said.</p><p>He.</p></blockquote>", "> Said.\n> He.", id="quote"),
            pytest.param("<pre>a\n  b | c</pre>", "```\na\n  b | c\n```", id="code"),
            pytest.param("<figure><img alt='x'/><figcaption>A caption</figcaption></figure>", "A caption", id="caption"),
            pytest.param('<ul class="gallery"><li><div><img/></div><div class="gallerytext">One</div></li></ul>', "- One", id="gallery"),
            pytest.param("10<sup>6</sup> m<sup>2</sup>, 19<sup>th</sup>, H<sub>2</sub>O", "10^6 m^2, 19th, H2O", id="exponents"),
            pytest.param("<ruby>雪男<rt>ゆきおとこ</rt></ruby>!", "雪男(ゆきおとこ)!", id="ruby"),
            pytest.param("<ruby>雪<rp>(</rp><rt>ゆき</rt><rp>)</rp></ruby>", "雪(ゆき)", id="ruby with its own brackets"),
            pytest.param(
                "a<!-- no --><script>x()</script><style>y</style><b hidden='' style='DISPLAY: none'>z</b>b", "ab", id="what is not shown"
            ),
            pytest.param("<span><div>in</div></span> after", "in\n\nafter", id="a block inside words"),
            pytest.param("zero\u200bwidth <p>\u202egone</p>", "zerowidth\n\ngone", id="invisible characters"),
            pytest.param("&lt;b&gt; &amp;amp; &#x1F40D;", "<b> &amp; 🐍", id="entities"),
            pytest.param("<unknown-template>Still <x>here</x></unknown-template>", "Still here", id="what nobody knows is shown"),
        ],
    )
    def test_becomes(self, body: str, expected: str) -> None:
        """Each kind of element has its form in the text."""
        found = outline(body)
        assert found.text == expected
        check(found)

    @pytest.mark.parametrize(
        "formula",
        [
            '<span class="mwe-math-element"><span style="display: none;"><math alttext="{\\displaystyle E=mc^{2}}"><semantics><mi>E</mi>'
            '<annotation encoding="application/x-tex">{\\displaystyle E=mc^{2}}</annotation></semantics></math></span>'
            '<img class="mwe-math-fallback-image-inline" alt="{\\displaystyle E=mc^{2}}"/></span>',
            '<math><annotation encoding="application/x-tex">E=mc^{2}</annotation></math>',
            '<span class="mwe-math-element"><img alt="E=mc^{2}"/></span>',
        ],
        ids=["all three forms", "MathML", "picture"],
    )
    def test_a_formula_once(self, formula: str) -> None:
        """A formula is its TeX, not that and its letters and its picture's text."""
        assert text(f"<p>So {formula} holds.</p>") == "So E=mc^{2} holds."

    def test_kinds(self) -> None:
        """Blocks are of the kinds that chunkers know."""
        found = outline(
            "<h2>H</h2><p>p</p><ul><li>i</li></ul><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table><pre>c</pre>"
        )
        assert [block.kind for block in found.blocks] == ["heading", "paragraph", "item", "table", "code"]


class TestTables:
    @pytest.mark.parametrize(
        ("table", "expected"),
        [
            pytest.param(
                "<caption>Seen</caption><tr><th>Name</th><th>Where</th></tr><tr><td>Yeti</td><td>Nepal|Tibet<br/>China</td></tr>",
                "Seen\n\n| Name | Where |\n|---|---|\n| Yeti | Nepal\\|Tibet; China |",
                id="caption, names, rows",
            ),
            pytest.param(
                "<tr><th rowspan=2>Name</th><th colspan=2>Seen</th></tr><tr><th>from</th><th>to</th></tr><tr><td>Yeti</td><td>1</td><td>2</td></tr>",
                "| Name | Seen from | to |\n|---|---|---|\n| Yeti | 1 | 2 |",
                id="two rows of names",
            ),
            pytest.param(
                "<tr><th>A</th><th>B</th></tr><tr><td rowspan=2>x</td><td>1</td></tr><tr><td>2</td></tr>",
                "| A | B |\n|---|---|\n| x | 1 |\n| x | 2 |",
                id="a cell over two rows is in both",
            ),
            pytest.param(
                "<tr><th colspan=2>Beasts</th></tr><tr><td></td><th>Old</th><th>New</th></tr><tr><th>Yeti</th><td>1</td><td>2</td></tr>",
                "Beasts\n\n|  | Old | New |\n|---|---|---|\n| Yeti | 1 | 2 |",
                id="a title across the columns, a blank corner",
            ),
            pytest.param("<tr><td>a</td><td>b</td></tr><tr><td>c</td></tr>", "| a | b |\n| c |  |", id="no names, a row too short"),
            pytest.param(
                "<tr><th>A</th><th>Picture</th></tr><tr><td>x</td><td><img/></td></tr>", "| A |\n|---|\n| x |", id="a column of pictures"
            ),
            pytest.param("<tr><td>a\n b</td><td>\n<i>c\nd</i>\n</td></tr>", "| a b | c d |", id="line ends of the source are blanks"),
            pytest.param("<tr><td><p>one</p><p>two</p></td></tr>", "one\n\ntwo", id="a table for layout"),
            pytest.param(
                "<tr><th>A</th><th>B</th></tr><tr><td>x</td><td><table><tr><th>k</th><td>v</td></tr></table></td></tr>",
                "| A | B |\n|---|---|\n| x | k: v |",
                id="a table inside a cell",
            ),
        ],
    )
    def test_row_by_row(self, table: str, expected: str) -> None:
        """Rows under the names of their columns, a line each."""
        found = outline(f"<table class='wikitable'>{table}</table>")
        assert found.text == expected
        check(found)

    def test_an_infobox_is_a_section_of_its_own(self) -> None:
        """Names and values behind the lead, those of a nested table too, and nothing lost."""
        box = (
            '<table class="infobox vcard"><caption>Nessie</caption><tr><td colspan=2><img/><div>Photo, 1934</div></td></tr><tr><th>Country</th>'
            "<td>Scotland<br/>UK</td></tr><tr><td colspan=2><table><tr><th>First</th><td>565</td></tr><tr><th>Last</th><td>2026</td></tr></table></td></tr>"
            "<tr><th colspan=2>Names</th></tr><tr><td>one</td><td>two</td></tr></table>"
        )
        found = outline(f"{box}<p>The lead.</p><section><h2>Next</h2><p>More.</p></section>")
        assert found.text == (
            "The lead.\n\n## Infobox\n\n- Nessie\n- Photo, 1934\n- Country: Scotland; UK\n- First: 565\n- Last: 2026\n- Names\n- one; two\n\n## Next\n\nMore."
        )
        assert [section.heading_path for section in found.sections] == [(), ("Infobox",), ("Next",)]
        check(found)

    @pytest.mark.parametrize("span", ["0", "65534", "-1", "x", "1e9", "9" * 50])
    def test_absurd_spans(self, span: str) -> None:
        """A table cannot claim more cells than it has rows and a hundred columns."""
        table = parse_html(f"<table><tr><td rowspan='{span}' colspan='{span}'>a</td><td>b</td></tr><tr><td>c</td></tr></table>").find(
            ".//table"
        )
        grid = grid_of(table)
        assert len(grid) == 2
        assert max(map(len, grid)) <= MAX_COLUMNS + 1
        assert {"a", "b", "c"} <= {words_of(cell, dropped=is_chrome) for row in grid for cell in row if cell is not None}


class TestSections:
    def test_paths(self) -> None:
        """Headings in the elements around them, levels that skip, words behind a nested section: each text has its path."""
        found = outline(
            '<section data-mw-section-id="0"><p>lead</p></section><section data-mw-section-id="1"><h2>A</h2><p>a</p>'
            '<section data-mw-section-id="2"><h4>B</h4><p>b</p></section><section data-mw-section-id="-1"><h3>C</h3><p>c</p></section>'
            '<p>a again</p></section><div><section data-mw-section-id="-2"><p>of nothing</p></section></div>'
        )
        told = [(section.heading_path, found.text[section.start : section.end].strip()) for section in found.sections]
        assert told == [
            ((), "lead"),
            (("A",), "## A\n\na"),
            (("A", "B"), "#### B\n\nb"),
            (("A", "C"), "### C\n\nc"),
            (("A",), "a again"),
            ((), "of nothing"),
        ]
        check(found)

    def test_without_section_elements(self) -> None:
        """Older HTML, with headings alone or in wrappers with an edit link, has the same sections."""
        found = outline(
            '<div class="mw-heading mw-heading2"><h2 id="A">A</h2><span class="mw-editsection">[<a>edit</a>]</span></div><p>a</p><h3>B</h3><p>b</p><h2>C</h2>'
        )
        assert [section.heading_path for section in found.sections] == [("A",), ("A", "B"), ("C",)]
        assert "edit" not in found.text

    @pytest.mark.parametrize(
        "title",
        [
            "References ",
            "REFERENCES",
            "References and notes",
            "Notes:",
            "<i>See also</i>",
            "External\nlinks",
            "Works cited",
            "Bibliography",
        ],
    )
    @pytest.mark.parametrize(
        "form", ["<section><h2>{0}</h2>{1}</section>", "<h2>{0}</h2>{1}", "<div class='mw-heading'><h2>{0}</h2></div><div>{1}</div>"]
    )
    def test_what_is_cut(self, title: str, form: str) -> None:
        """References and their like go with all that is in them, however the heading is written."""
        cut = form.format(
            title, "<ol class='x'><li>Doe, J. Retrieved 1 May</li></ol><h3>Books</h3><table><tr><td>Archived from</td></tr></table>"
        )
        assert text(f"<section><h2>A</h2><p>a</p></section>{cut}<section><h2>B</h2><p>b</p></section>") == "## A\n\na\n\n## B\n\nb"

    @pytest.mark.parametrize("title", ["Notes on behaviour", "Sources of the Nile", "Reference works of the beast", "Gallery"])
    def test_what_only_begins_like_that_stays(self, title: str) -> None:
        """A section is cut by its whole title."""
        assert text(f"<h2>{title}</h2><p>It stays.</p>") == f"## {title}\n\nIt stays."

    def test_behind_a_cut_section_inside_another(self) -> None:
        """What follows a cut section in the one around it is kept."""
        assert text("<section><h2>A</h2><section><h3>References</h3><p>x</p></section><p>a</p></section>") == "## A\n\na"


class TestChrome:
    @pytest.mark.parametrize(
        "element",
        [
            '<sup class="mw-ref reference" typeof="mw:Extension/ref"><a>[1]</a></sup>',
            '<sup class="noprint Inline-Template">[citation needed]</sup>',
            '<div class="hatnote">For another</div>',
            '<div role="navigation">Links</div>',
            '<table class="ambox metadata"><tr><td>Stub</td></tr></table>',
            '<table class="sidebar"><tr><td>Part of a series</td></tr></table>',
            '<div class="shortdescription">Beast</div>',
            '<span id="coordinates">57 N</span>',
            '<span class="geo-nondefault">57</span>',
            '<div class="navbox" about="#mwt7" typeof="mw:Transclusion">Box</div><p about="#mwt7">and the rest of it</p>',
            '<div class="refbegin"><ul><li><cite class="citation book">Doe (1990)</cite></li></ul></div>',
            '<link rel="mw:PageProp/Category" href="./Category:X"/><style data-mw-deduplicate="r">.a{}</style>',
        ],
    )
    def test_is_left_out(self, element: str) -> None:
        """What is around an article is not in its text, and takes no words of it along."""
        assert text(f"<p>before</p>{element}<p>after</p>") == "before\n\nafter"
        assert "".join(text(f"<p>before{element}after</p>").split()) == "beforeafter"

    def test_a_style_does_not_take_its_infobox_along(self) -> None:
        """Templates begin with a style element; what follows it is the template."""
        style = '<style typeof="mw:Extension/templatestyles mw:Transclusion" about="#mwt1">x</style>'
        assert "Kept: yes" in text(f'{style}<table class="infobox" about="#mwt1"><tr><th>Kept</th><td>yes</td></tr></table><p>lead</p>')

    def test_a_list_of_one_s_own_works_stays(self) -> None:
        """Columns that hold no citations are a part of the article."""
        assert text('<div class="refbegin"><ul><li>A Book (1979)</li></ul></div>') == "- A Book (1979)"

    def test_links(self) -> None:
        """Targets are titles, whatever is quoted in them; red links and other namespaces are told."""
        links = parse_html(
            '<p><a href="./Ahuizotl_(mythology)#In_art">a</a><a href="./A%3F%26%2FB">b</a><a href="https://x.org/">c</a>'
            '<a class="new" href="./No_one?action=edit&amp;redlink=1">d</a></p>'
        ).findall(".//a")
        assert [link_target(each) for each in links] == [("Ahuizotl (mythology)", "In_art"), ("A?&/B", ""), ("", ""), ("No one", "")]
        assert [is_red(each) for each in links] == [False, False, False, True]
        titles = ("Yeti", "Star Trek: Picard", "File:X.jpg", "category:Y", "User talk:Z", ":File:X", "")
        assert [is_article_title(title) for title in titles] == [True, True, False, False, False, False, False]


class TestARealArticle:
    def test_as_the_rest_api_returns_it(self) -> None:
        """A real article's lead, infobox, sections and tables are there; references, links and navigation are not."""
        root = parse_html(SAMPLE.read_text(encoding="utf-8"))
        found = outline_article(root)
        check(found)
        assert (revision_of(root), redirect_target(root)) == ("793736590", "")
        assert found.text.startswith("Douglas Noel Adams (11 March 1952 – 11 May 2001) was an English author, scriptwriter")
        paths = [section.heading_path[-1:] for section in found.sections]
        assert paths == [(), ("Infobox",), ("Early life",), ("Awards and nominations",), ("Works",), ("Writing credits",)]
        for line in (
            "- Born: Douglas Noel Adams; 11 March 1952; Cambridge, England",
            "| Production | Notes | Broadcaster |",
            "| Out of the Trees | Television pilot (1976) | BBC Two |",
            "- Shada (1979–1980), a Doctor Who serial",
        ):
            assert line in found.text.split("\n")
        for debris in ("Retrieved", "Archived", "[1]", "1952-03-11", "disambiguation", "Template", "v t e", "[edit]"):
            assert debris not in found.text

    def test_its_chunks_carry_no_debris(self) -> None:
        """No chunk holds a reference, and each has its headings."""
        from sitt_core.chunking.chunks import chunk
        from sitt_core.configuration import Configuration

        found = outline_article(parse_html(SAMPLE.read_text(encoding="utf-8")))
        document = Document("a", "Douglas Adams", Source("a", "a", "a"), found.text, found.sections, found.blocks, "a")
        chunks = chunk(document, configuration=Configuration())
        assert not any(word in each.text for each in chunks for word in ("Retrieved", "Archived from"))
        assert {each.heading_path for each in chunks} >= {("Infobox",), ("Early life",), ("Writing credits",)}


class TestHostile:
    def test_too_deep_or_too_much(self) -> None:
        """Ten thousand elements in one another, or a million beside each other, are refused, not read in part."""
        for page in ("<div>" * 10_000 + "x", "<b>x</b>" * 250_000):
            with pytest.raises(SourceError, match="200,000 elements, 200 deep"):
                parse_html(page)

    def test_the_deepest_that_is_read(self) -> None:
        """What is just within the limit is read to its last word, tables in tables included."""
        assert text("<div>" * 190 + "deep" + "</div>" * 190) == "deep"
        assert text("<b>" * 190 + "deep") == "deep"
        nested = "<table class='infobox'><tr><td>" * 30 + "deep"
        assert text(f"<p>lead</p>{nested}").endswith("- deep")

    @pytest.mark.parametrize("page", ["", " ", "\x00", "<", "<!-- only -->", "<!DOCTYPE html>"])
    def test_no_page(self, page: str) -> None:
        """What holds nothing is an error or an empty text, never a crash."""
        with contextlib.suppress(SourceError):
            assert outline_article(parse_html(page)).text.strip("<") == ""

    @given(st.text(alphabet=st.sampled_from(list("<>/abtdrhlip123 \n\"'=&;|#-!u\u200b雪"))))
    def test_tag_soup(self, soup: str) -> None:
        """Whatever comes, the outline holds together."""
        try:
            root = parse_html(f"<p>x</p>{soup}")
        except SourceError:
            return
        check(outline_html(root, dropped=is_chrome, cut=CUT))

    @given(
        st.recursive(
            st.sampled_from(["one", "two three", "<br/>", "<h2>H</h2>", "<h3>Notes</h3>", "&amp;"]),
            lambda inner: st.builds(
                lambda tag, parts: f"<{tag}>{''.join(parts)}</{tag}>",
                st.sampled_from(ELEMENTS),
                st.lists(inner, max_size=4),
            ),
            max_leaves=25,
        )
    )
    def test_nothing_is_lost(self, body: str) -> None:
        """However elements nest, every word of a page without chrome is in its text as often as on the page."""
        root = parse_html(f"<div>{body}</div>")
        found = outline_html(root, dropped=lambda _: False)
        check(found)
        for word in ("one", "two", "three"):
            assert found.text.count(word) >= "".join(root.itertext()).count(word)


def test_plain_text_with_wiki_headings() -> None:
    """Headings between equals signs are sections, and what is cut goes; an equation is no heading."""
    found = outline_lines("Lead.\n\n\n== A ==\nOne.\n=== B ===\n1 = 1\n== References ==\nDoe.\n== C==\n= D", cut=CUT)
    assert found.text == "Lead.\n\n## A\n\nOne.\n\n### B\n\n1 = 1\n\n## C\n\n= D"
    check(found)

"""A page of HTML becomes its main text with headings, lists and tables; what is no article is refused by name."""

import importlib.util

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitt_core.errors import SourceError
from sitt_core.sources.page import MAX_ELEMENTS, QUICKENED, quickened, read_page
from sitt_core.types import Document
from tests.fakes.site import article

URL = "https://example.org/lakes"
WORDS = "In the cold lakes of the north something long is said to swim, and there are stories about it."


def read(html: str, *, url: str = URL, hosts: frozenset[str] | None = None) -> Document:
    return read_page(
        html, id_="example.org/lakes", url=url, origin="sitemap:x", revision="r", fetched_at="2026-11-30T12:00:00+00:00", hosts=hosts
    )


def blocks(document: Document) -> list[tuple[str, str]]:
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


PAGE = article(
    "Lake monsters",
    WORDS,
    f"</p><h2>Sightings # 1</h2><p>The first was in 1933, as the <b>news</b>paper said.<br>{WORDS}</p>"
    "<ul><li>A long neck<ul><li>with a mane</li></ul></li><li>Two humps</li></ul><ol><li>First</li><li>Second</li></ol>"
    "<h4>Lakes</h4><table><tr><th>Lake</th><th>Depth | m</th></tr><tr><td>Loch Ness</td><td>230</td></tr></table>"
    '<pre><code># code\nprint("a")\n\nx = 1</code></pre><blockquote><p>I saw it. *Really*.</p></blockquote>'
    "<p># no heading</p><p>1. no item</p><dl><dt>Neck</dt><dd>long</dd></dl><p>",
)


def test_structure_is_kept() -> None:
    """Headings, lists, tables row by row with their columns, code and quotations, each a block; the site's chrome is not there."""
    document = read(PAGE)
    assert blocks(document) == [
        ("heading", "# Lake monsters"),
        ("paragraph", WORDS),
        ("heading", "## Sightings # 1"),
        ("paragraph", f"The first was in 1933, as the newspaper said.\n{WORDS}"),
        ("item", "- A long neck\n  - with a mane"),
        ("item", "- Two humps"),
        ("item", "1. First"),
        ("item", "2. Second"),
        ("heading", "#### Lakes"),
        ("table", "| Lake | Depth \\| m |\n|---|---|\n| Loch Ness | 230 |"),
        ("code", '```\n# code\nprint("a")\n\nx = 1\n```'),
        ("quote", "> I saw it. *Really*."),
        ("paragraph", "# no heading"),
        ("paragraph", "1. no item"),
        ("item", "- Neck\n  long"),
    ]
    assert [section.heading_path for section in document.sections] == [
        ("Lake monsters",),
        ("Lake monsters", "Sightings # 1"),
        ("Lake monsters", "Sightings # 1", "Lakes"),
    ]


def test_sections_partition_the_text_and_blocks_stand_apart() -> None:
    """Every character is in one section; between two blocks there is only white space."""
    document = read(PAGE)
    assert "".join(document.text[section.start : section.end] for section in document.sections) == document.text
    edges = [0, *(edge for block in document.blocks for edge in (block.start, block.end)), len(document.text)]
    assert all(document.text[start:end].strip() == "" for start, end in zip(edges[::2], edges[1::2], strict=True))


TAGS = (
    "p",
    "div",
    "article",
    "h1",
    "h3",
    "ul",
    "ol",
    "li",
    "table",
    "tr",
    "th",
    "td",
    "pre",
    "code",
    "blockquote",
    "br",
    "dl",
    "dd",
    "span",
)
PIECES = st.sampled_from(
    [*(f"<{tag}>" for tag in TAGS), *(f"</{tag}>" for tag in TAGS), WORDS, "# x", "|", "`", "\n", "\u2028", "&#0;", "é"]
)


@settings(max_examples=150)
@given(st.lists(PIECES, max_size=60))
def test_whatever_the_tags_the_outline_is_exact(pieces: list[str]) -> None:
    """Sections partition the text; blocks come in order, none blank, with nothing but white space between them."""
    try:
        document = read("<html><body>" + "".join(pieces))
    except SourceError:
        return
    assert "".join(document.text[section.start : section.end] for section in document.sections) == document.text
    assert all(words.strip() == words for _, words in blocks(document))
    edges = [0, *(edge for block in document.blocks for edge in (block.start, block.end)), len(document.text)]
    assert edges == sorted(edges)
    assert all(document.text[start:end].strip() == "" for start, end in zip(edges[::2], edges[1::2], strict=True))


@pytest.mark.parametrize(
    "html",
    [
        pytest.param(f"<div><h1>Old</h1><p>{WORDS}</p><h2>More</h2><ul><li>one thing</li></ul><p>{WORDS} Again.</p></div>", id="in a div"),
        pytest.param(f"<h1>Old</h1><p>{WORDS}<h2>More</h2><ul><li>one thing</ul><p>{WORDS} Again.", id="in the body, unclosed"),
    ],
)
def test_a_page_that_marks_no_article_keeps_its_headings(html: str) -> None:
    """Pages of the old kind: headings and lists come with the paragraphs, navigation does not."""
    document = read(f"<html><title>Old</title><body><nav><ul><li><a href=/>Home</a></ul></nav>{html}</body></html>")
    assert [words for kind, words in blocks(document) if kind in ("heading", "item")] == ["# Old", "## More", "- one thing"]
    assert "Home" not in document.text


@pytest.mark.parametrize(
    ("head", "body", "title"),
    [
        pytest.param("<title>Lake | Site</title>", "<h1>Lake</h1>", "Lake", id="the h1 within the title"),
        pytest.param("<title>Lake | Site</title>", "<h1>Site</h1><h1>x</h1>", "Lake | Site", id="two h1"),
        pytest.param("<title>A\n b</title>", "", "A b", id="title on one line"),
        pytest.param('<title>x</title><meta property="og:title" content="The lake">', "<h1>x</h1>", "The lake", id="og:title"),
        pytest.param("", "<h1>Lake</h1>", "Lake", id="h1 alone"),
        pytest.param("", "", "lakes", id="the path"),
    ],
)
def test_the_title_is_the_pages_own(head: str, body: str, title: str) -> None:
    """What the page calls itself, without the site's name where the page tells it apart."""
    assert read(f"<html><head>{head}</head><body><article>{body}<p>{WORDS}</p></article></body></html>").title == title


@pytest.mark.parametrize(
    ("link", "url"),
    [
        pytest.param('<link rel="canonical" href="/the-lakes">', "https://example.org/the-lakes", id="relative"),
        pytest.param('<link rel="alternate CANONICAL" href="https://example.org/x">', "https://example.org/x", id="one of several"),
        pytest.param('<link rel="canonical" href="https://evil.example/x">', URL, id="another host's"),
        pytest.param('<link rel="canonical" href="javascript:alert(1)">', URL, id="a script"),
        pytest.param('<link rel="canonical" href="http://[">', URL, id="broken"),
        pytest.param('<link rel="canonical">', URL, id="empty"),
        pytest.param("", URL, id="none"),
    ],
)
def test_the_canonical_address_counts_on_its_own_host(link: str, url: str) -> None:
    """A page says where it lives, but only within its site."""
    assert read(article("Lake", WORDS, head=link)).source.url == url


@pytest.mark.parametrize(
    ("head", "license_"),
    [
        ('<link rel="license" href="https://creativecommons.org/licenses/by-sa/4.0/deed.en">', "CC BY-SA 4.0"),
        ('<link rel="license" href="http://creativecommons.org/publicdomain/zero/1.0/">', "CC0 1.0"),
        ('<link rel="license" href="/terms">', "https://example.org/terms"),
        ('<meta name="DC.Rights" content="All rights\n reserved">', "All rights reserved"),
        ('<link rel="license" href="/a"><meta name="license" content="MIT">', "https://example.org/a; MIT"),
        ('<link rel="license" href="javascript:x">', "not stated"),
        ("", "not stated"),
    ],
)
def test_the_licence_is_what_the_page_states(head: str, license_: str) -> None:
    """By rel=license or a meta element; a licence that nobody states is not guessed."""
    assert read(article("Lake", WORDS, head=head)).source.license == license_


@pytest.mark.parametrize(
    ("html", "got"),
    [
        pytest.param(article("404 - Page not found", WORDS), "error page", id="titled 404"),
        pytest.param(article("Seite nicht gefunden", WORDS), "error page", id="titled so in German"),
        pytest.param(article("Just a moment...", WORDS), "error page", id="a gate"),
        pytest.param(
            "<html><title>App</title><body><div id=root></div><script>x</script></body></html>", "none", id="filled in by scripts"
        ),
        pytest.param("<html><body><p>Moved.</p></body></html>", "Moved.", id="tiny"),
        pytest.param("", "none", id="empty"),
        pytest.param("<!-- -->", "none", id="a comment"),
        pytest.param("<div>" * 100_000 + WORDS, "more of them", id="too deep"),
        pytest.param(f"<article><p>{'<a href=x>a</a> b ' * 4001}", "more of them", id="too many links in a paragraph"),
        pytest.param(f"<article>{'<p>a b c</p>' * (MAX_ELEMENTS + 1)}</article>", "more of them", id="too many elements"),
    ],
)
def test_what_is_no_article_is_refused(html: str, got: str) -> None:
    """An error page with status 200, a page without text, one that is built to be expensive."""
    with pytest.raises(SourceError) as caught:
        read(html)
    assert got in caught.value.got


def test_code_in_many_colours_is_read_as_it_is() -> None:
    """Thousands of spans in one piece of code, which would cost minutes: not a character of it changes."""
    code = "".join(f"<span class=k>x</span> <span>=</span> {number}\n" for number in range(3000))
    document = read(article("Code", WORDS, f"</p><pre><code>{code}</code></pre><p>{'<span>a</span> b ' * 9000}"))
    assert "\n".join(f"x = {number}" for number in range(3000)) in document.text
    assert document.text.endswith("a b a b")


def test_a_long_article_about_an_error_is_none() -> None:
    """A title alone condemns no article."""
    assert read(article("404 Not Found: a history", *[f"{WORDS} Chapter {number}." for number in range(20)])).title.startswith("404")


def test_a_page_that_breaks_the_extractor_is_a_failure_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect of the library is told as this page's failure."""
    import trafilatura

    monkeypatch.setattr(trafilatura, "bare_extraction", lambda *_, **__: 1 / 0)
    with pytest.raises(SourceError, match="ZeroDivisionError"):
        read(PAGE)


def test_trafilaturas_searches_find_the_same_when_they_are_quickened() -> None:
    """Of elements with each attribute that a search tests, and with none, the same ones are taken."""
    from lxml.html import document_fromstring

    spec = importlib.util.find_spec("trafilatura.xpaths")
    assert spec is not None and spec.loader is not None
    xpaths = importlib.util.module_from_spec(spec)  # as it comes, whatever page was read before
    spec.loader.exec_module(xpaths)
    names = (
        "",
        "share-1",
        "sidebar",
        "cookie",
        "comments",
        "post-content",
        "hidden",
        "infinite-scroll",
        "elementor-share-buttons",
        "teaser",
        "caption",
    )
    marks = [f'{name}="{value}"' for name in ("id", "class", "style", "role", "data-component", "aria-hidden") for value in names]
    pairs = [f"{one} {other}" for one in marks[:20] for other in marks[10:30]]
    html = "".join(f"<{tag} {mark}>x</{tag}>" for tag in ("div", "section", "p", "main", "a") for mark in ("", *marks, *pairs))
    tree = document_fromstring(f"<html><body>{html}</body></html>")
    searches = [search for name in QUICKENED for search in getattr(xpaths, name)]
    quick = [quickened(search) for search in searches]
    assert [search(tree) for search in searches] == [search(tree) for search in quick]
    assert sum(one.path != other.path for one, other in zip(searches, quick, strict=True)) >= 10
    assert sum(bool(search(tree)) for search in searches) >= 8


@pytest.mark.parametrize(
    ("around", "titles"),
    [
        pytest.param(("<div class=wide>", "</div>"), ["# Old", "## More"], id="alone"),
        pytest.param(("<div><p>Menu</p><a href=/>Home</a></div><div>", "</div>"), ["# Old", "## More"], id="beside another"),
    ],
)
def test_a_long_page_that_marks_no_article_is_whole(around: tuple[str, str], titles: list[str]) -> None:
    """Its headings, lists, tables and code come in the order of the page, nothing of them twice."""
    code = "<pre><code>x = 1</code></pre>"
    body = f"<h1>Old</h1><p>{WORDS}</p>{code}<h2>More</h2><ul><li>one thing</li></ul><p>{WORDS} Again.</p>"
    body += "<table><tr><th>Lake</th></tr><tr><td>Loch Ness</td></tr></table>"
    document = read(f"<html><title>Old</title><body>{around[0]}{body}{around[1]}</body></html>")
    assert [words for kind, words in blocks(document) if kind == "heading"] == titles
    kinds = [kind for kind, _ in blocks(document)]
    assert kinds[kinds.index("heading") :] == ["heading", "paragraph", "code", "heading", "item", "paragraph", "table"]


@pytest.mark.parametrize("span", ["99999999999", "1000", "-1", "x", "", " 2 "])
def test_a_cell_that_spans_too_much_costs_nothing(span: str) -> None:
    """A colspan is a number that a page made up."""
    document = read(article("Lake", WORDS, f"</p><table><tr><td colspan={span}>deep</td></tr></table><p>"))
    assert "deep |" in document.text
    assert document.text.count("|") <= 3

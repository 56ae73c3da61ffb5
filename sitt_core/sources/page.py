"""How a page of HTML becomes a document: its main text without what surrounds it, headings, lists and tables kept."""

import functools
import logging
import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any
from urllib.parse import urljoin, urlsplit

from sitt_core.errors import SourceError, shown
from sitt_core.sources.outline import Outline, Writer, document_hash
from sitt_core.text import normalise
from sitt_core.types import Document, Source

VERSION = 2
"""Raised when the same page would become another document, with other sections or blocks."""
NOT_STATED = "not stated"
MAX_ELEMENTS = 50_000
"""A page of more is refused: what finds the main text has no limit of its own."""
MAX_DEPTH = 240
_TOO_DEEP = f"boolean({'/*' * (MAX_DEPTH + 1)})"
MAX_INLINE = 4000
"""A paragraph with more elements in it takes trafilatura more than a second, and four times as long for twice as many."""
_TOO_MANY_INLINE = f"boolean(//p[count(.//*) > {MAX_INLINE}])"
MANY_SPANS = 200
MAX_SPAN = 30
"""A cell that says it spans more columns spans one."""
LEAST_WORDS = 8
"""A main text of fewer words is none."""
LEAST_CHARACTERS = 40
"""Of a shorter one, the page is looked through again with less care for what surrounds it."""
ERROR_PAGE_WORDS = 200
"""A page that is titled like an error is one unless its text has more words than this."""
CLEARLY = 0.4
"""A main text with this share of the page's words is it; of a smaller one trafilatura is asked to make sure."""
NEARLY_ALL = 0.9
"""A main text with this share of what its frame holds has left nothing out."""
QUICKENED = (
    *("OVERALL_DISCARD_XPATH", "TEASER_DISCARD_XPATH", "DISCARD_IMAGE_ELEMENTS", "RAW_TREE_PRUNE_XPATH"),
    *("REMOVE_COMMENTS_AND_LISTS_XPATH", "BODY_XPATH"),
)
"""trafilatura's searches that every page goes through."""
MAX_TITLE = 300
MAX_LICENSE = 200

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_SPANS = ("span", "font", "wbr", "nobr")
_AROUND = frozenset({"header", "footer", "nav", "aside", "script", "style"})
_BLANK = re.compile(r"[ \t\n]+")
_ATTRIBUTE_TEST = re.compile(r"re:test\((@[\w|@-]+),")
_LEVEL = re.compile(r"h([1-6])")
_CREATIVE_COMMONS = re.compile(r"https?://(?:www\.)?creativecommons\.org/(licenses|publicdomain)/([a-z+-]+)/(\d\.\d)", re.IGNORECASE)
_LICENSE_NAMES = (
    "license",
    "licence",
    "dc.rights",
    "dc.rights.license",
    "dcterms.license",
    "dcterms.rights",
    "rights",
    "copyright-license",
)
_ERROR_TITLE = re.compile(
    r"^\W*(?:error\W+)?(?:40[0-9]|41[0-9]|50[0-9])\b|\b(?:page|file|site|content) (?:was |is |could )?not (?:be )?(?:found|available)\b"
    r"|^\W*(?:not found|access denied|forbidden|service unavailable|internal server error|bad gateway|just a moment|attention required)\b"
    r"|\bseite (?:wurde )?nicht gefunden\b|\bpage (?:introuvable|non trouvée)\b|\bpágina no encontrada\b|\bpágina não encontrada\b"
    r"|\bpagina non trovata\b|\bpagina niet gevonden\b|\bsidan (?:hittades|kunde) inte\b|страница не найдена|ページが見つかりません",
    re.IGNORECASE,
)


def read_page(
    html: str, *, id_: str, url: str, origin: str, revision: str, fetched_at: str, hosts: frozenset[str] | None = None
) -> Document:
    """A page as a document: the main text as trafilatura finds it, attributed to the address that the page calls its own.

    `url` is where it was found; a canonical address counts when its host is one of `hosts` (by default that of `url`).
    Raises SourceError for an error page that claims success, one without main text and one that is too large to look through.
    """
    tree = _parsed(html)
    title = _title(tree) or urlsplit(url).path.strip("/") or url
    body = _main_text(tree)
    outline = _outlined(body) if body is not None else Outline("", (), ())
    _require_article(title, outline.text)
    source = Source(title, canonical_url(tree, url, hosts=hosts), _license(tree, url))
    return Document(
        id=id_,
        title=title,
        source=source,
        text=outline.text,
        sections=outline.sections,
        blocks=outline.blocks,
        sha256=document_hash(title, source, outline.text),
        revision=revision,
        fetched_at=fetched_at,
        origin=origin,
    )


def _parsed(html: str) -> Any:
    """The page's tree; SourceError when there is none, or more of it than can be looked through."""
    from lxml import etree
    from lxml.html import document_fromstring

    try:
        tree = document_fromstring(html.encode("utf-8", "replace"), parser=_parser())
    except (etree.LxmlError, ValueError, AssertionError) as error:
        raise SourceError(expected="a page of HTML", got=f"what is none: {error}", remedy="Open the address in a browser.") from None
    if tree.xpath("count(//*)") > MAX_ELEMENTS or tree.xpath(_TOO_DEEP):
        raise SourceError(
            expected=f"a page of at most {MAX_ELEMENTS:,} elements, {MAX_DEPTH} in one another",
            got="more of them",
            remedy="Leave the page out.",
        )
    _join_spans(tree)
    for cell in tree.xpath("//td[@colspan] | //th[@colspan]"):
        # trafilatura writes as many empty cells as a cell says it spans, up to a thousand.
        if not re.fullmatch(r"\s*[0-9]{1,2}\s*", cell.get("colspan")) or int(cell.get("colspan")) > MAX_SPAN:
            del cell.attrib["colspan"]
    if tree.xpath(_TOO_MANY_INLINE):
        raise SourceError(
            expected=f"a page of at most {MAX_INLINE:,} links and other elements in a paragraph",
            got="more of them",
            remedy="Leave the page out.",
        )
    return tree


def _parser() -> Any:
    """lxml's parser of HTML; every element is of the class that trafilatura needs, which lxml.html would look up for each."""
    from lxml import etree
    from lxml.html import HtmlComment, HtmlElement, HtmlEntity, HtmlProcessingInstruction

    parser = etree.HTMLParser(encoding="utf-8")
    parser.set_element_class_lookup(
        etree.ElementDefaultClassLookup(element=HtmlElement, comment=HtmlComment, pi=HtmlProcessingInstruction, entity=HtmlEntity)
    )
    return parser


def _join_spans(tree: Any) -> None:
    """Takes away spans, where there are many, and joins the text that they cut up.

    trafilatura takes them away too, but leaves as many pieces of text, for which lxml's text() needs quadratic time: minutes
    for the colours of a long piece of code.
    """
    from lxml import etree

    if sum(1 for _ in tree.iter(*_SPANS)) < MANY_SPANS:
        return
    etree.strip_tags(tree, *_SPANS)
    for element in tree.iter(etree.Element):
        if element.text:
            element.text = element.text  # reading it joins the pieces, writing it keeps them joined
        if element.tail:
            element.tail = element.tail


def _main_text(tree: Any) -> Any:
    """trafilatura's tree of the main text, or None."""
    most = _length(tree)
    headed = next(tree.iter(*_HEADINGS), None) is not None
    # Where no container is marked as the article's, trafilatura takes paragraphs alone (adbar/trafilatura#774, open at 2.3.1).
    if headed and not _is_marked(tree):
        framed, inside = _framed(tree)
        found = _extracted(framed, fast=True)
        if _is_headed(found) and _length(found) >= NEARLY_ALL * inside:
            return found
    found = _extracted(tree, fast=True)
    if _length(found) < CLEARLY * most:
        found = _extracted(tree)  # compared with what two other methods find
    if headed and not _is_headed(found):
        framed = _extracted(_framed(tree)[0])
        if _is_headed(framed) and _length(framed) >= _length(found):
            return framed
    return found


def _is_marked(tree: Any) -> bool:
    """Whether trafilatura knows an element for the article's container."""
    from trafilatura.xpaths import BODY_XPATH

    return next(tree.iter("article", "main"), None) is not None or any(container(tree) for container in BODY_XPATH)


def _is_headed(body: Any) -> bool:
    return body is not None and body.find(".//head") is not None


def _length(tree: Any) -> int:
    """The characters of a tree's text, scripts and styles left out."""
    if tree is None:
        return 0
    return int(tree.xpath("string-length()")) - sum(len(element.text or "") for element in tree.iter("script", "style"))


@functools.cache
def _settings() -> Any:
    """trafilatura's, but that a short article is one: below 250 characters it would take the navigation too."""
    from trafilatura.settings import DEFAULT_CONFIG

    config = deepcopy(DEFAULT_CONFIG)
    config.set("DEFAULT", "MIN_EXTRACTED_SIZE", str(LEAST_CHARACTERS))
    return config


@functools.cache
def _quicken() -> None:
    """Spares trafilatura, for the life of the process, a look at each attribute that an element does not have.

    Its searches for what surrounds a text ask Python's regular expressions, three times for every element, most of them about
    nothing: half of the time that a page takes (2.3.1). What they find stays the same, since no such expression is true of nothing.
    """
    from trafilatura import xpaths

    for searches in (getattr(xpaths, name) for name in QUICKENED):
        searches[:] = map(quickened, searches)


def quickened(search: Any) -> Any:
    """A search of XPath for elements by their attributes that finds the same, but passes those over that have none to test."""
    from lxml.etree import XPath
    from trafilatura.xpaths import REGEXP_NS

    tested = _ATTRIBUTE_TEST.sub(r"\1 and \g<0>", search.path)
    return XPath(tested.replace(".//*[", ".//*[@*][", 1), namespaces={"re": REGEXP_NS})


def _extracted(tree: Any, *, fast: bool = False) -> Any:
    from trafilatura import bare_extraction

    _quicken()
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # it writes a warning for every page without text
    try:
        # Of its formats "xml" alone spares it writing out a text that nobody reads; what is returned is the tree.
        found = bare_extraction(
            tree, output_format="xml", fast=fast, include_comments=False, include_formatting=True, include_tables=True, config=_settings()
        )
    except Exception as error:  # a page that it cannot take must not end the reading of the others
        raise SourceError(
            expected="a page whose main text can be found",
            got=f"{type(error).__name__} while looking for it",
            remedy="Leave the page out.",
        ) from error
    return None if found is None or isinstance(found, dict) else found.body


def _framed(tree: Any) -> tuple[Any, int]:
    """A copy of the page in which what holds all its paragraphs, headers, footers and navigation aside, is an article element.

    With it comes how many characters that holds, those of what is around a text not counted.
    """
    page = deepcopy(tree)
    paths = []
    for parent in dict.fromkeys(element.getparent() for element in page.iter("p", "li", *_HEADINGS)):
        above = [parent, *parent.iterancestors()][::-1]
        if not any(each.tag in _AROUND for each in above):
            paths.append(above)
    shared = [level[0] for level in zip(*paths, strict=False) if all(each is level[0] for each in level)]
    if not shared or shared[-1].tag == "html":
        return page, _length(page)
    article = shared[-1]
    if article.tag == "body":
        body, article = article, article.makeelement("article")
        article.text, body.text = body.text, None
        article.extend([child for child in body if child.tag not in _AROUND])
        body.append(article)
    article.tag = "article"
    around = sum(int(each.xpath("string-length()")) for each in article.iter(*_AROUND))
    return page, int(article.xpath("string-length()")) - around


def _require_article(title: str, text: str) -> None:
    words = len(text.split())
    if words <= ERROR_PAGE_WORDS and _ERROR_TITLE.search(title):
        raise SourceError(
            expected="a page with a text",
            got=f"an error page that was sent as a success (status 200), titled {shown(title)}",
            remedy="Open the address in a browser; the site may have removed the page, or keep programs away.",
        )
    if words < LEAST_WORDS:
        raise SourceError(
            expected=f"a page with a main text of at least {LEAST_WORDS} words",
            got="none" if not words else f"{words}: {shown(text)}",
            remedy="Open the address in a browser; a page that scripts fill in has no text of its own.",
        )


def _title(tree: Any) -> str:
    """og:title; else the only h1 when the title element says it too; else the title element; else that h1."""
    (og,) = [*_contents(tree, "property", ("og:title",)), *_contents(tree, "name", ("og:title",)), ""][:1]
    named = next((_words(element) for element in tree.iter("title")), "")
    headings = [_words(element) for element in tree.iter("h1")]
    heading = headings[0] if len(headings) == 1 else ""
    if heading and heading.casefold() in named.casefold():
        named = heading
    return (og or named or heading)[:MAX_TITLE].strip()


def canonical_url(tree: Any, url: str, *, hosts: frozenset[str] | None = None) -> str:
    """The address that the page calls its own when its host is one of `hosts`, else `url`."""
    allowed = hosts or frozenset({urlsplit(url).netloc})
    for link in tree.iter("link"):
        if "canonical" in (link.get("rel") or "").lower().split():
            address = _address(link.get("href"), url)
            if address and urlsplit(address).netloc.lower() in allowed:
                return address
    return url


def _license(tree: Any, url: str) -> str:
    """The licences that the page names by rel=license or in its meta elements, at most three; else "not stated"."""
    found = []
    for tag in ("link", "a"):
        for element in tree.iter(tag):
            if "license" in (element.get("rel") or "").lower().split():
                address = _address(element.get("href"), url)
                found.append(_license_name(address) if address else _words(element))
    for content in _contents(tree, "name", _LICENSE_NAMES):
        found.append(_license_name(content))
    names = [name[:MAX_LICENSE] for name in dict.fromkeys(found) if name]
    return "; ".join(names[:3]) or NOT_STATED


def _license_name(stated: str) -> str:
    """`CC BY-SA 4.0` for an address of Creative Commons, anything else as it is."""
    found = _CREATIVE_COMMONS.match(stated)
    if not found:
        return stated
    family, kind, version = found[1].lower(), found[2].upper(), found[3]
    if family == "publicdomain":
        return f"CC0 {version}" if kind == "ZERO" else f"Public Domain Mark {version}"
    return f"CC {kind} {version}"


def _address(href: str | None, url: str) -> str:
    """An absolute http(s) address, or nothing."""
    try:
        address = urljoin(url, (href or "").strip())
        parts = urlsplit(address)
    except ValueError:
        return ""
    clean = normalise(address)
    return clean if href and parts.scheme in ("http", "https") and parts.netloc and "@" not in parts.netloc else ""


def _contents(tree: Any, attribute: str, names: tuple[str, ...]) -> list[str]:
    """The content of every meta element whose `attribute` is one of the names."""
    metas = [meta for meta in tree.iter("meta") if (meta.get(attribute) or "").strip().lower() in names]
    texts = (_one_line(meta.get("content") or "") for meta in metas)
    return [text for text in texts if text]


def _words(element: Any) -> str:
    return _one_line("".join(element.itertext()))


def _one_line(text: str) -> str:
    return " ".join(normalise(text).split())


def _outlined(body: Any) -> Outline:
    """trafilatura's tree as a text in Markdown's manner, with its sections and blocks.

    The outline is made here and not parsed back: a line of a page that begins with # is no heading.
    """
    writer = Writer()
    _paragraph(writer, body.text)
    for element in body:
        _write(writer, element)
        _paragraph(writer, element.tail)
    return writer.outline()


def _write(writer: Writer, element: Any) -> None:
    if element.tag == "head":
        heading = " ".join(_flow(element).split("\n"))
        level = _LEVEL.match(element.get("rend") or "")
        if heading:
            writer.heading(int(level[1]) if level else 2, heading)
    elif element.tag == "list":
        for number, item in enumerate(_items(element)):
            writer.add("item", item, gap="\n" if number else "\n\n")
    elif element.tag == "table":
        table = _table(element)
        if table:
            writer.add("table", table)
    elif element.tag == "code":
        code = normalise("".join(_raw(element))).strip("\n").rstrip()
        if code.strip():
            fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", code)), default=0))
            writer.add("code", f"{fence}\n{code}\n{fence}")
    elif element.tag == "quote":
        quote = _flow(element)
        if quote:
            writer.add("quote", "\n".join(f"> {line}" for line in quote.split("\n")))
    else:
        text = _flow(element)
        if text:
            writer.add("paragraph", text)


def _paragraph(writer: Writer, text: str | None) -> None:
    words = _BLANK.sub(" ", normalise(text or "")).strip()
    if words:
        writer.add("paragraph", words)


def _items(element: Any) -> Iterator[str]:
    """The items of a list, marked; what nests in one is part of it, indented. A term and what defines it are one item."""
    ordered = element.get("rend") == "ol"
    number = 0
    held: list[str] = []
    for item in element.iterchildren():
        lines = _item_lines(item)
        if not lines:
            continue
        if (item.get("rend") or "").startswith("dd") and held:
            held += [f"  {line}" for line in lines]
            continue
        if held:
            yield "\n".join(held)
        number += 1
        mark = f"{number}. " if ordered else "- "
        held = [mark + lines[0], *(f"{' ' * len(mark)}{line}" for line in lines[1:])]
    if held:
        yield "\n".join(held)


def _item_lines(item: Any) -> list[str]:
    """An item's lines: its own words, then its nested lists, marked."""
    nested = [child for child in item.iter("list") if _nearest_list(child, item) is item]
    lines = _flow(item, without="list").split("\n")
    for inner in nested:
        lines += [line for text in _items(inner) for line in text.split("\n")]
    return [line for line in lines if line.strip()]


def _nearest_list(child: Any, item: Any) -> Any:
    """The item, when no other list stands between it and the child."""
    above = child.getparent()
    while above is not item and above.tag != "list":
        above = above.getparent()
    return above


def _table(element: Any) -> str:
    """A table row by row, the columns' names marked as such when the first row is made of them."""
    rows = [[_flow(cell).replace("\n", " ").replace("|", "\\|") for cell in row.iter("cell")] for row in element.iter("row")]
    first = next(iter(element.iter("row")), None)
    lines = [f"| {' | '.join(row)} |" for row in rows if any(row)]
    cells = list(first.iter("cell")) if first is not None else []
    if lines and any(rows[0]) and all(cell.get("role") == "head" for cell in cells):
        lines.insert(1, "|" + "---|" * len(cells))
    return "\n".join(lines)


_APART = frozenset({"p", "list", "item", "quote", "table", "row", "cell", "head", "div"})


def _flow(element: Any, *, without: str = "") -> str:
    """The words of an element as a reader sees them: blanks joined, a line each for what stands apart."""
    pieces: list[str] = []
    _gather(element, without, pieces)
    lines = "".join(pieces).split("\n")
    return "\n".join(line for line in (_BLANK.sub(" ", line).strip(" ") for line in lines) if line)


def _gather(element: Any, without: str, pieces: list[str]) -> None:
    """Appends what stands in an element; the only line ends in it are those of the page's structure."""
    if element.text:
        pieces.append(normalise(element.text).replace("\n", " "))
    for child in element:
        if child.tag == "lb":
            pieces.append("\n")
        elif child.tag != without:
            apart = child.tag in _APART
            if apart:
                pieces.append("\n")
            _gather(child, without, pieces)
            if apart:
                pieces.append("\n")
        if child.tail:
            pieces.append(normalise(child.tail).replace("\n", " "))


def _raw(element: Any) -> Iterator[str]:
    """The text of code, white space and all."""
    yield element.text or ""
    for child in element:
        yield "\n" if child.tag == "lb" else ""
        yield from _raw(child)
        yield child.tail or ""

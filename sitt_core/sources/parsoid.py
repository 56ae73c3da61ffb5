"""What MediaWiki's HTML holds besides an article's text, and how an article's text is read from it."""

import re
from typing import Any
from urllib.parse import unquote

from sitt_core.sources.html import classes, named, outline_html, plain_title
from sitt_core.sources.outline import Outline

CHROME = named(
    "reference Inline-Template mw-editsection noprint navbox navbox-styles vertical-navbox navbar sidebar metadata ambox "
    "mbox-small tmbox hatnote dablink shortdescription mw-empty-elt reflist mw-references-wrap mw-references references "
    "mw-ref geo-nondefault geo-multi-punct mw-kartographer mw-kartographer-map mw-kartographer-container portalbox portal "
    "portal-bar side-box sistersitebox authority-control catlinks toc mw-indicators printfooter mw-jump-link Z3988 sortkey "
    "ext-phonos phonos mwe-math-fallback-image-inline mwe-math-fallback-image-display"
)
"""The classes of what is around an article, not in it."""
CUT = frozenset(
    plain_title(title)
    for title in (
        *("References", "Reference", "References and notes", "Notes and references", "References and sources", "Sources and references"),
        *("Notes", "Footnotes", "Endnotes", "Explanatory notes", "Notes and citations", "Citations", "Citations and notes"),
        *("Sources", "Cited sources", "Sources cited", "General sources", "Works cited", "Literature cited", "General references"),
        *(
            "General and cited references",
            "General and cited sources",
            "Bibliography",
            "Further reading",
            "External links",
            "External link",
        ),
        *("See also", "Further reading and external links", "Notes and sources", "References and further reading"),
    )
)
"""The sections that are left out whole, by `plain_title`."""
NAMESPACES = named(
    "file image media special template category help portal wikipedia project user draft module mediawiki talk book timedtext"
)
_TYPES = ("mw:Extension/templatestyles", "mw:Extension/ref", "mw:Extension/references", "mw:Extension/indicator")
_REVISION = re.compile(r"/revision/(\d+)$")


def is_chrome(element: Any) -> bool:
    """Whether an element is around the article and not in it."""
    names = classes(element) if element.get("class") else ()
    if names and not CHROME.isdisjoint(names):
        return True
    if "refbegin" in names:  # a list of sources; one of a writer's own works is set in the same columns
        return any("citation" in classes(cite) for cite in element.iter("cite"))
    if element.get("id") in ("coordinates", "toc", "siteSub", "contentSub") or element.get("role") == "navigation":
        return True
    kinds = element.get("typeof")
    return bool(kinds) and not set(_TYPES).isdisjoint(kinds.split())


def outline_article(root: Any) -> Outline:
    """An article's own text: no references, notices or navigation."""
    return outline_html(root, dropped=is_chrome, cut=CUT)


def redirect_target(root: Any) -> str:
    """Where a page that is nothing but a redirect points, as a title; "" for an article."""
    for link in root.iter("link"):
        if "mw:PageProp/redirect" in (link.get("rel") or "").split():
            return link_target(link)[0] or "another page"
    return ""


def revision_of(root: Any) -> str:
    """The revision that the HTML says it is of; "" when it does not say."""
    found = _REVISION.search(root.get("about") or "")
    return found[1] if found else ""


def link_target(link: Any) -> tuple[str, str]:
    """The title and the fragment that a wiki link points to; ("", "") for a link that leads elsewhere."""
    href = link.get("href") or ""
    if not href.startswith("./"):
        return "", ""
    path, _, fragment = href[2:].partition("#")
    title = " ".join(unquote(path.partition("?")[0]).replace("_", " ").split())
    return title, unquote(fragment)


def is_article_title(title: str) -> bool:
    """Whether a title is of the articles' namespace, as far as its prefix tells."""
    prefix, colon, _ = title.lstrip(":").partition(":")
    name = prefix.strip().casefold()
    return bool(title) and not (colon and (name in NAMESPACES or name.endswith(" talk")))


def is_red(link: Any) -> bool:
    """Whether a link says that nobody has written its article yet."""
    return "new" in classes(link) or "redlink=1" in (link.get("href") or "")

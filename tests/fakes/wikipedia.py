"""A stand-in for Wikipedia on loopback: the Action API and MediaWiki's REST API as they behave, redirects and throttling included."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from tests.fakes.site import FakeSite, Handler

LIST = "List of cryptids"
LICENSE = {"url": "https://creativecommons.org/licenses/by-sa/4.0/deed.en", "title": "Creative Commons Attribution-Share Alike 4.0"}
THROTTLED = "<!DOCTYPE html><html><title>Wikimedia Error</title><body><h1>Too many requests</h1></body></html>"
GROUPS = ("Aquatic or semi-aquatic", "Terrestrial", "Winged")
CHROME = (
    '<div class="hatnote" about="#mwt9" typeof="mw:Transclusion">Not to be confused with the hatnote.</div>'
    '<div class="shortdescription noprint">A short description</div><style data-mw-deduplicate="r1">.navbox{color:red}</style>'
)
REFERENCES = (
    '<section data-mw-section-id="9"><h2 id="References">References </h2><div class="mw-references-wrap"><ol class="mw-references references">'
    '<li><span class="mw-reference-text">Doe, J. Archived from the original. Retrieved 1 May 2020.</span></li></ol></div></section>'
    '<div role="navigation" class="navbox"><table><tr><th>Navigation box</th></tr></table></div>'
)


@dataclass
class WikiPage:
    """A page: its HTML's body, its revision and namespace; `redirect` is where it sends readers, with a fragment or not."""

    body: str = ""
    revision: int = 1
    namespace: int = 0
    redirect: str = ""
    extract: str = ""


@dataclass
class FakeWikipedia(FakeSite):
    """The wiki; `wiki` holds its pages by title and can change meanwhile.

    `throttled` answers the next so many requests with 429, `lagging` the next queries with maxlag; `slow` is the seconds
    that every answer takes by the clock. `hops` is how far a query follows redirects; `continued` parts its answers in two.
    """

    wiki: dict[str, WikiPage] = field(default_factory=dict)
    throttled: int = 0
    retry_after: str = "7"
    lagging: int = 0
    slow: float = 0.0
    hops: int = 9
    continued: bool = False
    license: Mapping[str, str] | None = field(default_factory=lambda: dict(LICENSE))

    def __post_init__(self) -> None:
        self.otherwise = self.answer

    def answer(self, handler: Handler) -> None:
        """Answers one request."""
        self.clock.now += self.slow
        address = urlsplit(handler.path)
        if self.throttled:
            self.throttled -= 1
            return handler.send(429, THROTTLED, {"Retry-After": self.retry_after, "Content-Type": "text/html"})
        if address.path == "/w/api.php":
            return self._action(handler, {name: values[0] for name, values in parse_qs(address.query, keep_blank_values=True).items()})
        found = re.fullmatch(r"/w/rest\.php/v1/page/([^/]+)/with_html", address.path)
        return self._page(handler, unquote(found[1]), address.query) if found else handler.send(404, "no such place")

    def _action(self, handler: Handler, asked: Mapping[str, str]) -> None:
        if self.lagging:
            self.lagging -= 1
            return _json(
                handler, {"error": {"code": "maxlag", "info": "Waiting for a database server: 6 seconds lagged"}}, {"Retry-After": "5"}
            )
        if asked.get("meta") == "siteinfo":
            rights = {"url": LICENSE["url"], "text": LICENSE["title"]}
            return _json(handler, {"batchcomplete": True, "query": {"rightsinfo": rights}})
        titles = asked["titles"].split("|")
        assert len(titles) <= 50, "Wikipedia takes 50 titles a query"
        query: dict[str, Any] = {"normalized": [], "redirects": [], "pages": []}
        listed: dict[str, None] = {}
        for title in titles:
            normal = normal_title(title)
            if normal != title:
                query["normalized"].append({"fromencoded": False, "from": title, "to": normal})
            listed[self._follow(normal, query["redirects"]) if "redirects" in asked else normal] = None
        query["pages"] = [self._facts(title, asked) for title in listed]
        answer = {"batchcomplete": True, "query": {name: value for name, value in query.items() if value}}
        if self.continued and "info" in asked["prop"]:
            answer = self._part(answer, asked)
        return _json(handler, answer)

    def _part(self, answer: dict[str, Any], asked: Mapping[str, str]) -> dict[str, Any]:
        """Half of the pages now, and the rest for whoever continues."""
        pages = answer["query"]["pages"]
        half = len(pages) // 2
        if asked.get("continue") == "||" and asked.get("incontinue"):
            return {"query": {**answer["query"], "pages": pages[half:]}}
        bare = [{name: value for name, value in page.items() if name in ("title", "ns", "missing")} for page in pages[half:]]
        return {"continue": {"incontinue": "5", "continue": "||"}, "query": {**answer["query"], "pages": [*pages[:half], *bare]}}

    def _follow(self, title: str, redirects: list[dict[str, str]]) -> str:
        for _ in range(self.hops):
            page = self.wiki.get(title)
            if page is None or not page.redirect or any(each["from"] == title for each in redirects):
                break
            target, _, fragment = page.redirect.partition("#")
            redirects.append({"from": title, "to": target, **({"tofragment": fragment} if fragment else {})})
            title = target
        return title

    def _facts(self, title: str, asked: Mapping[str, str]) -> dict[str, Any]:
        page = self.wiki.get(title)
        if page is None:
            return {"ns": 0, "title": title, "missing": True}
        number = list(self.wiki).index(title) + 1
        facts: dict[str, Any] = {"pageid": number, "ns": page.namespace, "title": title, "revisions": [{"revid": page.revision}]}
        if "info" in asked["prop"]:
            facts |= {"lastrevid": page.revision, "canonicalurl": f"https://en.wikipedia.org/wiki/{quote(title.replace(' ', '_'))}"}
            facts |= {"redirect": True} if page.redirect else {}
        if "extracts" in asked["prop"]:
            facts["extract"] = page.extract
        return facts

    def _page(self, handler: Handler, key: str, query: str) -> None:
        title = key.replace("_", " ")
        if key != normal_title(title).replace(" ", "_"):
            return self._move(handler, 301, normal_title(title), query)
        page = self.wiki.get(title)
        if page is None:
            error = {"errorKey": "rest-nonexistent-title", "httpCode": 404, "httpReason": "Not Found"}
            return _json(handler, {**error, "messageTranslations": {"en": f"The specified title ({key}) does not exist"}}, status=404)
        if page.redirect and "redirect=no" not in query:
            return self._move(handler, 307, page.redirect.partition("#")[0], "redirect=no")
        html = page_html(title, page)
        etag = f'"{page.revision}/{hashlib.sha256(html.encode()).hexdigest()[:8]}/view/with_html"'
        if handler.headers.get("If-None-Match") == etag:
            return handler.send(304, b"", {"ETag": etag})
        told = {
            "id": list(self.wiki).index(title) + 1,
            "key": key,
            "title": title,
            "latest": {"id": page.revision, "timestamp": "2026-11-01T00:00:00Z"},
            "content_model": "wikitext",
            **({"license": self.license} if self.license else {}),
            "html": html,
        }
        return _json(handler, told, {"ETag": etag})

    def _move(self, handler: Handler, status: int, title: str, query: str) -> None:
        path = f"/w/rest.php/v1/page/{quote(title.replace(' ', '_'), safe='')}/with_html"
        handler.send(status, b"", {"Location": f"{path}?{query}" if query else path, "Cache-Control": "max-age=60"})

    def articles_asked(self) -> list[str]:
        """The titles whose HTML was asked for, in order."""
        return [unquote(asked.path.split("/")[5]).replace("_", " ") for asked in self.asked if "/page/" in asked.path]

    def queries(self) -> int:
        """How many batch queries there were."""
        return sum("/api.php" in asked.path for asked in self.asked)


def _json(handler: Handler, told: object, headers: Mapping[str, str] | None = None, *, status: int = 200) -> None:
    handler.send(status, json.dumps(told), {"Content-Type": "application/json", **(headers or {})})


def normal_title(title: str) -> str:
    """A title as the wiki keeps it: the first letter large, blanks for underscores."""
    clean = " ".join(title.replace("_", " ").split())
    return clean[:1].upper() + clean[1:]


def page_html(title: str, page: WikiPage) -> str:
    """A page's HTML with the head that Parsoid gives it; a redirect is a stub."""
    stub = f'<link rel="mw:PageProp/redirect" href="./{quote(page.redirect.replace(" ", "_"))}" id="mwAg"/>'
    return (
        '<!DOCTYPE html>\n<html prefix="mw: http://mediawiki.org/rdf/" '
        f'about="https://en.wikipedia.org/wiki/Special:Redirect/revision/{page.revision}"><head><meta charset="utf-8"/>'
        f'<title>{escape(title)}</title></head><body lang="en">{stub if page.redirect else page.body}</body></html>'
    )


def article(title: str, *paragraphs: str, revision: int = 1, more: str = "") -> WikiPage:
    """An article as Parsoid writes it: notices, an infobox, a lead, a section, `more`, references and a navigation box."""
    told = paragraphs or (f"{escape(title)} is said to live in the lake.",)
    infobox = (
        '<table class="infobox" about="#mwt2" typeof="mw:Transclusion"><tbody>'
        f'<tr><th colspan="2">{escape(title)}</th></tr><tr><th scope="row">Country</th><td>Scotland</td></tr></tbody></table>'
    )
    lead = "".join(f'<p>{each}<sup class="mw-ref reference" typeof="mw:Extension/ref"><a><span>[1]</span></a></sup></p>' for each in told)
    return WikiPage(
        f'<section data-mw-section-id="0">{CHROME}{infobox}{lead}</section>'
        f'<section data-mw-section-id="1"><h2 id="History">History</h2><p>First seen in 1933.</p></section>{more}{REFERENCES}',
        revision,
        extract="\n".join([*told, "", "", "== History ==", "First seen in 1933.", "", "== References =="]),
    )


def link(target: str, text: str = "", *, red: bool = False) -> str:
    """A wiki link as Parsoid writes it."""
    href = quote(target.replace(" ", "_"), safe="()#,':") + ("?action=edit&amp;redlink=1" if red else "")
    classes = ' class="new" typeof="mw:LocalizedAttrs"' if red else ""
    return f'<a rel="mw:WikiLink" href="./{href}" title="{escape(target)}"{classes}>{escape(text or target)}</a>'


def row(name: str, other: str = "", description: str = "", location: str = "") -> str:
    """A row of the list's table; `name` is HTML."""
    cells = (name, other, description, location, '<figure><img src="x.jpg"/><figcaption>A picture</figcaption></figure>')
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def list_page(
    groups: Mapping[str, Sequence[str]],
    *,
    columns: Sequence[str] = ("Name", "Other names", "Description", "Purported location", "Depiction"),
    level: int = 3,
    revision: int = 1,
) -> WikiPage:
    """The list article: a table of rows for each group, under headings of that level."""
    head = "".join(f"<th>{column}</th>" for column in columns)
    tables = "".join(
        f'<section data-mw-section-id="{number}"><h{level} id="g{number}">{name}</h{level}><table class="wikitable sortable"><tbody>'
        f"<tr>{head}</tr>{''.join(rows)}</tbody></table></section>"
        for number, (name, rows) in enumerate(groups.items(), 2)
    )
    seen = (
        '<section data-mw-section-id="8"><h2>See also</h2><ul><li><a rel="mw:WikiLink" href="./Folklore">Folklore</a></li></ul></section>'
    )
    body = f'<section data-mw-section-id="0"><p>Cryptids are animals.</p></section><section data-mw-section-id="1"><h2>List</h2>{tables}</section>'
    return WikiPage(body + seen + REFERENCES, revision)


def beasts(count: int = 140) -> dict[str, WikiPage]:
    """A wiki with the list and so many articles, in three groups, names with everything that titles may hold."""
    titles = list(_titles(count))
    groups: dict[str, list[str]] = {group: [] for group in GROUPS}
    for number, title in enumerate(titles):
        groups[GROUPS[number % 3]].append(row(link(title), f"Old {title}", f"Seen {number} times", f"Lake {number}"))
    pages = {title: article(title, f"The story of {escape(title)}, number {number}.") for number, title in enumerate(titles)}
    return {LIST: list_page(groups), **pages}


def _titles(count: int) -> Iterator[str]:
    odd = (
        "AC/DC beast",
        "Who?",
        "50% wolf",
        "Black & white",
        "Storsjöodjuret",
        "雪男",
        "Ahuizotl (mythology)",
        "Devil's bird",
        "A+B",
        "N:o 5",
    )
    yield from odd[:count]
    for number in range(count - len(odd)):
        yield f"Beast {number}"

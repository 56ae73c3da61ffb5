"""What a MediaWiki answers: which page a title leads to, and a page's text with its revision and licence."""

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from sitt_core.errors import SourceError, shown
from sitt_core.sources.fetch import Fetched, Fetcher

BATCH = 50
"""Titles that one query may ask about."""
MAX_QUERY = 6000
"""Characters of a query's titles as they are sent: longer addresses are refused by servers."""
MAX_CONTINUATIONS = 20
NOT_STATED = "not stated"

_NO_TITLE = re.compile(r"[<>\[\]{}|#\x00-\x1f\x7f\ufffd]")
_CREATIVE_COMMONS = re.compile(r"https?://creativecommons\.org/(?:licenses/([a-z-]+)|publicdomain/(zero))/(\d\.\d)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Page:
    """What a title leads to: the page in the end, its current revision and address; `revision` is 0 where there is none.

    `through` are the redirects on the way, the first one asked for; `fragment` the section that the last one names.
    `namespace` is 0 for articles. `problem` says why there is no page.
    """

    title: str
    revision: int = 0
    url: str = ""
    namespace: int = 0
    through: tuple[str, ...] = ()
    fragment: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class PageText:
    """A page as it was fetched: its HTML (or plain text), the revision that is of, its licence, and when."""

    title: str
    revision: int
    license: str
    body: str
    fetched_at: str


def clean_title(title: str) -> str:
    """A title as wikis compare it: blanks for underscores, single, none around it."""
    return " ".join(title.replace("_", " ").split())


class Wiki:
    """A MediaWiki at an address such as https://en.wikipedia.org, asked through a fetcher."""

    def __init__(self, base_url: str, fetcher: Fetcher) -> None:
        self.base, self._fetcher = base_url.rstrip("/"), fetcher
        self._rights = ""

    @property
    def name(self) -> str:
        """What an attribution calls it."""
        host = urlsplit(self.base).hostname or self.base
        return "Wikipedia" if host.endswith("wikipedia.org") else host

    def permalink(self, revision: int) -> str:
        """The address of one revision, for ever."""
        return f"{self.base}/w/index.php?oldid={revision}"

    def address(self, title: str) -> str:
        """Where readers find a page."""
        return f"{self.base}/wiki/{quote(title.replace(' ', '_'), safe='()!,:')}"

    def pages(self, titles: Iterable[str]) -> dict[str, Page]:
        """What each title leads to, asked by the batch; raises SourceError when the wiki does not answer."""
        found: dict[str, Page] = {}
        wanted = []
        for title in dict.fromkeys(map(clean_title, titles)):
            if not title or _NO_TITLE.search(title) or len(title.encode()) > 255:
                found[title] = Page(title, problem="no title that a page can have")
            else:
                wanted.append(title)
        for batch in _batches(wanted):
            found |= self._look_up(batch)
        return found

    def _look_up(self, titles: Sequence[str]) -> dict[str, Page]:
        asked = {
            "action": "query",
            "redirects": "1",
            "prop": "info|revisions",
            "inprop": "url",
            "rvprop": "ids",
            "titles": "|".join(titles),
        }
        normalized: dict[str, str] = {}
        redirects: dict[str, tuple[str, str]] = {}
        pages: dict[str, Mapping[str, Any]] = {}
        answers = list(self._query(asked))
        with _shaped():
            for answer in answers:
                for each in answer.get("normalized", ()):
                    normalized[unquote(each["from"]) if each.get("fromencoded") else each["from"]] = each["to"]
                redirects |= {each["from"]: (each["to"], each.get("tofragment", "")) for each in answer.get("redirects", ())}
                for page in _listed(answer.get("pages", ())):
                    pages[page.get("title", "")] = {**pages.get(page.get("title", ""), {}), **page}
            return {title: self._page(title, normalized, redirects, pages) for title in titles}

    def _page(
        self,
        asked: str,
        normalized: Mapping[str, str],
        redirects: Mapping[str, tuple[str, str]],
        pages: Mapping[str, Mapping[str, Any]],
    ) -> Page:
        title, fragment, through = normalized.get(asked, asked), "", list[str]()
        while title in redirects:
            if title in through:
                return Page(asked, through=tuple(through), problem="redirects that lead in a circle")
            through.append(title)
            title, fragment = redirects[title]
        facts = pages.get(title)
        if facts is None:
            return Page(asked, through=tuple(through), problem="nothing that the wiki knows")
        if "missing" in facts or "invalid" in facts or "pageid" not in facts:
            return Page(title, through=tuple(through), problem="no such page" if "missing" in facts else "no title that a page can have")
        revisions = facts.get("revisions") or [{}]
        revision = facts.get("lastrevid") or revisions[0].get("revid") or 0
        url = facts.get("canonicalurl") or self.address(title)
        if facts.get("redirect"):
            return Page(title, through=tuple(through), problem="a double redirect: a redirect that leads to a redirect")
        return Page(title, int(revision), str(url), int(facts.get("ns", 0)), tuple(through), fragment)

    def _query(self, asked: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
        """A query's answers, continued to the end."""
        going_on: dict[str, str] = {}
        for _ in range(MAX_CONTINUATIONS):
            told, _ = self._action({**asked, **going_on})
            yield _mapping(told.get("query", {}), "a query's answer")
            going_on = {name: str(value) for name, value in _mapping(told.get("continue", {}), "how a query goes on").items()}
            if not going_on:
                return
        raise SourceError(expected="a query that ends", got="one that always goes on", remedy="Try again later; the wiki is at fault.")

    def _action(self, asked: Mapping[str, str], *, keep: int = 0) -> tuple[Mapping[str, Any], Fetched]:
        """The Action API's answer; a kept one that holds the text of revision `keep` is enough."""
        query = urlencode({**asked, "format": "json", "formatversion": "2", "maxlag": "5"}, quote_via=quote)
        url = f"{self.base}/w/api.php?{query}"
        kept = self._fetcher.kept(url) if keep else None
        if kept is not None:
            with contextlib.suppress(SourceError):
                told = _json(kept)
                if _extracted(told)[0] == keep:
                    return told, kept
        fetched = self._fetcher.get(url, busy=_is_late)
        told = _json(fetched)
        if "error" in told:
            error = _mapping(told["error"], "an error")
            raise SourceError(
                expected=f"{self.name} to answer a query",
                got=f"{shown(error.get('code'))}: {shown(error.get('info'))}",
                remedy="Try again later; what was fetched before is kept.",
            )
        return told, fetched

    def kept_html(self, page: Page) -> PageText | None:
        """A page's HTML at its current revision when the cache holds it."""
        kept = self._fetcher.kept(self._html_address(page))
        with contextlib.suppress(SourceError):  # what could not be used then is asked for again
            return self._page_text(page, kept) if kept and _revision(kept) == page.revision else None
        return None

    def html(self, page: Page) -> PageText:
        """A page's HTML, asked for; raises SourceError."""
        return self._page_text(page, self._fetcher.get(self._html_address(page)))

    def _html_address(self, page: Page) -> str:
        # Redirects were resolved before: a page that has become one since gives itself, and is told by that.
        return f"{self.base}/w/rest.php/v1/page/{quote(page.title.replace(' ', '_'), safe='')}/with_html?redirect=no"

    def _page_text(self, page: Page, got: Fetched) -> PageText:
        told = _json(got)
        html, model = told.get("html"), told.get("content_model", "wikitext")
        if not isinstance(html, str) or not html.strip() or not _revision(got):
            raise SourceError(
                expected=f"the HTML and the revision of {page.title}",
                got=f"a reply without them: {shown(told.get('message') or sorted(told)[:8])}",
                remedy="Try again later; what was fetched before is kept.",
            )
        if model != "wikitext":
            raise SourceError(expected=f"{page.title} to be an article", got=f"a page of {shown(model)}", remedy="Leave it out.")
        license_ = told.get("license")
        return PageText(
            str(told.get("title") or page.title),
            _revision(got),
            license_name(license_.get("title"), license_.get("url")) if isinstance(license_, dict) else NOT_STATED,
            html,
            got.fetched_at,
        )

    def extract(self, page: Page) -> PageText:
        """A page's plain text with its headings between equals signs, as above; the wiki gives one page at a time."""
        asked = {
            "action": "query",
            "prop": "extracts|revisions",
            "rvprop": "ids",
            "explaintext": "1",
            "exsectionformat": "wiki",
            "titles": page.title,
        }
        told, got = self._action(asked, keep=page.revision)
        revision, text = _extracted(told)
        if not revision or not text.strip():
            raise SourceError(expected=f"the text of {page.title}", got="none", remedy="Leave format=extract out: the page may be a table.")
        return PageText(page.title, revision, self.rights(), text, got.fetched_at)

    def rights(self) -> str:
        """The licence of all the wiki's texts, asked for once."""
        if not self._rights:
            told, _ = self._action({"action": "query", "meta": "siteinfo", "siprop": "rightsinfo"})
            rights = _mapping(_mapping(told.get("query", {}), "site information").get("rightsinfo", {}), "the wiki's licence")
            self._rights = license_name(rights.get("text"), rights.get("url"))
        return self._rights


def license_name(title: object, url: object) -> str:
    """A licence as an excerpt carries it: the short name of a Creative Commons one, and its address."""
    told = clean_title(title) if isinstance(title, str) else ""
    address = url.strip() if isinstance(url, str) and re.match(r"(?:https?:)?//", url.strip()) else ""
    address = f"https:{address}" if address.startswith("//") else address
    found = _CREATIVE_COMMONS.match(address)
    name = (f"CC {found[1].upper()} {found[3]}" if found[1] else f"CC0 {found[3]}") if found else told
    if not name and not address:
        return NOT_STATED
    return f"{name}, {address}" if name and address else name or address


def _batches(titles: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    length = 0
    for title in titles:
        size = len(quote(title, safe="")) + 3
        if batch and (len(batch) == BATCH or length + size > MAX_QUERY):
            yield batch
            batch, length = [], 0
        batch.append(title)
        length += size
    if batch:
        yield batch


def _is_late(fetched: Fetched) -> bool:
    """Whether a 200 is the API's way to say that it has too much to do."""
    if b'"error"' not in fetched.body[:2000]:
        return False
    try:
        told = json.loads(fetched.body)
        return told["error"]["code"] in ("maxlag", "ratelimited")
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def _json(fetched: Fetched) -> Mapping[str, Any]:
    """The reply as a JSON object; raises SourceError that says what came instead."""
    try:
        return _mapping(json.loads(fetched.body.decode("utf-8-sig")), "a reply")
    except (ValueError, RecursionError):
        kind = fetched.media_type or "something"
        raise SourceError(
            expected=f"JSON from {urlsplit(fetched.url).hostname}",
            got=f"{kind} that is none, with status {fetched.status}: {shown(fetched.body[:80])}",
            remedy="Check the wiki's address (SITT_WIKIPEDIA_URL); a page to sign in or an error may be in the way.",
        ) from None


def _mapping(value: object, what: str) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    raise SourceError(expected=f"{what} to be a JSON object", got=shown(value), remedy="Try again later; the wiki is at fault.")


def _listed(pages: object) -> list[Mapping[str, Any]]:
    """The pages of an answer: a list, or as older wikis send it a mapping."""
    found = list(pages.values()) if isinstance(pages, dict) else pages
    return [page for page in found if isinstance(page, dict)] if isinstance(found, list) else []


def _revision(fetched: Fetched) -> int:
    latest = _json(fetched).get("latest")
    revision = latest.get("id") if isinstance(latest, dict) else None
    return revision if isinstance(revision, int) else 0


def _extracted(told: Mapping[str, Any]) -> tuple[int, str]:
    query = told.get("query")
    with _shaped():
        for page in _listed(query.get("pages", ()) if isinstance(query, dict) else ()):
            revisions = page.get("revisions") or [{}]
            return int(revisions[0].get("revid") or 0), str(page.get("extract") or "")
    return 0, ""


@contextlib.contextmanager
def _shaped() -> Iterator[None]:
    """Turns what reading JSON of another shape raises into SourceError."""
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise SourceError(
            expected="an answer as MediaWiki's API gives it",
            got=f"JSON of another shape ({type(error).__name__}: {shown(str(error))})",
            remedy="Check the wiki's address (SITT_WIKIPEDIA_URL); try again later.",
        ) from error

"""How the pages that a site's sitemap lists become documents: which, in which order, when again, and what goes wrong."""

import contextlib
import hashlib
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import urljoin, urlsplit, urlunsplit
from xml.parsers import expat

from sitt_core.errors import InvalidInput, SourceError, shown
from sitt_core.sources.fetch import Fetched, Fetcher, text_of
from sitt_core.sources.options import parse_options, whole_number
from sitt_core.sources.page import VERSION as PAGE_VERSION
from sitt_core.sources.page import read_page
from sitt_core.sources.robots import ALLOW_ALL, Robots, parse_robots
from sitt_core.text import normalise
from sitt_core.types import Document, Failure, Listing, Report

AGENT = "SITTLab"
"""The product token that a robots.txt may name."""
MAX_SITEMAP = 50 * 1024 * 1024
"""Bytes of a sitemap once unpacked: the protocol's own limit."""
MAX_ENTRIES = 50_000
"""Entries of one sitemap: the protocol's own limit."""
MAX_SITEMAPS = 500
MAX_DEPTH = 3
"""An index may name indexes that name sitemaps, and no more."""
MAX_PAGE = 5_000_000
MAX_ROBOTS = 5_000_000
MAX_URL = 4096
MAX_REDIRECTS = 5
DEFAULT_PAGES = 1000
MOST_PAGES = 50_000
FAILURES_IN_A_ROW = 10
"""After so many pages in a row that could not be fetched the rest is not asked for."""
MOST_ALIKE = 5
"""More pages than these that have one and the same text have none of their own."""
BECAME_ALIKE = 3
"""As do so many whose stored texts differed."""
MOST_NAMED = 3
"""So many of the things that a listing lacks are named."""
OPTIONS = {"hosts": "other hosts of the site, separated by commas", "limit": f"the most pages, {DEFAULT_PAGES:,} without it"}

_GZIP = b"\x1f\x8b"
_PACKED_IN_PACKED = 2
_MOST_MEMBERS = 64
_MOVED = (301, 302, 303, 307, 308)
_MOVED_FOR_GOOD = (301, 308)
_GONE = (404, 410)
_CLIENT_ERRORS = tuple(status for status in range(400, 500) if status != 429)
_HTML = ("", "text/html", "application/xhtml+xml")
_W3C = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d{1,9})?)?[ ]?([Zz]|[+-]\d\d:?\d\d)?)?)?)?", re.ASCII)
_ANYWHERE = timedelta(hours=12)
"""A day without a time zone may end so much later than it does in UTC."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a sitemap says of an address: a page's, or in an index another sitemap's. `lastmod` is as written."""

    url: str
    lastmod: str = ""


@dataclass(frozen=True, slots=True)
class Sitemap:
    """A sitemap that was read: whether it is an index, its entries in order, and why they may not be all."""

    is_index: bool
    entries: tuple[Entry, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """What `sitemap:URL#hosts=…&limit=…` names."""

    url: str
    hosts: tuple[str, ...] = ()
    limit: int = DEFAULT_PAGES

    @property
    def origin(self) -> str:
        """How a corpus names this source."""
        parts = urlsplit(self.url)
        return f"sitemap:{_host(self.url)}{parts.path.rstrip('/')}{'?' + parts.query if parts.query else ''}"

    @property
    def own_hosts(self) -> frozenset[str]:
        """The site's host with and without www, and those that were allowed."""
        host = _host(self.url)
        return frozenset({host, f"www.{host}", host.removeprefix("www."), *self.hosts})


def parse_place(text: str) -> Place:
    """The sitemap's address and options; an address alone (a site's) means the sitemaps that its robots.txt names.

    Options stand after #, which is never sent to a site and so belongs to none of its addresses. Raises InvalidInput.
    """
    url, _, written = text.strip().partition("#")
    try:
        parts = urlsplit(url)
        usable = parts.scheme.lower() in ("http", "https") and bool(parts.hostname) and parts.username is None and parts.port != 0
    except ValueError:
        usable = False
    if not usable or len(url) > MAX_URL or normalise(url) != url:
        raise InvalidInput(
            expected="the address of a sitemap, such as https://example.org/sitemap.xml", got=shown(url), remedy="Give the whole address."
        )
    options = parse_options(written, of="a sitemap", known=OPTIONS)
    hosts = tuple(host.lower() for host in options.get("hosts", ()))
    wrong = [host for host in hosts if not re.fullmatch(r"[^\s/@:?#]+(?::[0-9]{1,5})?", host)]
    if wrong:
        raise InvalidInput(
            expected="hosts such as docs.example.org", got=", ".join(map(shown, wrong)), remedy="Leave out https:// and paths."
        )
    return Place(url, hosts, whole_number(options, "limit", default=DEFAULT_PAGES, most=MOST_PAGES))


def _nobody(stage: str, done: int, total: int) -> None:
    """Takes the progress of whoever is not asked for it."""


def read_sitemap(place: Place, *, fetcher: Fetcher, stored: Iterable[Document] = (), report: Report = _nobody) -> Listing:
    """Every page that the sitemap lists as a document, by host and path; what cannot be one is a failure with its reason.

    A page whose `lastmod` is the one that its `stored` document was read under, and lies before that reading, is that
    document: nothing is asked. Sitemaps that fail, limits that are reached and a site that stops answering make the
    listing incomplete. Raises SourceError when robots.txt or the sitemap itself cannot be read, or it names no page.
    """
    known = {document.id: document for document in stored if document.origin == place.origin}
    return _Reading(place, fetcher, known, report).listing()


@dataclass(slots=True)
class _Reading:
    """One reading of a site: what has been found so far."""

    place: Place
    fetcher: Fetcher
    known: dict[str, Document]
    report: Report
    robots: dict[str, Robots | SourceError] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    pages: dict[str, Entry] = field(default_factory=dict)
    elsewhere: dict[str, int] = field(default_factory=dict)
    closed: int = 0
    failures: list[Failure] = field(default_factory=list)
    ends: set[str] = field(default_factory=set)
    in_a_row: int = 0
    unchanged: int = 0
    lacking: list[str] = field(default_factory=list)

    def listing(self) -> Listing:
        self._robots_of(self.place.url)
        roots = self._roots()
        for root in roots:
            self._sitemap(root, depth=1, alone=len(roots) == 1)
        if not self.pages and not self.failures:
            raise SourceError(
                expected="a sitemap that names pages of its site",
                got=self._elsewhere() or f"none in {shown(self.place.url)}",
                remedy="Check the address in a browser; robots.txt of most sites names the sitemap.",
            )
        documents = self._documents()
        failures = tuple(failure for failure in self.failures if failure.id not in documents)
        notices, why = tuple(self._notices()), _joined(self.lacking)
        return Listing(self.place.origin, tuple(documents.values()), failures, not self.lacking, notices, why)

    def _notices(self) -> Iterator[str]:
        if self.elsewhere:
            yield f"Pages on other hosts were left out: {self._elsewhere()}. To read them too, write #hosts=… after the sitemap's address."
        if self.closed:
            yield f"Pages that robots.txt closes to programs were left out: {self.closed:,}."
        if self.unchanged:
            yield f"Pages that were not asked for, since the sitemap says they have not changed: {self.unchanged:,}."

    def _elsewhere(self) -> str:
        return ", ".join(f"{count:,} of {host}" for host, count in sorted(self.elsewhere.items())[:5])

    def _fail(self, id_: str, reason: object, *, lacking: str = "") -> None:
        """Notes a failure; `lacking` says what the listing lacks by it beyond the document of that id."""
        self.failures.append(Failure(id_, str(reason)))
        self.lacking += [lacking] if lacking else []

    # -- which pages

    def _roots(self) -> list[str]:
        """The sitemap's address, or for a site's the sitemaps that its robots.txt names (/sitemap.xml when it names none)."""
        parts = urlsplit(self.place.url)
        if parts.path.strip("/") or parts.query:
            return [self.place.url]
        named = self._robots_of(self.place.url).sitemaps
        return [urljoin(self.place.url, each) for each in named] or [urljoin(self.place.url, "/sitemap.xml")]

    def _sitemap(self, url: str, *, depth: int, alone: bool = False) -> None:
        """Adds the pages of a sitemap and of those it names. A failure is a warning, unless there is no other sitemap."""
        if _key(url) in self.seen:
            return
        self.seen.add(_key(url))
        try:
            if depth > MAX_DEPTH:
                raise SourceError(
                    expected=f"sitemaps at most {MAX_DEPTH} deep", got=f"{shown(url)} below them", remedy="Name the sitemap itself."
                )
            if len(self.seen) > MAX_SITEMAPS:
                raise SourceError(expected=f"at most {MAX_SITEMAPS} sitemaps", got="more", remedy="Name one of them instead.")
            self.report("read sitemaps", len(self.seen) - 1, len(self.seen))
            found = parse_sitemap(self._fetched(url, MAX_SITEMAP, sitemap=True)[0].body, url=url)
        except SourceError as error:
            if alone and depth == 1:
                raise
            self._fail(_id(url), error, lacking=f"the sitemap {_path(url)} could not be read")
            return
        if found.problem:
            self._fail(_id(url), found.problem, lacking=f"the sitemap {_path(url)} could not be read to its end")
        for entry in found.entries:
            if found.is_index and len(self.pages) <= self.place.limit:
                self._sitemap(entry.url, depth=depth + 1)
            elif not found.is_index:
                self._add(entry)

    def _add(self, entry: Entry) -> None:
        host = _host(entry.url)
        if host not in self.place.own_hosts:
            self.elsewhere[host] = self.elsewhere.get(host, 0) + 1
        else:
            self.pages.setdefault(_key(entry.url), entry)

    # -- what is on them

    def _documents(self) -> dict[str, Document]:
        """The pages as documents, by id."""
        documents: dict[str, Document] = {}
        entries = list(self.pages.values())
        if len(entries) > self.place.limit:
            self._fail(
                "limit",
                f"only the first {self.place.limit:,} pages were read, the sitemap names {len(entries):,} or more; "
                "for the others, write #limit=… after its address",
                lacking=f"the limit of {self.place.limit:,} pages was met",
            )
        for number, entry in enumerate(entries[: self.place.limit]):
            if self.in_a_row >= FAILURES_IN_A_ROW:
                left = min(len(entries), self.place.limit) - number
                why = f"{self.in_a_row} pages in a row could not be fetched"
                self._fail("stopped", f"{why}; {left:,} more were not asked for", lacking=why)
                break
            id_ = _id(entry.url)
            old = self.known.get(id_)
            if old is not None and _is_unchanged(entry, old):
                documents[id_] = old
                self.unchanged += 1
                continue
            self.report("read pages", number, min(len(entries), self.place.limit))
            if old is None and self._is_closed(entry.url):  # one that is stored fails, so that it stays
                self.closed += 1
                continue
            try:
                document = self._document(id_, entry, old)
            except SourceError as error:
                self._fail(id_, error)
            else:
                documents.update({id_: document} if document else {})
        for id_, others in self._alike(documents).items():
            url = documents.pop(id_).source.url
            alike = SourceError(
                expected=f"a page with a text of its own at {shown(url)}",
                got=f"the text of {others:,} other pages too, as of a notice to everybody (status 200)",
                remedy="Open the address in a browser; the site may be under repair, or ask who reads it to sign in.",
            )
            self._fail(id_, alike)
        self.lacking += [] if documents else ["none of the pages could be read"]
        return documents

    def _is_closed(self, url: str) -> bool:
        """Whether robots.txt does not let us read a page; one that cannot be read itself fails with the page."""
        with contextlib.suppress(SourceError):
            return not self._robots_of(url).allows(url)
        return False

    def _alike(self, documents: Mapping[str, Document]) -> dict[str, int]:
        """The pages read now that have one text with many others read now, and with how many."""
        groups: dict[str, list[str]] = {}
        for id_, document in documents.items():
            old = self.known.get(id_)
            if old is None or old.text != document.text:
                groups.setdefault(document.text, []).append(id_)
        found: dict[str, int] = {}
        for ids in groups.values():
            were = {self.known[id_].text for id_ in ids if id_ in self.known}
            if len(ids) > MOST_ALIKE or len(were) >= BECAME_ALIKE:
                found |= dict.fromkeys(ids, len(ids) - 1)
        return found

    def _document(self, id_: str, entry: Entry, old: Document | None) -> Document | None:
        """A page as it is now; None for one that has moved for good to another page of the list."""
        fetched, for_good = self._fetched(entry.url, MAX_PAGE)
        end = _key(fetched.url)
        if end != _key(entry.url) and (end in self.pages or end in self.ends):
            if for_good:
                return None
            raise SourceError(
                expected=f"a page of its own at {shown(entry.url)}",
                got=f"a redirect to {shown(fetched.url)}, which is in the list too",
                remedy="Try again later; the site may be under repair.",
            )
        self.ends.add(end)
        if fetched.media_type not in _HTML:
            raise SourceError(
                expected=f"a page of HTML at {shown(fetched.url)}",
                got=fetched.media_type,
                remedy="Only pages are read; leave it out.",
            )
        under, made_from = _made_under(entry), _made_from(fetched)
        if old is not None and old.revision.endswith(f"-{made_from}"):
            return replace(old, revision=f"{under}-{made_from}")
        return read_page(
            text_of(fetched),
            id_=id_,
            url=fetched.url,
            origin=self.place.origin,
            revision=f"{under}-{made_from}",
            fetched_at=fetched.fetched_at,
            hosts=self.place.own_hosts,
        )

    # -- politely

    def _fetched(self, url: str, max_bytes: int, *, sitemap: bool = False) -> tuple[Fetched, bool]:
        """A reply, and whether all redirects to it are for good.

        They are followed only to hosts of the site and to where robots.txt lets us. A sitemap is there for programs, so
        that robots.txt is not asked about it.
        """
        here, for_good = url, True
        for _ in range(MAX_REDIRECTS + 1):
            self._require_own(here, url)
            if not sitemap and not self._robots_of(here).allows(here):
                raise SourceError(
                    expected=f"a page that robots.txt of {_host(here)} lets programs read",
                    got=shown(here),
                    remedy="Ask the site's owner, or leave it out.",
                )
            fetched = self._reply(here, max_bytes)
            if fetched.status not in _MOVED:
                return fetched, for_good
            for_good = for_good and fetched.status in _MOVED_FOR_GOOD
            target = _readable(fetched.headers.get("location", "").strip())
            here = _absolute(target, here) if target else ""
            if not here:
                raise SourceError(expected=f"{shown(url)} to be there", got="a redirect to nowhere", remedy="Leave it out.")
        raise SourceError(expected=f"at most {MAX_REDIRECTS} redirects from {shown(url)}", got="more", remedy="Leave it out.")

    def _require_own(self, here: str, url: str) -> None:
        if _host(here) not in self.place.own_hosts:
            raise SourceError(
                expected=f"an address of {_host(self.place.url)}",
                got=shown(here) if here == url else f"a redirect from {shown(url)} to {shown(here)}",
                remedy="To read it, write #hosts=… with its host after the sitemap's address.",
            )

    def _reply(self, url: str, max_bytes: int) -> Fetched:
        """One request; keeps count of those in a row that failed otherwise than by a page that is not there."""
        try:
            fetched = self.fetcher.get(url, max_bytes=max_bytes, allow=(*_MOVED, *_GONE))
        except SourceError:
            self.in_a_row += 1
            raise
        self.in_a_row = 0
        if fetched.status in _GONE:
            raise SourceError(
                expected=f"{shown(url)} to be there", got=f"status {fetched.status}: it is not", remedy="The site's list is not up to date."
            )
        return fetched

    def _robots_of(self, url: str) -> Robots:
        """The host's rules, asked for once. RFC 9309: none there means all is allowed; a server in trouble, that nothing is."""
        parts = urlsplit(url)
        site = f"{parts.scheme.lower()}://{parts.netloc.lower()}"
        if site not in self.robots:
            try:
                fetched = self.fetcher.get(f"{site}/robots.txt", max_bytes=MAX_ROBOTS, allow=_CLIENT_ERRORS)
            except SourceError as error:
                self.robots[site] = SourceError(
                    expected=f"robots.txt of {_host(url)}, or the answer that there is none",
                    got=error.got,
                    remedy=f"Without it nothing of the site may be read. {error.remedy}",
                )
            else:
                self.robots[site] = parse_robots(fetched.body, agent=AGENT) if fetched.status == 200 else ALLOW_ALL
        found = self.robots[site]
        if isinstance(found, SourceError):
            raise found
        return found


def _readable(header: str) -> str:
    """A header that was read as Latin-1, as HTTP has it, and holds UTF-8, as servers send it."""
    try:
        return header.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return header


def _host(url: str) -> str:
    """The host with its port, unless that is the scheme's own."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    host = (parts.hostname or "").lower()
    return host if port in (None, {"http": 80, "https": 443}.get(parts.scheme.lower())) else f"{host}:{port}"


def _path(url: str) -> str:
    """An address without its host."""
    return shown(_id(url).removeprefix(_host(url)) or "/").strip("'")


def _joined(clauses: Sequence[str]) -> str:
    """The first few clauses, and how many more there are."""
    more = f"; and {len(clauses) - MOST_NAMED:,} more" if len(clauses) > MOST_NAMED else ""
    return "; ".join(clauses[:MOST_NAMED]) + more


def _key(url: str) -> str:
    """What two spellings of an address have in common: no scheme, no fragment, the host in lower case."""
    parts = urlsplit(url)
    return urlunsplit(("", _host(url), parts.path or "/", parts.query, ""))


def _id(url: str) -> str:
    """A page's name in the corpus: host, path and query, so that two sites may both have an /about."""
    return normalise(_key(url).removeprefix("//")).removesuffix("/")


def _made_under(entry: Entry) -> str:
    """12 hex digits: this version of the reader, the address and its lastmod; "" for one that cannot be read."""
    if lastmod_end(entry.lastmod) is None:
        return ""
    return hashlib.sha256(repr((PAGE_VERSION, entry.url, entry.lastmod)).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _made_from(fetched: Fetched) -> str:
    """12 hex digits: this version of the reader, where the page was found, its bytes."""
    made_from = hashlib.sha256(repr((PAGE_VERSION, fetched.url, fetched.headers.get("content-type"))).encode())
    made_from.update(fetched.body)
    return made_from.hexdigest()[:12]


def _is_unchanged(entry: Entry, old: Document) -> bool:
    """Whether the page was read under this very lastmod, when that was past: later it cannot have changed under it."""
    end, under = lastmod_end(entry.lastmod), _made_under(entry)
    if end is None or not old.revision.startswith(f"{under}-"):
        return False
    try:
        read = datetime.fromisoformat(old.fetched_at)
    except ValueError:
        return False
    return read.tzinfo is not None and read >= end


def lastmod_end(text: str) -> datetime | None:
    """The moment after which a W3C date or time is surely past, in UTC; None for what cannot be read.

    A date lasts until its day is over everywhere on Earth, a minute until the next one.
    """
    found = _W3C.fullmatch(text.strip())
    if not found:
        return None
    year, month, day, hour, minute, second, zone = found.groups()
    with contextlib.suppress(ValueError, OverflowError):
        start = datetime(int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), min(int(second or 0), 59), tzinfo=UTC)
        if hour is not None:
            end = start + (timedelta(seconds=1) if second else timedelta(minutes=1))
            return end - _offset(zone) if zone else end + _ANYWHERE
        if day:
            return start + timedelta(days=1) + _ANYWHERE
        following = start.replace(month=start.month + 1) if month and start.month < 12 else start.replace(year=start.year + 1, month=1)
        return following + _ANYWHERE
    return None


def _offset(zone: str) -> timedelta:
    if zone in "Zz":
        return timedelta()
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    return timedelta(hours=hours, minutes=minutes) * (-1 if zone.startswith("-") else 1)


def parse_sitemap(data: bytes, *, url: str) -> Sitemap:
    """A sitemap or sitemap index, packed or not, whatever its namespace; also a plain list of addresses, one a line.

    One that breaks off gives what came before, and says so. Raises SourceError for anything else: a page, a feed, an
    entity, more than the protocol's limits.
    """
    unpacked, problem = _unpacked(data, url=url)
    text = unpacked.lstrip(b"\xef\xbb\xbf \t\r\n")
    read = _xml if text.startswith((b"<", b"\xff\xfe", b"\xfe\xff")) else _plain_list
    found = read(text, url=url)
    entries = tuple(entry for entry in found.entries if entry.url)
    return Sitemap(found.is_index, entries, problem or found.problem)


def _unpacked(data: bytes, *, url: str) -> tuple[bytes, str]:
    """The data without gzip, which its first bytes tell and not its name; with it, what was wrong at its end.

    What follows the packed data is ignored: it is padding, or garbage.
    """
    problem = ""
    for _ in range(_PACKED_IN_PACKED):
        if not data.startswith(_GZIP):
            break
        parts: list[bytes] = []
        whole = False
        for _ in range(_MOST_MEMBERS):
            unpacker = zlib.decompressobj(wbits=31)
            try:
                parts.append(unpacker.decompress(data, MAX_SITEMAP + 1))
            except zlib.error:
                if not any(parts):
                    raise _no_sitemap(url, "gzip that cannot be unpacked") from None
                break
            data, whole = unpacker.unused_data, unpacker.eof
            if not data.startswith(_GZIP) or sum(map(len, parts)) > MAX_SITEMAP:
                break
        else:
            whole = False
        data = b"".join(parts)
        problem = problem if whole else "its packed data breaks off; what came before was read"
        if len(data) > MAX_SITEMAP:
            break
    if len(data) > MAX_SITEMAP:
        raise _no_sitemap(url, f"more than {MAX_SITEMAP:,} bytes once unpacked")
    return data, problem


def _no_sitemap(url: str, got: str) -> SourceError:
    return SourceError(
        expected=f"a sitemap (urlset) or sitemap index at {shown(url)}",
        got=got,
        remedy="Open the address in a browser; robots.txt of most sites names the sitemap.",
    )


def _plain_list(text: bytes, *, url: str) -> Sitemap:
    lines = [line.strip() for line in text.decode("utf-8", "replace").splitlines()]
    urls = [line for line in lines if line]
    if not urls or not all(re.match(r"https?://\S+$", line) for line in urls[:20]):
        raise _no_sitemap(url, shown(urls[0]) if urls else "an empty answer")
    entries = tuple(Entry(_absolute(each, url)) for each in urls[:MAX_ENTRIES])
    return Sitemap(False, entries, f"only its first {MAX_ENTRIES:,} addresses were read" if len(urls) > MAX_ENTRIES else "")


class _TooMany(Exception):
    """More entries than a sitemap may have."""


@dataclass(slots=True)
class _Handler:
    """Collects entries while expat reads: the loc and lastmod directly in a url or sitemap element, by local name."""

    url: str
    path: list[str] = field(default_factory=list)
    root: str = ""
    entries: list[Entry] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)

    def start(self, name: str, _attributes: object) -> None:
        local = name.rpartition(":")[2].lower()
        if not self.path:
            self.root = local
            if local not in ("urlset", "sitemapindex"):
                raise _no_sitemap(self.url, "a page of HTML with status 200" if local == "html" else f"<{local[:40]}>")
        self.path.append(local)
        if len(self.path) == 2:
            self.texts = {}
        if len(self.path) > 100:
            raise _no_sitemap(self.url, "elements in one another without end")

    def end(self, _name: str) -> None:
        self.path.pop()
        if len(self.path) == 1 and self.texts.get("loc", "").strip():
            if len(self.entries) == MAX_ENTRIES:
                raise _TooMany
            self.entries.append(Entry(_absolute(self.texts["loc"].strip(), self.url), self.texts.get("lastmod", "").strip()[:64]))

    def characters(self, text: str) -> None:
        if len(self.path) == 3 and self.path[2] in ("loc", "lastmod"):
            held = self.texts.get(self.path[2], "")
            self.texts[self.path[2]] = held + text if len(held) <= MAX_URL else held

    def entity(self, *_declared: object) -> None:
        raise _no_sitemap(self.url, "an XML file that declares entities, which no sitemap needs")


def _xml(text: bytes, *, url: str) -> Sitemap:
    handler = _Handler(url)
    parser = expat.ParserCreate()
    parser.StartElementHandler = handler.start
    parser.EndElementHandler = handler.end
    parser.CharacterDataHandler = handler.characters
    parser.EntityDeclHandler = handler.entity
    problem = ""
    try:
        parser.Parse(text, True)
    except (expat.ExpatError, LookupError, ValueError) as error:  # the latter two for an encoding that expat does not know
        if not handler.entries:
            what = "a page of HTML with status 200" if re.match(rb"<!doctype html|<html", text, re.IGNORECASE) else f"no XML: {error}"
            raise _no_sitemap(url, what) from None
        problem = f"it is damaged ({error}); the {len(handler.entries):,} entries before that were read"
    except _TooMany:
        problem = f"only its first {MAX_ENTRIES:,} entries were read"
    return Sitemap(handler.root == "sitemapindex", tuple(handler.entries), problem)


def _absolute(address: str, url: str) -> str:
    """An http(s) address without its fragment, or nothing for what is none."""
    try:
        parts = urlsplit(urljoin(url, normalise(address)))
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None and len(address) <= MAX_URL
        return urlunsplit(parts._replace(fragment="")) if usable and parts.port != 0 else ""
    except ValueError:
        return ""

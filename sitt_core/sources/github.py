"""How a GitHub profile becomes documents: the profile, and each repository with its description and README."""

import base64
import binascii
import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlsplit

from sitt_core.errors import InvalidInput, SourceError, shown
from sitt_core.sources.fetch import Fetched, Fetcher
from sitt_core.sources.markdown import body_of, outline
from sitt_core.sources.options import parse_options, switch
from sitt_core.sources.outline import document_hash
from sitt_core.text import decode, normalise
from sitt_core.types import Block, Document, Failure, Listing, Report, Section, Source

VERSION = 1
"""Raised when the same repository would become another document, with other sections or blocks."""
API_URL = "https://api.github.com"
API_VERSION = "2022-11-28"
NOT_STATED = "not stated"
MAX_README = 5_000_000
MAX_PAGES = 100
"""Pages of a hundred repositories each."""
LONGEST_WAIT = 120.0
"""So many seconds are waited until a rate limit ends; a longer one stops the reading."""
SECONDARY_WAIT = 60.0
"""What GitHub asks for when it refuses for haste and says no time."""
MAX_WAITS = 3
OPTIONS = {"forks": "yes to read forks too", "archived": "yes to read archived repositories too"}
MARKDOWN = (".md", ".markdown", ".mdown", ".mkd", ".mkdn", ".mdwn")

_JSON = "application/vnd.github+json"
_RAW = "application/vnd.github.raw+json"
_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,38})")
_NEXT = re.compile(r'<([^<>]+)>\s*;[^,<]*\brel="?next\b')
_PARAGRAPH = re.compile(r"\S(?:.*\S)?(?:\n[^\S\n]*\S.*)*")


@dataclass(frozen=True, slots=True)
class Account:
    """What `github:USER?forks=yes&archived=yes` names."""

    login: str
    forks: bool = False
    archived: bool = False

    @property
    def origin(self) -> str:
        """How a corpus names this source; GitHub's names are the same in any case."""
        return f"github:{self.login.lower()}"


@dataclass(frozen=True, slots=True)
class Readme:
    """A README as it is stored: its path in the repository, its text without white space at the end, the address of that very text."""

    path: str
    text: str
    permalink: str


def parse_account(text: str) -> Account:
    """The account and the options after `?`; the address of a profile will do. Raises InvalidInput."""
    name, _, written = text.strip().partition("?")
    login = re.sub(r"^https?://(?:www\.)?github\.com/", "", name).removeprefix("@").rstrip("/")
    if not _LOGIN.fullmatch(login):
        raise InvalidInput(
            expected="the name of a GitHub account, such as github:octocat",
            got=shown(name),
            remedy="It is what follows github.com/ in the address.",
        )
    options = parse_options(written, of="a GitHub account", known=OPTIONS)
    return Account(login, switch(options, "forks"), switch(options, "archived"))


def _nobody(stage: str, done: int, total: int) -> None:
    """Takes the progress of whoever is not asked for it."""


def read_github(
    account: Account,
    *,
    fetcher: Fetcher,
    token: str = "",
    api_url: str = API_URL,
    stored: Iterable[Document] = (),
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
    report: Report = _nobody,
) -> Listing:
    """The profile and every public repository of an account as documents; what cannot be one is a failure with its reason.

    A repository that was not pushed to since its `stored` document was made, and whose description is the same, is that
    document: its README is not asked for. A rate limit that ends soon is waited for, told to `report`; at another the
    listing is what had been read, incomplete. Raises SourceError when not even the account can be read.
    """
    known = {document.id: document for document in stored if document.origin == account.origin}
    return _Reading(account, fetcher, token, api_url.rstrip("/"), known, clock, sleep, report).listing()


class _Limited(Exception):
    """A rate limit that does not end soon."""


@dataclass(slots=True)
class _Reading:
    """One reading of an account: what has been found so far."""

    account: Account
    fetcher: Fetcher
    token: str
    api_url: str
    known: Mapping[str, Document]
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    report: Report
    documents: dict[str, Document] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    lacking: str = ""
    limit: str = ""
    free_again: float = 0.0
    left: str = ""
    done: int = 0

    def listing(self) -> Listing:
        profile = self._profile()
        repositories = self._repositories(profile)
        own = {name: each for name, each in repositories.items() if name == f"{profile['login']}/{profile['login']}".lower()}
        wanted = [each for name, each in repositories.items() if name not in own and self._is_wanted(each)]
        unread = 0
        total = len(wanted) + 1
        for facts in [_profile_facts(profile, next(iter(own.values()), None)), *map(_repository_facts, wanted)]:
            self.done += 1
            self.report("read repositories", self.done - 1, total)
            try:
                self._add(facts)
            except SourceError as error:
                self.failures.append(Failure(facts.id, str(error)))
            except _Limited:
                unread += 1
                self.failures.append(Failure(facts.id, "not read: GitHub's rate limit was reached before"))
        if self.limit:
            self.failures.insert(0, Failure("rate limit", f"{self.limit} {unread:,} of {total:,} were not read."))
            self.lacking = self.lacking or f"GitHub's rate limit was reached before {unread:,} of {total:,} were read"
        notices = (f"GitHub's rate limit: {self.left}.",) if self.left else ()
        documents, failures = tuple(self.documents.values()), tuple(self.failures)
        return Listing(self.account.origin, documents, failures, not self.lacking, notices, self.lacking)

    def _is_wanted(self, repository: Mapping[str, Any]) -> bool:
        return (self.account.forks or not repository.get("fork")) and (self.account.archived or not repository.get("archived"))

    def _profile(self) -> Mapping[str, Any]:
        url = f"{self.api_url}/users/{quote(self.account.login, safe='')}"
        try:
            fetched = self._get(url, missing=True)
        except _Limited:
            raise SourceError(expected="GitHub to let us ask about the account", got=self.limit, remedy=self._remedy()) from None
        if fetched is None:
            raise SourceError(
                expected="a GitHub account that there is",
                got=shown(self.account.login),
                remedy="Check the name: it follows github.com/ in the address.",
            )
        profile = _parsed(fetched)
        if not isinstance(profile, dict) or not isinstance(profile.get("login"), str):
            raise _unlike(url, "an account", profile)
        return profile

    def _repositories(self, profile: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        """The account's repositories by full name in lower case, page by page; a page that fails makes the listing incomplete."""
        found: dict[str, Mapping[str, Any]] = {}
        url = f"{self.api_url}/users/{quote(profile['login'], safe='')}/repos?per_page=100&sort=pushed"
        try:
            for _ in range(MAX_PAGES):
                fetched = self._get(url)
                page = _parsed(fetched) if fetched else None
                if not isinstance(page, list):
                    raise _unlike(url, "a list of repositories", page)
                found |= {each["full_name"].lower(): each for each in page if _is_repository(each)}
                if not all(map(_is_repository, page)):
                    self._lack("an entry of the list of repositories could not be read")
                following = _NEXT.search(fetched.headers.get("link", "")) if fetched else None
                if not following:
                    break
                url = self._checked(following[1])
            else:
                self._lack(f"the limit of {MAX_PAGES:,} pages of the list of repositories was met")
        except SourceError as error:
            self._lack("a page of the list of repositories could not be read", str(error))
        except _Limited:
            self.lacking = "GitHub's rate limit was reached before the repositories were listed"
        counted = profile.get("public_repos")
        if not self.lacking and isinstance(counted, int) and len(found) < counted:
            reason = f"GitHub counts {counted:,} repositories and lists {len(found):,}"
            self._lack(reason, f"{reason}, so that none can be taken for removed")
        return found

    def _lack(self, why: str, reason: str = "") -> None:
        """Notes that the list of repositories is not whole."""
        self.lacking = why
        self.failures.append(Failure("repositories", reason or why))

    def _checked(self, url: str) -> str:
        """The address of the next page, which must be the API's own: it is sent the token."""
        if urlsplit(url)[:2] != urlsplit(self.api_url)[:2]:
            raise SourceError(expected=f"a next page at {self.api_url}", got=shown(url), remedy="Check GITHUB_API_URL.")
        return url

    def _add(self, facts: "_Facts") -> None:
        old = self.known.get(facts.id)
        if old is not None and old.revision.rpartition("#")[2] == facts.revision:
            self.documents[facts.id] = old
            return
        readme = self._readme(facts.repository) if facts.repository else None
        text, sections, blocks = outlined(facts.lead, readme)
        if not text:
            return
        source = Source(facts.title, facts.url, facts.license if readme or not facts.is_profile else NOT_STATED)
        self.documents[facts.id] = Document(
            id=facts.id,
            title=facts.title,
            source=source,
            text=text,
            sections=sections,
            blocks=blocks,
            sha256=document_hash(facts.title, source, text),
            # The link to the README as it was read; what follows # says under which facts it need not be read again.
            revision=f"{readme.permalink}#{facts.revision}" if readme and readme.permalink else facts.revision,
            fetched_at=self.fetcher.now(),
            origin=self.account.origin,
        )

    def _readme(self, full_name: str) -> Readme | None:
        """The README that GitHub shows for a repository, of whatever name and wherever; None without one."""
        url = f"{self.api_url}/repos/{quote(full_name)}/readme"
        fetched = self._get(url, missing=True)
        if fetched is None:
            return None
        facts = _parsed(fetched)
        if not isinstance(facts, dict) or not isinstance(facts.get("path"), str):
            raise _unlike(url, "a README", facts)
        name = f"{full_name}/{facts['path']}"
        if facts.get("encoding") == "base64" and isinstance(facts.get("content"), str):
            try:
                data = base64.b64decode(facts["content"])
            except (binascii.Error, ValueError):
                raise _unlike(url, "base64", facts["content"]) from None
        else:
            # Of a file above a megabyte there is no content here.
            raw = self._get(url, accept=_RAW)
            data = raw.body if raw else b""
        if len(data) > MAX_README:
            raise SourceError(expected=f"a README of at most {MAX_README:,} bytes", got=f"{len(data):,} in {name}", remedy="Leave it out.")
        text = normalise(decode(data, name=name))
        sha = facts.get("sha")
        known = isinstance(sha, str) and re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", sha)
        permalink = f"{self.api_url}/repos/{quote(full_name)}/git/blobs/{sha}" if known else ""
        return Readme(facts["path"], text.rstrip(), permalink) if text.strip() else None

    # -- asking

    def _get(self, url: str, *, accept: str = _JSON, missing: bool = False) -> Fetched | None:
        """A reply; None for a 404 where there may be nothing. Raises SourceError, and _Limited at a limit that is not waited for."""
        headers = {"Accept": accept, "X-GitHub-Api-Version": API_VERSION}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        for _ in range(MAX_WAITS + 1):
            if self.limit:
                raise _Limited
            if self.free_again > self.clock():
                self._wait(self.free_again - self.clock())
            fetched = self.fetcher.get(url, headers=headers, max_bytes=MAX_README * 2, allow=(401, 403, 404, 429))
            self._note_limit(fetched)
            if fetched.status == 200:
                return fetched
            if fetched.status == 404 and missing:
                return None
            wait = self._asked_to_wait(fetched)
            if wait is None:
                raise self._refused(url, fetched)
            self._wait(wait)
        self.limit = f"GitHub's rate limit was met {MAX_WAITS + 1} times in a row."
        raise _Limited

    def _note_limit(self, fetched: Fetched) -> None:
        """Keeps what is left of the limit; when that is nothing, no request is sent before it is renewed."""
        left, of, reset = (_number(fetched.headers.get(f"x-ratelimit-{name}")) for name in ("remaining", "limit", "reset"))
        if left is not None and of is not None and reset is not None:
            self.left = f"{left:,.0f} of {of:,.0f} requests are left until {_clock_time(reset)}"
        if fetched.headers.get("x-ratelimit-remaining") == "0":
            self.free_again = _number(fetched.headers.get("x-ratelimit-reset")) or 0.0

    def _asked_to_wait(self, fetched: Fetched) -> float | None:
        """The seconds until a limit ends; None for a refusal that is about none."""
        after = _number(fetched.headers.get("retry-after"))
        if after is not None:
            return after
        if fetched.headers.get("x-ratelimit-remaining") == "0":
            return max(self.free_again - self.clock(), 1.0)
        hasty = fetched.status == 429 or (fetched.status == 403 and "rate limit" in _said(fetched).lower())
        return SECONDARY_WAIT if hasty else None

    def _wait(self, seconds: float) -> None:
        """Waits for a limit to end, or raises _Limited with what to say of it."""
        end = _clock_time(self.clock() + seconds)
        if seconds > LONGEST_WAIT:
            self.limit = f"GitHub's rate limit is reached until {end}."
            self.limit += "" if self.token else " It is 60 requests an hour without GITHUB_TOKEN, 5,000 with one."
            raise _Limited
        self.report(f"wait for GitHub's rate limit to end at {end}", self.done, max(self.done, 1))
        self.sleep(seconds)
        self.free_again = 0.0

    def _remedy(self) -> str:
        return "Try again after that." if self.token else "Try again after that, or set GITHUB_TOKEN."

    def _refused(self, url: str, fetched: Fetched) -> SourceError:
        said = _said(fetched)
        said = said.replace(self.token, "…") if self.token else said
        if fetched.status == 401:
            return SourceError(
                expected="GITHUB_TOKEN to be a token that GitHub knows", got=f"401: {shown(said)}", remedy="Correct it, or leave it out."
            )
        return SourceError(expected=f"{shown(url)} to be there", got=f"{fetched.status}: {shown(said)}", remedy="Check it in a browser.")


def _clock_time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(min(seconds, 32_503_680_000), UTC):%Y-%m-%d %H:%M:%S} UTC"


def _number(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"[0-9]{1,11}", text.strip()) else None


def _parsed(fetched: Fetched) -> Any:
    """A reply's JSON; SourceError for what is none."""
    try:
        return json.loads(fetched.body)
    except (ValueError, RecursionError):
        got = fetched.body[:200].decode("utf-8", "replace")
        raise _unlike(fetched.url, "JSON", got) from None


def _said(fetched: Fetched) -> str:
    """What a refusal says: the message of GitHub's JSON, else the beginning of whatever came."""
    try:
        found = json.loads(fetched.body)
        if isinstance(found, dict) and isinstance(found.get("message"), str):
            return str(found["message"])
    except (ValueError, RecursionError):
        pass
    return " ".join(re.sub(r"<[^>]*>", " ", fetched.body[:2000].decode("utf-8", "replace")).split())


def _unlike(url: str, what: str, got: object) -> SourceError:
    message = got.get("message") if isinstance(got, dict) else None
    return SourceError(expected=f"{what} from {shown(url)}", got=shown(message or got), remedy="Check GITHUB_API_URL; try again later.")


def _is_repository(found: object) -> bool:
    return isinstance(found, dict) and isinstance(found.get("full_name"), str) and found["full_name"].count("/") == 1


# -- what is said of an account and of a repository


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the API says of a document without its README; `repository` is whose README it gets, "" for none."""

    id: str
    title: str
    url: str
    license: str
    lead: tuple[str, ...]
    repository: str
    is_profile: bool
    revision: str


def _profile_facts(profile: Mapping[str, Any], own: Mapping[str, Any] | None) -> _Facts:
    """The profile; its README is that of the repository with the account's own name."""
    login, name = profile["login"], _line(profile.get("name"))
    about = {"Company": "company", "Location": "location", "Website": "blog"}
    lines = [f"{label}: {value}" for label, key in about.items() if (value := _line(profile.get(key)))]
    bio = _line(profile.get("bio"))
    return _facts(
        title=f"{name} ({login})" if name and name != login else login,
        url=_html_url(profile, login),
        license=_license(own) if own else NOT_STATED,
        lead=tuple(filter(None, [bio, "\n".join(lines)])),
        repository=own["full_name"] if own else "",
        is_profile=True,
        made_under=(own or {}).get("pushed_at"),
    )


def _repository_facts(repository: Mapping[str, Any]) -> _Facts:
    named = repository.get("topics")
    topics = [topic for topic in named if isinstance(topic, str)] if isinstance(named, list) else []
    lines = [
        *([f"Topics: {_line(', '.join(topics))}"] if topics else []),
        *(
            f"{label}: {value}"
            for label, key in (("Language", "language"), ("Website", "homepage"))
            if (value := _line(repository.get(key)))
        ),
        *(["Archived: yes"] if repository.get("archived") else []),
        *(["Fork: yes"] if repository.get("fork") else []),
    ]
    description = _line(repository.get("description"))
    return _facts(
        title=repository["full_name"],
        url=_html_url(repository, repository["full_name"]),
        license=_license(repository),
        lead=tuple(filter(None, [description, "\n".join(lines) if description or topics else ""])),
        repository=repository["full_name"],
        is_profile=False,
        made_under=(repository.get("pushed_at"), repository.get("default_branch")),
    )


def _facts(*, title: str, url: str, license: str, lead: tuple[str, ...], repository: str, is_profile: bool, made_under: object) -> _Facts:
    """Facts with the revision that they and the time of the last push name."""
    revision = hashlib.sha256(repr((VERSION, title, url, license, lead, made_under)).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    id_ = url.partition("://")[2].rstrip("/")
    return _Facts(id_, normalise(title), url, license, lead, repository, is_profile, revision)


def _line(value: object) -> str:
    return " ".join(normalise(value).split()) if isinstance(value, str) else ""


def _html_url(found: Mapping[str, Any], path: str) -> str:
    url = _line(found.get("html_url"))
    return url if re.fullmatch(r"https?://[^\s/@]+/\S+", url) else f"https://github.com/{path}"


def _license(repository: Mapping[str, Any]) -> str:
    """The SPDX name of the repository's licence; one that GitHub does not recognise says so."""
    found = repository.get("license")
    if not isinstance(found, dict):
        return NOT_STATED
    spdx = _line(found.get("spdx_id"))
    return spdx if spdx not in ("", "NOASSERTION") else f"{_line(found.get('name')) or 'other'} (see the repository)"


def outlined(lead: tuple[str, ...], readme: Readme | None) -> tuple[str, tuple[Section, ...], tuple[Block, ...]]:
    """What is said of it, then its README as it is written: Markdown with its sections, anything else as paragraphs."""
    parts: list[str] = []
    blocks: list[Block] = []
    at = 0
    for paragraph in lead:
        blocks.append(Block("paragraph", at, at + len(paragraph)))
        parts += [paragraph, "\n\n"]
        at += len(paragraph) + 2
    if readme is None:
        text = "".join(parts[:-1])
        return text, (Section((), 0, 0, len(text)),) if text else (), tuple(blocks)
    is_markdown = readme.path.lower().endswith(MARKDOWN)
    body = _body(readme) if is_markdown else readme.text.lstrip("\n")
    sections, inner = outline(body) if is_markdown else ((Section((), 0, 0, len(body)),), tuple(_paragraphs(body)))
    blocks += [Block(block.kind, block.start + at, block.end + at) for block in inner]
    moved = [Section(section.heading_path, section.level, section.start + at, section.end + at) for section in sections]
    if at and moved and not moved[0].heading_path and moved[0].level == 0:
        moved[0] = Section((), 0, 0, moved[0].end)
    elif at:
        moved.insert(0, Section((), 0, 0, at))
    return "".join(parts) + body, tuple(moved), tuple(blocks)


def _body(readme: Readme) -> str:
    """A Markdown README without its front matter; where that is broken, all of it."""
    try:
        return body_of(readme.text, name=readme.path) or readme.text
    except SourceError:
        return readme.text


def _paragraphs(text: str) -> Iterator[Block]:
    """The stretches between blank lines."""
    for found in _PARAGRAPH.finditer(text):
        yield Block("paragraph", found.start(), found.start() + len(found[0].rstrip()))

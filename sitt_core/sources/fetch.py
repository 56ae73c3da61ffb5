"""The only door to the network for sources: one request after another, politely, within limits, cached."""

import contextlib
import email.utils
import http
import json
import re
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

import requests
import urllib3
from filelock import FileLock

from sitt_core.errors import InvalidInput, SourceError, shown
from sitt_core.sources.replies import Cache, Fetched, cache_key, text_of
from sitt_core.sources.wire import Wires

__all__ = ["Fetched", "Fetcher", "Limits", "fetched_size", "prune_fetched", "require_contact", "text_of", "user_agent"]

VERSION = "0.1"
REDIRECTS = (301, 302, 303, 307, 308)
RETRIED = (429, 500, 502, 503, 504)
"""The answers after which the same may be asked again; every other one is final."""
LONGEST_BACKOFF = 60.0
ERROR_BYTES = 20_000
"""So much of a failure's body is read, for what it says."""
_PIECE = 65_536
_GZIP = b"\x1f\x8b"
_DAY = 86_400.0
_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_BAD_URL = re.compile(r"[\x00-\x20\x7f]")


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a request ends whatever the server does: seconds to connect, of silence, in all; bytes after decompression; hops.

    `longest_wait` is the longest that a server may ask to be left alone before that counts as a refusal, in seconds.
    """

    connect: float = 10.0
    silence: float = 30.0
    total: float = 120.0
    max_bytes: int = 10_000_000
    max_redirects: int = 5
    longest_wait: float = 120.0


class _Fault(Exception):
    """A connection that failed in a way that asking again may mend."""


def require_contact(contact: str) -> str:
    """Who operates this, as a request can carry it; raises InvalidInput for nobody.

    Wikimedia's policy asks for the operator, not the program's own address: it throttles together all who share one.
    """
    contact = contact.strip()
    usable = contact.isascii() and contact.isprintable() and not set(contact) & set("()<>")
    if not usable or not re.search(r"[^@\s]@[^@\s]+\.[^@\s]|https?://[^\s/]+\.[^\s]", contact):
        raise InvalidInput(
            expected="SITT_CONTACT to be who runs this: an e-mail address or the address of a page about you",
            got=shown(contact) if contact else "nothing",
            remedy="Set it in the environment or in .env; it is sent with every request, so that a site can write instead of blocking.",
        )
    return contact


def user_agent(contact: str = "") -> str:
    """How a request names itself: client, who operates it where that is known, library; raises InvalidInput for no contact."""
    operator = f" ({require_contact(contact)})" if contact.strip() else ""
    return f"SITTLab/{VERSION}{operator} requests/{requests.__version__}"


def fetched_size(cache_dir: Path) -> tuple[int, int]:
    """How many replies fetchers keep in a folder, and the bytes that they take; (0, 0) for a folder that is not there."""
    return _cache_of(cache_dir).size()


def prune_fetched(cache_dir: Path, *, older_than: timedelta) -> tuple[int, int]:
    """Removes the replies that no fetcher has read or asked about for so long; how many they were, and their bytes.

    Other processes may fetch meanwhile: they find a reply whole or not at all. Raises InvalidInput for a negative time.
    """
    if older_than < timedelta():
        raise InvalidInput(expected="a time of 0 or more", got=str(older_than), remedy="Give the days that a reply may lie unused.")
    return _cache_of(cache_dir).prune(older_than=older_than.total_seconds())


def _cache_of(cache_dir: Path) -> Cache:
    return Cache(cache_dir / "replies")


class Fetcher:
    """Gets addresses, one after another: each host is asked at most every `interval` seconds, by all processes that share `cache_dir`.

    `clock` gives seconds since 1970, `sleep` waits, `report` is told of every wait above the interval; tests pass their own.
    Connections go straight to the hosts: proxies of the environment are not used, nor are cookies. For use in a `with` block.
    """

    def __init__(
        self,
        *,
        user_agent: str,
        cache_dir: Path | None = None,
        interval: float = 1.0,
        retries: int = 4,
        limits: Limits = Limits(),
        allow_private: bool = False,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.interval, self.retries, self.limits = interval, retries, limits
        self._cache = _cache_of(cache_dir) if cache_dir else None
        self._hosts = cache_dir / "hosts" if cache_dir else None
        self._next: dict[str, float] = {}
        self._clock, self._sleep, self._report = clock, sleep, report
        self._lock = threading.RLock()
        self._wires = Wires(allow_private=allow_private)
        self._session = requests.Session()
        self._session.trust_env = False  # no .netrc, whose passwords would go out unasked
        self._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self._session.headers.clear()
        self._session.headers.update({"User-Agent": user_agent, "Accept": "*/*", "Accept-Encoding": "gzip"})
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, self._wires.adapter())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes what connections are open."""
        self._session.close()
        self._wires.close()

    def now(self) -> str:
        """The time by the fetcher's clock, as documents carry it."""
        return datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="seconds")

    def kept(self, url: str, *, headers: Mapping[str, str] | None = None) -> Fetched | None:
        """The cached reply to that very request, without asking anybody."""
        return self._cache.get(cache_key(_checked(url), headers or {})) if self._cache else None

    def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        max_bytes: int | None = None,
        revalidate: bool = True,
        allow: Collection[int] = (),
        busy: Callable[[Fetched], bool] | None = None,
    ) -> Fetched:
        """The reply at an address, redirects followed; a cached one is asked about (ETag, Last-Modified), or taken without `revalidate`.

        Only 200 and the statuses in `allow` are returned (those are not tried again); every other is a SourceError, as
        are an address of a private network, too many redirects, a body over the limit and a connection that keeps failing.
        `headers` go to the first host alone. `busy` tells whether a 200 says "later" (it is then treated as a 503).
        """
        sent, here = dict(headers or {}), _checked(url)
        most = self.limits.max_bytes if max_bytes is None else max_bytes
        with self._lock:
            for _ in range(self.limits.max_redirects + 1):
                got = self._settled(here, sent, most=most, revalidate=revalidate, allow=allow, busy=busy)
                target = got.headers.get("location", "")
                if got.status not in REDIRECTS or got.status in allow:
                    return got
                if not target:
                    raise _refused(here, f"{_named(got.status)} without an address")
                there = _checked(urljoin(here, _readable(target)))
                if _origin(there) != _origin(here):
                    sent = {name: value for name, value in sent.items() if name.lower() == "accept"}
                here = there
        raise SourceError(
            expected=f"at most {self.limits.max_redirects} redirects from {shown(url)}",
            got="one more, as in a circle",
            remedy="Open the address in a browser and give the one it ends at.",
        )

    def _settled(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        most: int,
        revalidate: bool,
        allow: Collection[int],
        busy: Callable[[Fetched], bool] | None,
    ) -> Fetched:
        """One address's final answer, asked for as often as it takes."""
        key = cache_key(url, headers)
        cached = self._cache.get(key) if self._cache else None
        if cached and len(cached.body) > most:
            cached = None
        if cached and not revalidate:
            return cached
        problem = ""
        for attempt in range(self.retries + 1):
            wait = min(2.0**attempt, LONGEST_BACKOFF)
            try:
                got = self._ask(url, headers, cached, most=most, allow=allow)
            except _Fault as fault:
                problem = str(fault)
            else:
                late = busy is not None and got.status == 200 and busy(got)
                if not late and (got.status not in RETRIED or got.status in allow):
                    return self._accepted(key, got, headers, allow)
                problem = "200, but it asks to come again later" if late else _failure(got, headers)
                asked = self._retry_after(got.headers.get("retry-after", ""))
                wait = wait if asked is None else asked
            self._hold(url, wait)
            if wait > self.limits.longest_wait:
                raise self._later(url, wait)
            if attempt < self.retries:
                self._report(f"waiting {wait:.0f} s before asking {_host(url)} again: {problem}")
        raise SourceError(
            expected=f"an answer from {_host(url)} to {shown(url)}",
            got=f"{problem}, {self.retries + 1} times",
            remedy="Try again later; what was fetched before is kept.",
        )

    def _accepted(self, key: str, got: Fetched, headers: Mapping[str, str], allow: Collection[int]) -> Fetched:
        if got.status != 200 and got.status not in allow and got.status not in REDIRECTS:
            raise _refused(got.url, _failure(got, headers))
        if self._cache and got.status == 200 and "no-store" not in got.headers.get("cache-control", ""):
            self._cache.put(key, replace(got, cached=False))
        return got

    def _ask(self, url: str, headers: Mapping[str, str], cached: Fetched | None, *, most: int, allow: Collection[int]) -> Fetched:
        """One request and its reply; raises _Fault for a connection that failed, SourceError for what no repetition mends."""
        conditions = {}
        if cached and "etag" in cached.headers:
            conditions["If-None-Match"] = cached.headers["etag"]
        if cached and "last-modified" in cached.headers:
            conditions["If-Modified-Since"] = cached.headers["last-modified"]
        limits = self.limits
        with self._turn(url), self._wires.deadline(limits.total):
            try:
                with self._session.get(
                    url,
                    headers={**headers, **conditions},
                    stream=True,
                    allow_redirects=False,
                    timeout=(limits.connect, limits.silence),
                ) as response:
                    told = {name.lower(): value for name, value in response.headers.items()}
                    status = response.status_code
                    if status == 304 and cached and conditions:
                        return replace(cached, headers={**cached.headers, **told}, cached=True)
                    wanted = status == 200 or status in allow
                    body = b"" if status in REDIRECTS else b"".join(_body(response, most if wanted else ERROR_BYTES, cut=not wanted))
                    fetched = Fetched(url, status, told, body, self.now())
            except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError) as error:
                if self._wires.expired:
                    raise self._too_slow(url) from None
                raise _connection_failed(url, error) from None
            if self._wires.expired:  # a body without a length ends like one that was cut
                raise self._too_slow(url)
            return fetched

    def _too_slow(self, url: str) -> SourceError:
        return SourceError(
            expected=f"the whole of {shown(url)} within {self.limits.total:g} s",
            got="a server that was still sending",
            remedy="Try again later, or leave this page out.",
        )

    @contextlib.contextmanager
    def _turn(self, url: str) -> Iterator[None]:
        """The host's one request at a time, not before its next may come; raises SourceError when that is too far off."""
        host = _host(url)
        with self._host_lock(host):
            wait = self._next_turn(host) - self._clock()
            if wait > self.limits.longest_wait:
                raise self._later(url, wait)
            if wait > 0:
                self._sleep(wait)
            self._set_next(host, self._clock() + self.interval)
            yield

    def _later(self, url: str, wait: float) -> SourceError:
        when = datetime.fromtimestamp(self._clock() + wait, UTC).isoformat(timespec="seconds")
        return SourceError(
            expected=f"{_host(url)} to answer within {self.limits.longest_wait:g} s",
            got=f"it asks not to be asked again before {when}",
            remedy="Try again after that; what was fetched before is kept.",
        )

    def _hold(self, url: str, seconds: float) -> None:
        """Leaves a host alone for so long, a request of another process included."""
        host = _host(url)
        with self._host_lock(host):
            self._set_next(host, max(self._next_turn(host), self._clock() + seconds))

    @contextlib.contextmanager
    def _host_lock(self, host: str) -> Iterator[None]:
        """Keeps other processes from the host meanwhile; a folder that cannot be written to keeps nobody from reading the site."""
        with contextlib.ExitStack() as held:
            if self._hosts is not None:
                with contextlib.suppress(OSError):
                    self._hosts.mkdir(parents=True, exist_ok=True)
                    held.enter_context(FileLock(self._hosts / f"{quote(host, safe='')}.lock"))
            yield

    def _next_turn(self, host: str) -> float:
        """When a host may be asked next; a time that no server can have asked for (a clock was set) counts as now."""
        known = self._next.get(host, 0.0)
        if self._hosts is not None:
            with contextlib.suppress(OSError, ValueError):
                known = max(known, float((self._hosts / f"{quote(host, safe='')}.next").read_text()))
        return known if known < self._clock() + _DAY else 0.0

    def _set_next(self, host: str, when: float) -> None:
        self._next[host] = when
        if self._hosts is not None:
            with contextlib.suppress(OSError):
                (self._hosts / f"{quote(host, safe='')}.next").write_text(f"{when:.3f}")

    def _retry_after(self, value: str) -> float | None:
        """How many seconds a Retry-After asks for, given as seconds or as an HTTP date; None for none that can be read."""
        value = value.strip()
        if re.fullmatch(r"[0-9]{1,9}", value):
            return float(value)
        with contextlib.suppress(ValueError, TypeError, OverflowError):
            return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - self._clock())
        return None


def _checked(url: str) -> str:
    """The address without its fragment; raises SourceError for one that is not http(s), or that holds a password."""
    problem = ""
    try:
        parts = urlsplit(url)
        if parts.scheme.lower() not in ("http", "https") or not parts.hostname or _BAD_URL.search(url):
            problem = shown(url)
        elif parts.username is not None or parts.password is not None:
            problem = f"an address of {parts.hostname} with a user name in it"
        elif parts.port == 0:
            problem = "port 0"
    except ValueError:
        problem = shown(url)
    if problem:
        raise SourceError(
            expected="an address that begins with http:// or https://, without a password", got=problem, remedy="Correct the address."
        )
    return urlunsplit(parts._replace(fragment=""))


def _readable(location: str) -> str:
    """A Location header as an address: what servers send in raw UTF-8 is quoted."""
    with contextlib.suppress(UnicodeError):
        location = location.encode("latin-1").decode("utf-8")
    return quote(location.strip(), safe="%/:=&?~#+!$,;'@()*[]")


def _host(url: str) -> str:
    return urlsplit(url).netloc.lower()


def _origin(url: str) -> tuple[str, str]:
    return urlsplit(url).scheme.lower(), _host(url)


def _body(response: requests.Response, most: int, *, cut: bool) -> Iterator[bytes]:
    """The body, decompressed piece by piece; over the limit it is cut, or refused with SourceError."""
    url, declared = response.url, response.headers.get("Content-Length", "")
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower() or "identity"
    if declared.isdecimal() and int(declared) > most and not cut:
        raise _too_large(url, f"{int(declared):,} bytes", most)
    if encoding not in ("identity", "gzip", "x-gzip", "deflate"):
        raise SourceError(
            expected=f"{shown(url)} as it is or in gzip",
            got=f"the encoding {shown(encoding)}",
            remedy="The server ignores what it is asked for; leave this page out.",
        )
    raw = response.raw.stream(_PIECE, decode_content=False)
    size = 0
    for piece in raw if encoding == "identity" else _inflated(raw, url):
        size += len(piece)
        if size > most and cut:
            return
        if size > most:
            raise _too_large(url, "more", most)
        yield piece


def _inflated(raw: Iterator[bytes], url: str) -> Iterator[bytes]:
    """gzip or zlib, at most `_PIECE` bytes at a time, however much is packed into a few; raises SourceError when it is damaged."""
    unpacker = None
    try:
        for piece in raw:
            rest = piece
            while rest:
                if unpacker is None or (unpacker.eof and rest.startswith(_GZIP)):
                    unpacker = zlib.decompressobj(wbits=47)
                if unpacker.eof:
                    break  # padding behind the last member
                yield unpacker.decompress(rest, _PIECE)
                rest = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
        if unpacker is not None and not unpacker.eof:
            yield unpacker.flush()
    except zlib.error:
        raise _damaged(url) from None
    if unpacker is not None and not unpacker.eof:
        raise _damaged(url)


def _damaged(url: str) -> SourceError:
    return SourceError(
        expected=f"{shown(url)} in gzip", got="data that cannot be unpacked", remedy="Try again later; the server is at fault."
    )


def _too_large(url: str, got: str, most: int) -> SourceError:
    return SourceError(expected=f"at most {most:,} bytes at {shown(url)}", got=got, remedy="Leave this page out.")


def _connection_failed(url: str, error: Exception) -> Exception:
    """The failure in our words: a _Fault where asking again may help, else SourceError."""
    host = _host(url)
    causes = list(_causes(error))
    names = {type(each).__name__ for each in causes}
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return SourceError(
                expected=f"{host} to have a certificate that can be trusted",
                got=f"one that cannot: {cause.verify_message.rstrip('.')}",
                remedy="Check the address, and this machine's clock.",
            )
    if isinstance(error, requests.exceptions.SSLError):
        return _Fault(f"no secure connection to {host}")
    if isinstance(error, requests.exceptions.InvalidURL | requests.exceptions.InvalidHeader | requests.exceptions.InvalidSchema):
        return SourceError(expected="an address and headers that can be sent", got=shown(url), remedy="Correct the address, or the key.")
    if "NameResolutionError" in names:
        return _Fault(f"no address for the name {host}")
    if names & {"ConnectTimeout", "ConnectTimeoutError"}:
        return _Fault(f"no connection to {host} in time")
    if names & {"ReadTimeout", "ReadTimeoutError", "TimeoutError"}:
        return _Fault(f"{host} fell silent")
    if "NewConnectionError" in names:
        return _Fault(f"no connection to {host}")
    return _Fault(f"the connection to {host} broke off")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, what it was made from and what it wraps."""
    seen: list[BaseException] = [error]
    for each in seen:
        inner = [each.__cause__, each.__context__, getattr(each, "reason", None), *each.args]
        seen += [one for one in inner if isinstance(one, BaseException) and one not in seen]
    yield from seen


def _named(status: int) -> str:
    with contextlib.suppress(ValueError):
        return f"{status} {http.HTTPStatus(status).phrase}"
    return str(status)


def _failure(got: Fetched, headers: Mapping[str, str]) -> str:
    """A failure's status and what its body says, without the secrets that were sent."""
    said = text_of(got)
    if got.media_type.endswith("json"):
        with contextlib.suppress(ValueError, AttributeError, RecursionError):
            facts = json.loads(said)
            said = next((str(facts[name]) for name in ("message", "detail", "httpReason", "title") if facts.get(name)), "")
    words = " ".join(_TAGS.sub(" ", said).split())
    for value in headers.values():
        for secret in {value, value.rpartition(" ")[2]}:
            words = words.replace(secret, "…") if len(secret) > 5 else words
    return f"{_named(got.status)}: {shown(words)}" if words else _named(got.status)


def _refused(url: str, got: str) -> SourceError:
    return SourceError(expected=f"{shown(url)} to be there", got=got, remedy="Open the address in a browser and correct it.")

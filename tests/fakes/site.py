"""A stand-in for a web site on loopback: pages with ETags, redirects, and every way in which a server can misbehave."""

import contextlib
import gzip
import hashlib
import http.server
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

from sitt_core.sources.fetch import Fetcher, Limits

MEGABYTE = b"\0" * 1_000_000
START = 1_796_040_000.0
"""Noon of 30 November 2026, UTC: when every clock begins."""


@dataclass(frozen=True)
class Reply:
    """What is answered at a path, with an ETag when it is a 200; `mode` says how it goes wrong.

    `reset`: half the body, then the connection is torn down. `endless`: a body that never ends. `large`: 200 MB that are
    announced. `bomb`: a body that unpacks to 300 MB. `trickle`: a byte at a time, for ever.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    mode: str = ""


@dataclass
class Clock:
    """Time that passes only while somebody waits."""

    now: float = START
    waits: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        """Waits without waiting."""
        self.waits.append(seconds)
        self.now += seconds


@dataclass(frozen=True)
class Asked:
    """A request that came: its path with the query, its headers by lower-case name, and when, by the site's clock."""

    path: str
    headers: Mapping[str, str]
    at: float


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers one request; an `Answer` that is a function returns what to reply, or calls `send`, or writes to `wfile` itself."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    site: "FakeSite"

    def do_GET(self) -> None:
        self.site = self.server.site  # type: ignore[attr-defined]
        self.site.asked.append(Asked(self.path, {name.lower(): value for name, value in self.headers.items()}, self.site.clock()))
        pages = self.site.pages
        answer = pages.get(self.path) or pages.get(urlsplit(self.path).path) or self.site.otherwise
        with contextlib.suppress(ConnectionError):
            found = answer(self) if callable(answer) else answer
            if isinstance(found, Reply):
                self.reply(found)
            elif found is not None:
                self.send(200, found)

    def send(self, status: int, body: str | bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        """A whole answer, without an ETag unless it is among the headers."""
        data = body.encode() if isinstance(body, str) else body
        self.begin({"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(data)), **(headers or {})}, status=status)
        self.wfile.write(data)

    def begin(self, headers: Mapping[str, str], *, status: int = 200) -> None:
        """Status and headers; the body the answer writes itself."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def cut(self, headers: Mapping[str, str]) -> None:
        """A 200 whose body the answer writes itself, and that ends with the connection."""
        self.close_connection = True
        self.begin({"Content-Type": "text/html", "Connection": "close", **headers})

    def drip(self, piece: bytes) -> None:
        """Sends a piece again and again until the client has gone, or the test is over."""
        while not self.site.stopping.wait(0.01):
            self.wfile.write(piece)
            self.wfile.flush()

    def tear_down(self) -> None:
        """Resets the connection."""
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def reply(self, reply: Reply) -> None:
        """Answers, or fails to in the way that the reply's mode says."""
        etag = f'"{hashlib.sha256(reply.body).hexdigest()[:12]}"'
        tagged = {"ETag": etag, **reply.headers} if reply.status == 200 else reply.headers
        if reply.status == 200 and not reply.mode and self.headers.get("If-None-Match") == etag:
            return self.begin(tagged, status=304)
        body = reply.body
        length = {"Content-Length": str(200_000_000 if reply.mode == "large" else len(body))}
        if reply.mode == "bomb":
            body = gzip.compress(MEGABYTE * 300, 1)
            length = {"Content-Encoding": "gzip", "Content-Length": str(len(body))}
        elif reply.mode in ("endless", "trickle"):
            length = {"Transfer-Encoding": "chunked"}
        self.begin({**tagged, **length}, status=reply.status)
        if reply.mode == "reset":
            self.wfile.write(body[: len(body) // 2])
            return self.tear_down()
        if reply.mode not in ("endless", "trickle", "large"):
            self.wfile.write(body)
            return None
        self.close_connection = True
        if reply.mode == "trickle":
            return self.drip(b"1\r\nx\r\n")
        while not self.site.stopping.is_set():
            self.wfile.write(MEGABYTE if reply.mode == "large" else b"f4240\r\n" + MEGABYTE + b"\r\n")
        return None

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are what these tests are about."""


Answer = Reply | str | bytes | Callable[[Handler], "Reply | None"]
NOT_FOUND = Reply(b"<html><title>404</title><h1>Not Found</h1></html>", 404, {"Content-Type": "text/html"})


@dataclass
class FakeSite:
    """A site on a free loopback port, for use in a `with` block; `pages` by path (with or without the query) can change meanwhile.

    `asked` is what came, in order; `otherwise` answers where there is no page.
    """

    pages: dict[str, Answer] = field(default_factory=dict)
    clock: Clock = field(default_factory=Clock)
    otherwise: Answer = NOT_FOUND
    asked: list[Asked] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.site = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def host(self) -> str:
        """Its name with the port."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{self.host}"

    def times(self) -> list[float]:
        """Seconds between one request and the next, by the site's clock."""
        return [after.at - before.at for before, after in zip(self.asked, self.asked[1:], strict=False)]

    def paths(self) -> list[str]:
        """What was asked for, in order."""
        return [asked.path for asked in self.asked]

    def page(self, path: str, html: str | bytes, **headers: str) -> None:
        """Puts a page of HTML at a path; header names have _ for a dash."""
        data = html.encode() if isinstance(html, str) else html
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.pages[path] = Reply(data, headers={"Content-Type": "text/html; charset=utf-8", **named})

    def put(self, path: str, data: str | bytes, *, content_type: str = "application/xml", **more: Any) -> None:
        """Puts anything else at a path."""
        body = data.encode() if isinstance(data, str) else data
        self.pages[path] = Reply(body, headers={"Content-Type": content_type, **more.pop("headers", {})}, **more)

    def redirect(self, path: str, to: str, *, status: int = 302) -> None:
        """Sends whoever asks for a path to another address."""
        self.pages[path] = Reply(b"", status, {"Location": to})

    def sitemap(self, *paths: str, lastmod: str = "") -> bytes:
        """A sitemap of those paths (or addresses), as most sites write it."""
        return sitemap(*(each if "://" in each else self.url + each for each in paths), lastmod=lastmod)

    def index(self, *paths: str) -> bytes:
        """A sitemap index of those paths."""
        items = "".join(f"<sitemap><loc>{self.url}{path}</loc></sitemap>" for path in paths)
        return f'<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{items}</sitemapindex>'.encode()


def fetcher(clock: Clock, *, cache_dir: Path | None = None, **changes: Any) -> Fetcher:
    """A fetcher that waits by that clock and may ask loopback; few retries, and little time for what never ends."""
    made = {"user_agent": "SITTLab/test (lab@example.org)", "retries": 1, "limits": Limits(total=20), "allow_private": True}
    return Fetcher(cache_dir=cache_dir, clock=clock, sleep=clock.sleep, **{**made, **changes})


def sitemap(*urls: str, lastmod: str = "") -> bytes:
    """A sitemap of those addresses."""
    stamp = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    items = "".join(f"<url><loc>{escape(url)}</loc>{stamp}</url>\n" for url in urls)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{items}</urlset>'.encode()
    )


def article(title: str, *paragraphs: str, head: str = "", suffix: str = " | The Lake Site") -> str:
    """A page as sites have them: navigation and a footer around an article."""
    texts = "".join(f"<p>{text}</p>" for text in paragraphs)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}{suffix}</title>{head}</head><body>'
        '<header><nav><ul><li><a href="/">Home</a></li><li><a href="/about">About us</a></li></ul></nav></header>'
        f"<main><article><h1>{title}</h1>{texts}</article></main>"
        "<footer><p>Copyright of the lake site. <a href='/privacy'>Privacy</a></p></footer></body></html>"
    )

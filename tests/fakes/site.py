"""A stand-in for a web site on loopback: pages with ETags, redirects, and every way in which a server can misbehave."""

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
from xml.sax.saxutils import escape

from sitt_core.sources.fetch import Fetcher, Limits

MEGABYTE = b"\0" * 1_000_000


@dataclass(frozen=True)
class Reply:
    """What is answered at a path; `mode` says how it goes wrong.

    `reset`: half the body, then the connection is torn down. `endless`: a body that never ends. `large`: 200 MB that are
    announced. `bomb`: a body that unpacks to 300 MB. `trickle`: a byte at a time, for ever.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    mode: str = ""


@dataclass(frozen=True)
class Asked:
    """A request that came: its path with the query, and its headers by lower-case name."""

    path: str
    headers: Mapping[str, str]


class Clock:
    """Time that passes only while somebody waits."""

    def __init__(self, now: float = 1_796_040_000.0) -> None:
        self.now, self.waits = now, list[float]()

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        """Waits without waiting."""
        self.waits.append(seconds)
        self.now += seconds


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are what these tests are about."""


class FakeSite:
    """The site: `pages` by path, a function where the answer depends on the request; `asked` is what came, in order."""

    def __init__(self) -> None:
        self.pages: dict[str, Reply | Callable[[Asked], Reply]] = {}
        self.asked: list[Asked] = []
        self.stopping = threading.Event()
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                asked = Asked(self.path, {name.lower(): value for name, value in self.headers.items()})
                site.asked.append(asked)
                found = site.pages.get(self.path) or site.missing(asked)
                site.send(self, asked, found(asked) if callable(found) else found)

            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        self.url = f"http://{self.host}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def missing(self, _asked: Asked) -> Reply:
        """What is answered where there is no page."""
        return Reply(b"<html><title>404</title>Not here</html>", 404, {"Content-Type": "text/html"})

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

    def send(self, handler: http.server.BaseHTTPRequestHandler, asked: Asked, reply: Reply) -> None:
        """Answers, or fails to in the way that the reply's mode says."""
        etag = f'"{hashlib.sha256(reply.body).hexdigest()[:12]}"'
        if reply.status == 200 and not reply.mode and asked.headers.get("if-none-match") == etag:
            handler.send_response(304)
            handler.send_header("ETag", etag)
            for name, value in reply.headers.items():
                handler.send_header(name, value)
            handler.end_headers()
            return
        handler.send_response(reply.status)
        for name, value in {**({"ETag": etag} if reply.status == 200 else {}), **reply.headers}.items():
            handler.send_header(name, value)
        body = reply.body
        if reply.mode == "bomb":
            body = gzip.compress(MEGABYTE * 300, 1)
            handler.send_header("Content-Encoding", "gzip")
        if reply.mode in ("endless", "trickle"):
            handler.send_header("Transfer-Encoding", "chunked")
        else:
            handler.send_header("Content-Length", str(200_000_000 if reply.mode == "large" else len(body)))
        handler.end_headers()
        if reply.mode == "reset":
            handler.wfile.write(body[: len(body) // 2])
            handler.wfile.flush()
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            handler.close_connection = True
            handler.connection.close()
        elif reply.mode in ("endless", "trickle", "large"):
            piece = b"1\r\nx\r\n" if reply.mode == "trickle" else b"f4240\r\n" + MEGABYTE + b"\r\n" if reply.mode == "endless" else MEGABYTE
            handler.close_connection = True
            while not self.stopping.is_set():
                handler.wfile.write(piece)
                if reply.mode == "trickle":
                    self.stopping.wait(0.01)
        else:
            handler.wfile.write(body)


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

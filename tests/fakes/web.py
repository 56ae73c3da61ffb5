"""A stand-in for any web site, on loopback: each path is a function that answers as the real ones do, or misbehaves."""

import contextlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

START = datetime(2026, 12, 1, tzinfo=UTC).timestamp()


@dataclass
class FakeClock:
    """Time that passes only by sleeping: hand `clock.now` and `clock.sleep` to a Fetcher."""

    time: float = START
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds


@dataclass(frozen=True)
class Asked:
    """A request as it came; `at` is the time by the site's clock."""

    path: str
    headers: Mapping[str, str]
    at: float


class Handler(BaseHTTPRequestHandler):
    """Answers one request; an `Answer` calls `send`, or writes to `wfile` itself."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    site: "FakeSite"

    def do_GET(self) -> None:
        site = self.server.site  # type: ignore[attr-defined]
        self.site = site
        site.asked.append(Asked(self.path, {name.lower(): value for name, value in self.headers.items()}, site.clock.now()))
        answer = site.pages.get(self.path) or site.pages.get(urlsplit(self.path).path) or site.otherwise
        with contextlib.suppress(ConnectionError):
            if callable(answer):
                answer(self)
            else:
                self.send(200, answer)

    def send(self, status: int, body: str | bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        data = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def begin(self, headers: Mapping[str, str]) -> None:
        """A 200 whose body the answer writes itself; without a Content-Length it ends with the connection."""
        self.close_connection = True
        self.send_response(200)
        for name, value in {"Content-Type": "text/html", "Connection": "close", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def drip(self, piece: bytes) -> None:
        """Sends a piece again and again until the client has gone, or the test is over."""
        while not self.site.stopping.wait(0.01):
            self.wfile.write(piece)
            self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are what these tests are about."""


Answer = Callable[[Handler], None] | str | bytes


def not_found(handler: Handler) -> None:
    handler.send(404, "<h1>Not Found</h1>")


@dataclass
class FakeSite:
    """A site on a free loopback port, for use in a `with` block; `pages` by path (with or without the query) can change meanwhile."""

    pages: dict[str, Answer] = field(default_factory=dict)
    clock: FakeClock = field(default_factory=FakeClock)
    otherwise: Answer = not_found
    asked: list[Asked] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.site = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def times(self) -> list[float]:
        """Seconds between one request and the next, by the site's clock."""
        return [after.at - before.at for before, after in zip(self.asked, self.asked[1:], strict=False)]

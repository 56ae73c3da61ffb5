"""What the fake services of language models share: a loopback server that misbehaves when told to, and answers from passages."""

import json
import re
import select
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar, Self

from tests.fakes.judge import MODES as JUDGE_MODES
from tests.fakes.judge import Script, verdict

REFUSAL = "The corpus does not say."
MODES = (
    *("slow", "cut", "torn", "stall", "dead", "error", "refusal", "max-tokens", "liar", "echo", "garbage", "once", "drop", "quota", "long"),
    *("json-200", "html-200", "unknown-stop", "think", "think-on"),
    *JUDGE_MODES,
    *("400", "401", "402", "403", "404", "408", "409", "413", "429", "500", "503", "529"),
)
"""What the end of a model's name may ask for; `once` is a 429 for the first request and an answer for the next,
`drop` a connection that is closed and then an answer, `json-200` an error and `html-200` a page where a stream should be,
`think` thinking at the head of the text, `think-on` nothing but thinking."""
PAGE = "<!doctype html><title>Sign in</title><p>data: none</p>"
SLOW = 0.15
"""Seconds before each word of a model that is slow."""
_IDLE = 0.02
_STOP_WORDS = re.compile(
    "a|an|and|are|as|at|be|by|did|do|does|for|from|had|has|have|how|in|is|it|its|of|on|or|that|the|their|there|this|to|was|were|"
    "what|when|where|which|who|whom|whose|why|will|with|you|your|about|can|could"
)


class ClientGone(Exception):
    """The client closed its end before the answer was over."""


@dataclass(frozen=True)
class Received:
    """A request as it came."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


@dataclass
class FakeService:
    """A service on a free loopback port, for use in a `with` block; `delay` is the time in seconds before each word.

    `requests` holds what came, `closed_early` the models of the answers that a client did not wait for,
    `answered` those of the answers that have been sent, `retry_after` what a
    429 or 529 asks for ("" for nothing). `script` writes what has to follow a schema.
    """

    delay: float = 0.0
    retry_after: str = "0"
    requests: list[Received] = field(default_factory=list)
    closed_early: list[str] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)
    refused_once: bool = False
    script: Script = verdict
    handler: ClassVar[type["FakeHandler"]]

    def __enter__(self) -> Self:
        self._stopping = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler)
        self._server.service = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Its root address."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    @property
    def bodies(self) -> list[Mapping[str, Any]]:
        return [request.body for request in self.requests]


class FakeHandler(BaseHTTPRequestHandler):
    """One connection: reads a request, keeps it, and answers as the model's name asks."""

    protocol_version = "HTTP/1.1"
    prefix: ClassVar[str]

    @property
    def service(self) -> FakeService:
        return self.server.service  # type: ignore[attr-defined, no-any-return]

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a test's output is its own."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.service.requests.append(Received(self.path, dict(self.headers), body))
        model = str(body.get("model", ""))
        mode = next((mode for mode in MODES if model == f"{self.prefix}-{mode}"), "")
        try:
            self.answer(body, mode)
            self.service.answered.append(model)
        except (ClientGone, BrokenPipeError, ConnectionResetError):
            self.service.closed_early.append(model)
            self.close_connection = True

    def answer(self, body: Mapping[str, Any], mode: str) -> None:
        raise NotImplementedError

    def pause(self, seconds: float) -> None:
        """Waits, but not for a client that has gone; raises ClientGone."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self.service.stopping:
            readable, _, _ = select.select([self.connection], [], [], min(left, _IDLE))
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                raise ClientGone

    def refuses_this_time(self) -> bool:
        """Whether this is the first request to a service that refuses once."""
        first, self.service.refused_once = not self.service.refused_once, True
        return first

    def never(self) -> None:
        """Waits until the client gives up or the server is closed."""
        while not self.service.stopping:
            self.pause(1.0)
        self.close_connection = True

    def send(self, status: int, body: object, headers: Mapping[str, str] | None = None) -> None:
        """A whole answer: JSON, or a text that claims to be."""
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def begin_events(self, *, chunked: bool) -> None:
        """The head of a stream of events; one that is not chunked ends when the connection does, so that a cut goes unnoticed."""
        self._chunked = chunked
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked") if chunked else self.send_header("Connection", "close")
        self.end_headers()

    def send_event(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)

    def end_events(self) -> None:
        if self._chunked:
            self.wfile.write(b"0\r\n\r\n")

    def hang_up(self) -> None:
        """Closes the connection where it stands."""
        self.close_connection = True


def content_words(text: str) -> set[str]:
    """The words that carry meaning, plural or not."""
    return {word.removesuffix("s") for word in re.findall(r"\w{3,}", text.casefold()) if not _STOP_WORDS.fullmatch(word)}


def best_blocks(question: str, passages: Sequence[Sequence[str]], *, most: int = 2) -> list[tuple[int, int]]:
    """The passage and block numbers of the blocks that share most words with the question, best first; none that shares none."""
    wanted = content_words(question)
    shared = [
        (-len(wanted & content_words(block)), passage, at)
        for passage, blocks in enumerate(passages)
        for at, block in enumerate(blocks)
        if wanted & content_words(block)
    ]
    return [(passage, at) for _, passage, at in sorted(shared)[:most]]


def words(text: str) -> Iterator[str]:
    """A text in the pieces that a model streams: words with the white space after them."""
    yield from re.findall(r"\s*\S+\s*|\s+", text)

"""How a service is asked over HTTP: with a patience that ends, a few tries before the first word, and every fault by name."""

import asyncio
import contextlib
import email.utils
import functools
import json
import ssl
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Protocol
from urllib.parse import urlsplit

from sitt_core.errors import KeyMissing, ProviderError, shown
from sitt_core.types import AnswerPart, Prompt

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 60.0
MAX_TOKENS = 4096
"""The longest answer in tokens, the model's thinking included."""
RETRIES = 2
LONGEST_WAIT = 30.0
"""The longest wait in seconds that a service may ask for; beyond it the reader is told instead."""
FIRST_WAIT = 0.5
LONGEST_NOTICE = 100_000
"""So many bytes are read of what a service sends instead of a stream."""

Attempt = AsyncGenerator[tuple[AnswerPart, ...], None]
"""One try: what each event says, () for one that only shows the model at work. An event without meaning is not passed on."""


@dataclass(frozen=True, slots=True)
class Service:
    """Whom we ask and how long we wait, in seconds; `key_variable` is "" where no key is needed."""

    title: str
    model: str
    base_url: str
    url_variable: str
    key_variable: str
    key: str = field(repr=False)
    connect_timeout: float
    idle_timeout: float
    retries: int

    @property
    def host(self) -> str:
        """Host and port of the address, without what a URL may hold besides; "" when it is no address of a server."""
        try:
            parts = urlsplit(self.base_url)
            port = f":{parts.port}" if parts.port else ""
        except ValueError:
            return ""
        return f"{parts.hostname}{port}" if parts.scheme in ("http", "https") and parts.hostname else ""

    @property
    def local(self) -> bool:
        """Whether it runs on this machine."""
        return self.host.partition(":")[0] in ("127.0.0.1", "localhost")

    def check(self) -> None:
        """Raises KeyMissing where a key is needed and there is none, ProviderError for a key or an address that cannot be used."""
        if not self.host:
            raise ProviderError(
                expected=f"{self.url_variable} to be an address that begins with http:// or https://",
                got="another one",
                remedy="Correct it, or remove it to use the real service.",
            )
        if not self.key and self.key_variable:
            raise KeyMissing(
                expected=f"a key for {self.title}",
                got=f"none: {self.key_variable} is not set",
                remedy=f"Set {self.key_variable} in .env or the environment and start again, or choose the provider extractive.",
            )
        if any(not "!" <= character <= "~" for character in self.key):
            raise ProviderError(
                expected=f"the key for {self.title} to be one word of ASCII",
                got="one with other characters in it",
                remedy=f"Copy {self.key_variable or 'it'} again, without quotation marks or spaces.",
            )

    def cleaned(self, message: object) -> str:
        """A service's own words as an error may show them: without the key, cut."""
        text = " ".join(str(message).split())
        return shown(text.replace(self.key, "[key]") if self.key else text)


@dataclass(frozen=True, slots=True)
class Known:
    """A service we know: how it is called, where it is, which variables hold its key (where one is needed) and address, its name for the limit."""

    title: str
    base_url: str
    key_variable: str
    url_variable: str
    limit_field: str = "max_tokens"


class Network(Protocol):
    """What providers that are asked over the network have in common; time-outs in seconds."""

    @property
    def model(self) -> str: ...  # noqa: D102

    @property
    def api_key(self) -> str: ...  # noqa: D102

    @property
    def base_url(self) -> str | None: ...  # noqa: D102

    @property
    def connect_timeout(self) -> float: ...  # noqa: D102

    @property
    def idle_timeout(self) -> float: ...  # noqa: D102

    @property
    def retries(self) -> int: ...  # noqa: D102


def service_of(provider: Network, known: Known) -> Service:
    """Whom a provider asks; raises KeyMissing or ProviderError before anything is sent."""
    service = Service(
        title=known.title,
        model=provider.model,
        base_url=provider.base_url or known.base_url,
        url_variable=known.url_variable,
        key_variable=known.key_variable,
        key=provider.api_key.strip(),
        connect_timeout=provider.connect_timeout,
        idle_timeout=provider.idle_timeout,
        retries=provider.retries,
    )
    service.check()
    return service


def earlier_turns(prompt: Prompt) -> list[dict[str, Any]]:
    """A conversation so far as messages, questions and answers in turn, without empty ones, which services refuse."""
    return [
        {"role": role, "content": text}
        for turn in prompt.history
        if turn.question.strip() and turn.answer.strip()
        for role, text in (("user", turn.question), ("assistant", turn.answer))
    ]


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure by name; `again` says whether another try may help, `wait` how many seconds the service asked for."""

    error: ProviderError
    again: bool = False
    wait: float | None = None


async def ask(service: Service, attempt: Callable[[], Attempt], *, sdk: ModuleType, http: ModuleType) -> AsyncGenerator[AnswerPart, None]:
    """The parts of the first attempt that speaks; `sdk` and `http` are the modules whose exceptions it may raise.

    Raises ProviderError. Closing it, or cancelling its task, closes the attempt's connection before it returns.
    """
    for tried in range(service.retries + 1):
        begun = False
        async with contextlib.aclosing(attempt()) as events:
            while not isinstance(heard := await _next(service, events, begun=begun, sdk=sdk, http=http), Fault):
                if heard is None:
                    return
                for part in heard:
                    begun = True
                    yield part
        fault = heard
        wait = FIRST_WAIT * 2**tried if fault.wait is None else fault.wait
        if begun or not fault.again or tried == service.retries or wait > LONGEST_WAIT:
            raise fault.error
        await asyncio.sleep(wait)


async def _next(
    service: Service, events: Attempt, *, begun: bool, sdk: ModuleType, http: ModuleType
) -> tuple[AnswerPart, ...] | Fault | None:
    """What comes next: a sign of life, None at the end, or the fault that came instead.

    The clock runs only while we wait for the service, never while the caller uses what it was given.
    """
    try:
        async with asyncio.timeout(service.idle_timeout):
            return await anext(events, None)
    except TimeoutError:
        return Fault(_stalled(service, begun=begun))
    except ProviderError as error:
        return Fault(error)
    except Exception as error:
        # Returned, not raised from here: a chained exception would carry the request and with it the key.
        return _fault_of(service, error, begun=begun, sdk=sdk, http=http)


@functools.cache
def certificates(http: ModuleType) -> ssl.SSLContext:
    """The certificates that `http` (httpx, or httpx2) trusts, read once: a client of its own for each answer takes .07 s to read them."""
    context: ssl.SSLContext = http.create_ssl_context()
    return context


async def check_stream(service: Service, response: Any) -> None:
    """Raises ProviderError when a response of status 200 is no stream of events: with the service's own words if it is JSON that has any.

    A response that does not say what it is passes.
    """
    kind = response.headers.get("content-type", "").partition(";")[0].strip().casefold()
    if kind in ("", "text/event-stream"):
        return
    words = await _words_in(response) if kind.endswith("json") else ""
    got = f"an error with status 200: {service.cleaned(words)}" if words else f"{shown(kind)} instead of a stream"
    remedy = f"Check that {service.url_variable} names such a service and its whole path, and ask again."
    raise ProviderError(expected=f"{service.title} to answer with a stream of events", got=got, remedy=remedy)


async def _words_in(response: Any) -> str:
    """The message of a JSON error, as `{"error": {"message": …}}` or `{"error": …}`; "" where there is none."""
    data = b""
    async for piece in response.aiter_bytes():
        data += piece
        if len(data) > LONGEST_NOTICE:
            return ""
    told: Any = None
    with contextlib.suppress(ValueError, RecursionError):
        told = json.loads(data)
    told = told.get("error") if isinstance(told, dict) else None
    told = told.get("message") if isinstance(told, dict) else told
    return told if isinstance(told, str) else ""


def cut(service: Service) -> ProviderError:
    """The error for an answer that broke off."""
    return ProviderError(
        expected=f"{service.title} to finish its answer",
        got="the stream ended before the answer did",
        remedy="Ask again; what has arrived is not the whole answer.",
    )


def _stalled(service: Service, *, begun: bool) -> ProviderError:
    said = "the rest of the answer" if begun else "the first word"
    return ProviderError(
        expected=f"{service.title} ({service.model}) to go on answering",
        got=f"silence for {service.idle_timeout:g} s while waiting for {said}",
        remedy="Ask again, choose a faster model, or allow a longer silence with LLM_IDLE_TIMEOUT.",
    )


def _fault_of(service: Service, error: Exception, *, begun: bool, sdk: ModuleType, http: ModuleType) -> Fault:
    """The named fault of an exception that a service's own package raised."""
    if isinstance(error, sdk.APITimeoutError):
        return Fault(
            ProviderError(
                expected=f"{service.title} to take the connection within {service.connect_timeout:g} s",
                got=f"no connection to {service.host}",
                remedy=f"Check the network, a proxy, and {service.url_variable}.",
            ),
            again=True,
        )
    if isinstance(error, sdk.APIConnectionError | http.TransportError):
        return Fault(cut(service) if begun else _unreachable(service, error), again=True)
    if isinstance(error, sdk.APIError):
        return _answered(service, error)
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        return Fault(_nonsense(service, "something that is no JSON"))
    # Only the name: the text of an unexpected exception may hold anything, the request's headers among it.
    return Fault(_nonsense(service, f"an answer that could not be read ({type(error).__name__})"))


def _unreachable(service: Service, error: Exception) -> ProviderError:
    reason = error.__cause__ or error
    return ProviderError(
        expected=f"{service.title} to answer at {service.host}",
        got=service.cleaned(f"{type(reason).__name__}: {reason}"),
        remedy=f"Start the server there, or correct {service.url_variable}."
        if service.local
        else f"Check the network, a proxy, and {service.url_variable}.",
    )


def _nonsense(service: Service, what: str) -> ProviderError:
    return ProviderError(
        expected=f"{service.title} to answer in its API's form",
        got=what,
        remedy=f"Check that {service.url_variable} names such a service, and ask again.",
    )


_STATUS_OF = {
    **{"invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403},
    **{"not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "rate_limit_exceeded": 429},
    **{"api_error": 500, "server_error": 500, "timeout_error": 504, "overloaded_error": 529},
}
"""What an error's type means when it comes within a stream, whose status is 200."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a service said instead of an answer: the status that fits, in which form it came, its kinds and its words."""

    status: int
    label: str
    kinds: tuple[str, ...]
    words: str

    @property
    def no_credit(self) -> bool:
        """Whether it is about money."""
        told = self.status == 400 and "credit balance" in self.words.casefold()
        return told or self.status == 402 or "insufficient_quota" in self.kinds

    @property
    def too_long(self) -> bool:
        """Whether the prompt is more than the model can hold."""
        phrases = ("too long", "context length", "maximum context")
        told = "context_length_exceeded" in self.kinds or any(phrase in self.words.casefold() for phrase in phrases)
        return self.status == 413 or (self.status == 400 and told)


def _answered(service: Service, error: Any) -> Fault:
    """The fault that a service told us about, before or within its answer."""
    refusal = _refusal(error)
    response = getattr(error, "response", None)
    headers: Mapping[str, str] = response.headers if response is not None else {}
    wait = _asked_wait(headers)
    retryable = (refusal.status in (408, 409, 429) or refusal.status >= 500) and headers.get("x-should-retry") != "false"
    expected, remedy = _meaning(service, refusal, "Ask again" if wait is None else f"Ask again in {wait:,.0f} s")
    # The message about a refused key often repeats a part of it.
    got = refusal.label if refusal.status == 401 else f"{refusal.label}: {service.cleaned(refusal.words)}"
    if wait is not None and refusal.status in (429, 503, 529):
        got += f"; it asks to wait {wait:,.0f} s"
    return Fault(ProviderError(expected=expected, got=got, remedy=remedy), again=retryable and not refusal.no_credit, wait=wait)


def _refusal(error: Any) -> Refusal:
    """The refusal in an exception of either package; one within a stream came with status 200, or with none."""
    inner = error.body.get("error", error.body) if isinstance(error.body, dict) else error.body
    inner = inner if isinstance(inner, dict) else {"message": inner}
    kinds = tuple(kind for kind in (inner.get("type"), inner.get("code")) if isinstance(kind, str))
    words = str(inner.get("message") or "no reason given")
    status = getattr(error, "status_code", 200)
    if status >= 400:
        return Refusal(status, f"status {status}", kinds, words)
    meant = next((_STATUS_OF[kind] for kind in kinds if kind in _STATUS_OF), 500)
    return Refusal(meant, f"{kinds[0] if kinds else 'an error'} within the answer", kinds, words)


def _meaning(service: Service, refusal: Refusal, again: str) -> tuple[str, str]:
    """What was expected, and what to do."""
    key, status = service.key_variable or "the key", refusal.status
    if refusal.no_credit:
        return f"credit with {service.title}", "Add credit to the account, or choose another provider."
    if refusal.too_long:
        return f"a prompt that {service.model} can hold", "Show it fewer passages (top_k), or choose a model that reads more."
    match status:
        case 401:
            return f"{service.title} to accept the key", f"Check {key}: it may be mistyped, withdrawn, or for another service."
        case 403:
            return f"{key} to be allowed to use {service.model}", "Ask whoever manages the account, or choose another model."
        case 404:
            return (
                f"{service.title} to know the model {shown(service.model)}",
                f"Check the model's name, that it is there for you, and {service.url_variable} where that is set.",
            )
        case 429:
            return f"{service.title} to have room for the request", f"{again}: the key's rate limit is used up for now."
        case 503 | 529:
            return f"{service.title} to have room for the request", f"{again}: it is overloaded for everybody."
    if status >= 500 or status in (408, 409):
        return f"{service.title} to answer", f"{again}; the fault is on its side."
    return f"{service.title} to accept the request", "Check the model's name and its limits."


def _asked_wait(headers: Mapping[str, str]) -> float | None:
    """The seconds a service asks to wait (`retry-after-ms`, or `Retry-After` in seconds or as a date), or None."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        with contextlib.suppress(ValueError):
            seconds = float(headers.get(name, "")) / unit
            if seconds >= 0:  # not for NaN
                return seconds
    date = email.utils.parsedate_tz(headers.get("retry-after", ""))
    return max(email.utils.mktime_tz(date) - time.time(), 0.0) if date else None

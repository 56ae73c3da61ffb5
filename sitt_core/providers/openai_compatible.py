"""Any server that speaks OpenAI's chat protocol: passages go as numbered sources, and the model must quote what it rests on."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from sitt_core.costs import Price, cost
from sitt_core.errors import InvalidInput, shown
from sitt_core.providers.asking import (
    CONNECT_SECONDS,
    IDLE_SECONDS,
    MAX_TOKENS,
    RETRIES,
    Attempt,
    Known,
    Service,
    ask,
    certificates,
    check_stream,
    cut,
    earlier_turns,
    service_of,
)
from sitt_core.providers.markers import MarkerReader
from sitt_core.providers.schemas import strict
from sitt_core.providers.thinking import ThinkingReader
from sitt_core.types import AnswerPart, DonePart, Prompt, StopReason, TextPart, Usage

SERVICES: dict[str, Known] = {
    # OpenAI's newer models refuse max_tokens; other servers often know nothing else.
    "openai": Known("OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL", "max_completion_tokens"),
    "groq": Known("Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "GROQ_BASE_URL", "max_completion_tokens"),
    "ollama": Known("Ollama", "http://127.0.0.1:11434/v1", "", "OLLAMA_BASE_URL"),
    "custom": Known("the server at LLM_BASE_URL", "", "", "LLM_BASE_URL"),
}

_STOPS: dict[str, StopReason] = {"stop": "end", "length": "max_tokens", "content_filter": "refusal"}


@dataclass(frozen=True, slots=True)
class OpenAICompatible:
    """A `types.Provider` for one of `SERVICES`, by its `name`; time-outs in seconds.

    Raises InvalidInput for a name that is not among them, and for "custom" without an address.
    """

    name: str
    model: str
    api_key: str = field(default="", repr=False)
    base_url: str | None = None
    connect_timeout: float = CONNECT_SECONDS
    idle_timeout: float = IDLE_SECONDS
    max_tokens: int = MAX_TOKENS
    retries: int = RETRIES
    price: Price | None = None

    def __post_init__(self) -> None:
        known = SERVICES.get(self.name)
        if known is None:
            raise InvalidInput(expected=f"one of the services {', '.join(SERVICES)}", got=shown(self.name), remedy="Correct LLM_PROVIDER.")
        if not (self.base_url or known.base_url):
            raise InvalidInput(
                expected="the address of a server that speaks OpenAI's protocol",
                got="none",
                remedy=f"Set {known.url_variable}, for example to http://127.0.0.1:8000/v1.",
            )

    @property
    def citing(self) -> Literal["quotes"]:
        """It cites by quotations in its text."""
        return "quotes"

    async def stream(self, prompt: Prompt) -> AsyncGenerator[AnswerPart, None]:
        """The answer as it is written; raises KeyMissing before anything is sent, and ProviderError."""
        service = service_of(self, SERVICES[self.name])
        import httpx
        import openai

        async with aclosing(ask(service, lambda: self._attempt(service, prompt), sdk=openai, http=httpx)) as parts:
            async for part in parts:
                yield part

    def as_sent(self, prompt: Prompt) -> str:
        """The request's body as JSON, indented."""
        return json.dumps(self._body(prompt), indent=2, ensure_ascii=False)

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        system = [{"role": "system", "content": prompt.system}] if prompt.system.strip() else []
        form = {"name": "answer", "strict": True, "schema": strict(prompt.schema)} if prompt.schema else None
        return {
            "model": self.model,
            SERVICES[self.name].limit_field: self.max_tokens,
            "messages": [*system, *earlier_turns(prompt), {"role": "user", "content": with_sources(prompt)}],
            "stream": True,
            "stream_options": {"include_usage": True},
            **({"response_format": {"type": "json_schema", "json_schema": form}} if form else {}),
        }

    async def _attempt(self, service: Service, prompt: Prompt) -> Attempt:
        """One request; its connection is closed when this generator is."""
        import httpx
        import openai

        # The package reads an account of OpenAI's from the environment, which is nobody else's business.
        account = ("OpenAI-Organization", "OpenAI-Project")
        headers: dict[str, Any] = {} if self.name == "openai" else dict.fromkeys(account, openai.Omit())
        # A client of its own, since one belongs to the event loop it was first used in.
        client: Any = openai.AsyncOpenAI(
            api_key=service.key or "none",
            base_url=service.base_url,
            default_headers=headers,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(verify=certificates(httpx)),
            # Only the connection: how long to wait for words is measured in `ask`, where keep-alives do not count.
            timeout=httpx.Timeout(None, connect=service.connect_timeout),
        )
        answer = _Answer(self.model, None if prompt.schema else MarkerReader([excerpt.id for excerpt in prompt.excerpts]))
        try:
            async with await _opened(client, self._body(prompt)) as chunks:
                await check_stream(service, chunks.response)
                async for chunk in chunks:
                    heard = answer.hear(chunk)
                    if heard is not None:
                        yield heard
        finally:
            await client.close()
        yield answer.done(service, self.price)


OPTIONAL = ("stream_options", "response_format")
"""What some servers do not know; the prompt says the form of an answer too."""


async def _opened(client: Any, body: dict[str, Any]) -> Any:
    """The stream of an answer; a server that does not know one of `OPTIONAL` is asked without."""
    import openai

    while True:
        try:
            return await client.chat.completions.create(**body)
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            unknown = [name for name in OPTIONAL if name in body and name in str(error)]
            if not unknown:
                raise
        body = {name: value for name, value in body.items() if name not in unknown}


def with_sources(prompt: Prompt) -> str:
    """The question under its numbered sources, each between two lines that hold the prompt's fence."""
    sources = [
        f"[source {number} · {prompt.fence}] {' '.join(excerpt.title.split())}\n{excerpt.text}\n[end of source {number} · {prompt.fence}]"
        for number, excerpt in enumerate(prompt.excerpts, start=1)
    ]
    return "\n\n".join([*sources, prompt.question])


class _Answer:
    """What the chunks of one answer add up to."""

    def __init__(self, model: str, reader: MarkerReader | None) -> None:
        """Without a `reader` the text is JSON, in which two brackets are no marker."""
        self.model = model
        self.thinking = ThinkingReader()
        self.reader = reader
        self.stop: str | None = None
        self.refused = False
        self.usage: Usage | None = None

    def hear(self, chunk: Any) -> tuple[AnswerPart, ...] | None:
        """The parts that a chunk brings, () when it shows the model at work, None when it says nothing."""
        self.model = chunk.model or self.model
        if chunk.usage is not None:
            details = getattr(chunk.usage, "prompt_tokens_details", None)
            cached = getattr(details, "cached_tokens", None) or 0
            self.usage = Usage(chunk.usage.prompt_tokens or 0, chunk.usage.completion_tokens or 0, cached)
        if not chunk.choices:
            return None
        choice = chunk.choices[0]
        self.stop = choice.finish_reason or self.stop
        return self._delta(choice.delta)

    def _delta(self, delta: Any) -> tuple[AnswerPart, ...] | None:
        if delta is None:
            return None
        if delta.content:
            return self._read(self.thinking.feed(delta.content))
        if delta.refusal:
            self.refused = True
            return self._read(delta.refusal)
        # Servers differ in what they call the model's thinking, which is no part of its answer.
        return () if getattr(delta, "reasoning", None) or getattr(delta, "reasoning_content", None) else None

    def _read(self, text: str) -> tuple[AnswerPart, ...]:
        if self.reader is None:
            return (TextPart(text),) if text else ()
        return tuple(self.reader.feed(text))

    def done(self, service: Service, price: Price | None) -> tuple[AnswerPart, ...]:
        """The rest of the text and the end of the answer; raises ProviderError when it broke off."""
        if self.stop is None:
            raise cut(service)
        stop: StopReason = "refusal" if self.refused else _STOPS.get(self.stop, "end")
        note = "" if self.stop in _STOPS else f"stop reason {self.stop}"
        # A server that does not count: what that costs is known only where nothing costs anything.
        counted = self.usage or Usage(1, 1)
        dollars = cost(price, counted)
        usage = replace(self.usage or Usage(), dollars=dollars if self.usage or dollars == 0 else None)
        rest = self.reader.close() if self.reader else ()
        return (*self._read(self.thinking.close()), *rest, DonePart(stop, usage, self.model, note))

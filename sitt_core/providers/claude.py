"""Claude, through the Messages API: passages go as search results, citations come back with the words they rest on."""

import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from sitt_core.costs import Price, cost
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
from sitt_core.providers.schemas import strict
from sitt_core.types import AnswerPart, CitationPart, DonePart, Excerpt, Prompt, StopReason, TextPart, Usage

KNOWN = Known("Claude", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")

_STOPS: dict[str, StopReason] = {
    **{"end_turn": "end", "stop_sequence": "end", "refusal": "refusal"},
    **{"max_tokens": "max_tokens", "model_context_window_exceeded": "max_tokens"},
}


@dataclass(frozen=True, slots=True)
class Claude:
    """A `types.Provider` that asks a model of Anthropic's; time-outs in seconds, `max_tokens` with the model's thinking."""

    model: str
    api_key: str = field(repr=False)
    base_url: str | None = None
    connect_timeout: float = CONNECT_SECONDS
    idle_timeout: float = IDLE_SECONDS
    max_tokens: int = MAX_TOKENS
    retries: int = RETRIES
    price: Price | None = None

    @property
    def name(self) -> str:
        """What the configuration calls it."""
        return "claude"

    @property
    def citing(self) -> Literal["native"]:
        """Its citations are the API's own."""
        return "native"

    async def stream(self, prompt: Prompt) -> AsyncGenerator[AnswerPart, None]:
        """The answer as it is written; raises KeyMissing before anything is sent, and ProviderError."""
        service = service_of(self, KNOWN)
        import anthropic
        import httpx2

        async with aclosing(ask(service, lambda: self._attempt(service, prompt), sdk=anthropic, http=httpx2)) as parts:
            async for part in parts:
                yield part

    def as_sent(self, prompt: Prompt) -> str:
        """The request's body as JSON, indented."""
        return json.dumps(self._body(prompt), indent=2, ensure_ascii=False)

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        results = [result for excerpt in prompt.excerpts if (result := search_result(excerpt))]
        now = {"role": "user", "content": [*results, {"type": "text", "text": prompt.question}]}
        system = {"system": prompt.system} if prompt.system.strip() else {}
        form = {"output_config": {"format": {"type": "json_schema", "schema": strict(prompt.schema)}}} if prompt.schema else {}
        return {
            "model": self.model,
            "max_tokens": self.max_tokens,
            **system,
            "messages": [*earlier_turns(prompt), now],
            "stream": True,
            **form,
        }

    async def _attempt(self, service: Service, prompt: Prompt) -> Attempt:
        """One request; its connection is closed when this generator is."""
        import anthropic
        import httpx2

        # A client of its own: one that is used in a second event loop fails with "Event loop is closed" (anthropic 2.14).
        client: Any = anthropic.AsyncAnthropic(
            api_key=service.key,
            base_url=service.base_url,
            max_retries=0,
            http_client=anthropic.DefaultAsyncHttpxClient(verify=certificates(httpx2)),
            # Only the connection: how long to wait for words is measured in `ask`, where pings do not count.
            timeout=httpx2.Timeout(None, connect=service.connect_timeout),
        )
        answer = _Answer(self.model)
        try:
            async with await client.messages.create(**self._body(prompt)) as events:
                await check_stream(service, events.response)
                async for event in events:
                    heard = answer.hear(event)
                    if heard is not None:
                        yield heard
        finally:
            await client.close()
        yield (answer.done(service, self.price),)


def search_result(excerpt: Excerpt) -> dict[str, Any] | None:
    """An excerpt as the API takes it, one text block per citable unit; None for one without text."""
    blocks = without_blanks(excerpt.blocks)
    if not blocks:
        return None
    return {
        "type": "search_result",
        "source": excerpt.id,
        "title": excerpt.title.strip() or excerpt.id,
        "content": [{"type": "text", "text": block} for block in blocks],
        "citations": {"enabled": True},
    }


def without_blanks(blocks: Iterable[str]) -> list[str]:
    """The blocks with those of white space alone joined to a neighbour: the same text, in blocks that the API accepts."""
    kept: list[str] = []
    lead = ""
    for block in blocks:
        if block.strip():
            kept.append(lead + block)
            lead = ""
        elif kept:
            kept[-1] += block
        else:
            lead += block
    return kept


def citation_part(citation: Any) -> CitationPart:
    """A citation as it was claimed, with the excerpt "" where it names none.

    Whether the words stand in that excerpt is for the checker, which looks at the text itself and so needs no index of blocks.
    A type that the package does not know comes as an object of another type with None in its fields.
    """
    known = getattr(citation, "type", None) == "search_result_location"
    source = getattr(citation, "source", None) if known else None
    return CitationPart(str(source or ""), str(getattr(citation, "cited_text", None) or ""))


class _Answer:
    """What the events of one answer add up to.

    A block's citations come before its text as a rule, and belong behind it: they are held back until the block ends.
    """

    def __init__(self, model: str) -> None:
        self.model = model
        self.stop: str | None = None
        self.note = ""
        self.tokens: dict[str, int] = {}
        self.held: list[CitationPart] = []

    def hear(self, event: Any) -> tuple[AnswerPart, ...] | None:
        """The parts that an event brings, () when it shows the model at work, None when it says nothing."""
        match event.type:
            case "message_start":
                self.model = event.message.model or self.model
                self._count(event.message.usage)
            case "content_block_start":
                return self._block(event.content_block)
            case "content_block_delta":
                return self._delta(event.delta)
            case "content_block_stop":
                return self._released() or None
            case "message_delta":
                self.stop = event.delta.stop_reason or self.stop
                category = getattr(getattr(event.delta, "stop_details", None), "category", None)
                self.note = f"declined as {category}" if category else self.note
                self._count(event.usage)
        return None

    def _block(self, block: Any) -> tuple[AnswerPart, ...] | None:
        if block.type == "text":
            self.held += map(citation_part, block.citations or ())
            return (TextPart(block.text),) if block.text else None
        return ()  # thinking, which may be kept from us but for its beginning

    def _delta(self, delta: Any) -> tuple[AnswerPart, ...] | None:
        if delta.type == "text_delta":
            return (TextPart(delta.text),) if delta.text else None
        if delta.type == "citations_delta":
            self.held.append(citation_part(delta.citation))
            return ()
        return () if delta.type in ("thinking_delta", "signature_delta") else None

    def _released(self) -> tuple[CitationPart, ...]:
        """The citations of the block that has ended."""
        released, self.held = tuple(self.held), []
        return released

    def _count(self, usage: Any) -> None:
        """Keeps the counts of an event; each stands for the answer so far."""
        for name in ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"):
            count = getattr(usage, name, None)
            if count is not None:
                self.tokens[name] = count

    def done(self, service: Service, price: Price | None) -> DonePart:
        """The end of the answer; raises ProviderError when it broke off, which the package does not notice (anthropic 2.14)."""
        if self.stop is None:
            raise cut(service)
        cached = self.tokens.get("cache_read_input_tokens", 0)
        usage = Usage(
            input_tokens=self.tokens.get("input_tokens", 0) + cached + self.tokens.get("cache_creation_input_tokens", 0),
            output_tokens=self.tokens.get("output_tokens", 0),
            cached_tokens=cached,
        )
        note = self.note if self.stop in _STOPS else f"stop reason {self.stop}"
        return DonePart(_STOPS.get(self.stop, "end"), replace(usage, dollars=cost(price, usage)), self.model, note)

"""A language model as a judge: asked for JSON of a given form, checked, asked once more, cached, within a budget."""

import asyncio
import contextlib
import functools
import hashlib
import json
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from sitt_core.errors import BadAnswer, BudgetSpent, ProviderError, shown
from sitt_core.text import count_tokens
from sitt_core.types import DonePart, Prompt, Provider, TextPart, Usage

PROMPTS = Path(__file__).with_name("prompts")
PROMPT_VERSION = "1"
TRIES = 2
"""How often a judge is asked whose answer is not of the form asked for."""
MARGIN = 1.3
"""Our count of tokens times this bounds any model's count of the same text from above, well enough for a budget."""
CACHE_VERSION = 1
WAIT_SECONDS = 0.02
"""How often a call looks whether others have given back what they did not need of the budget."""
FORM_TOKENS = 300
"""About what the instructions and the schema of an answer's form take beside the text."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a judge is asked: `form` is what its JSON has to be, `check` says what is wrong with an answer of that form, or "".

    `role` names the prompt that says what it is and what it may trust.
    """

    text: str
    form: type[BaseModel]
    check: Callable[[Any], str] = lambda _: ""
    role: str = "system"

    @property
    def system(self) -> str:
        """The instructions that every request of that role shares."""
        return prompt_text(self.role)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its form."""
        return _schema_of(self.form)


@dataclass(slots=True)
class Tally:
    """What a row took: calls paid for and answers from the cache, tokens, dollars (None once a price was not known)."""

    calls: int = 0
    cached: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float | None = 0.0

    def add(self, usage: Usage) -> None:
        """Counts a call."""
        self.calls += 1
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.dollars = None if self.dollars is None or usage.dollars is None else self.dollars + usage.dollars


@dataclass(slots=True)
class Budget:
    """The most that may be spent, tokens and dollars, None for no limit; what is asked at this moment counts at its most."""

    tokens: int | None = None
    dollars: float | None = None
    spent_tokens: int = 0
    spent_dollars: float = 0.0
    _held_tokens: int = 0
    _held_dollars: float = 0.0

    async def hold(self, tokens: int, dollars: float) -> None:
        """Sets aside what a call can take at most, once other calls no longer hold it; raises BudgetSpent when it is not left."""
        while True:
            try:
                return self._hold(tokens, dollars)
            except BudgetSpent:
                if not self._held_tokens:
                    raise
            await asyncio.sleep(WAIT_SECONDS)

    def _hold(self, tokens: int, dollars: float) -> None:
        if self.tokens is not None and self.spent_tokens + self._held_tokens + tokens > self.tokens:
            raise _spent(f"{self.spent_tokens:,} of {self.tokens:,} tokens spent, and the next call can take {tokens:,}")
        if self.dollars is not None and self.spent_dollars + self._held_dollars + dollars > self.dollars:
            raise _spent(f"${self.spent_dollars:.2f} of ${self.dollars:.2f} spent, and the next call can cost ${dollars:.3f}")
        self._held_tokens += tokens
        self._held_dollars += dollars

    def release(self, tokens: int, dollars: float) -> None:
        """Gives back what was set aside."""
        self._held_tokens -= tokens
        self._held_dollars -= dollars

    def spend(self, usage: Usage) -> None:
        """Counts what a call took."""
        self.spent_tokens += usage.input_tokens + usage.output_tokens
        self.spent_dollars += usage.dollars or 0.0


def _spent(got: str) -> BudgetSpent:
    return BudgetSpent(expected="the budget to hold the next call", got=got, remedy="Raise it and go on: finished rows stay.")


@dataclass(frozen=True, slots=True)
class Judge:
    """Who judges. `identity` names everything but the text that decides its answers: service, address, model, limits.

    `most` is the dollars of a call of so many tokens in and out at most, None where no price is known. Without `cache_dir`
    nothing is read from the cache nor written to it. `spent` is told of every call that was paid for.
    """

    provider: Provider
    identity: Mapping[str, Any]
    most_output: int
    most: Callable[[int, int], float | None]
    budget: Budget
    cache_dir: Path | None
    spent: Callable[[Usage], None] = lambda _: None
    _turns: dict[Path, asyncio.Lock] = field(default_factory=dict)

    async def ask(self, request: Request, tally: Tally, *, ordinal: int = 0) -> Any:
        """The judge's answer in the request's form; `ordinal` tells requests of the same words apart.

        Raises BadAnswer for one that is wrong twice, ProviderError for none, BudgetSpent before it would be passed.
        """
        path = self._cached_at(request, ordinal)
        if path is None:
            return await self._asked(request, tally, None)
        async with self._turns.setdefault(path, asyncio.Lock()):  # configurations often give the same answer: it is judged once
            if (held := _read_cached(path, request)) is not None:
                tally.cached += 1
                return held
            return await self._asked(request, tally, path)

    async def _asked(self, request: Request, tally: Tally, path: Path | None) -> Any:
        """The judge's answer, kept at `path`."""
        for tried in range(TRIES):
            text = await self._answer(request, tally)
            try:
                value = read_answer(text, request)
            except BadAnswer:
                if tried == TRIES - 1:
                    raise
                continue
            if path:
                _write_cached(path, text)
            return value
        raise AssertionError("unreachable")

    def _cached_at(self, request: Request, ordinal: int) -> Path | None:
        if self.cache_dir is None:
            return None
        decided = [CACHE_VERSION, dict(self.identity), request.system, request.text, request.schema, ordinal]
        key = hashlib.sha256(json.dumps(decided, sort_keys=True).encode()).hexdigest()
        return self.cache_dir / key[:2] / f"{key[2:]}.json"

    async def _answer(self, request: Request, tally: Tally) -> str:
        """What the model says, whole; what it took is counted even when it breaks off."""
        reads = int(count_tokens(request.system + request.text) * MARGIN) + FORM_TOKENS
        dollars = self.most(reads, self.most_output) or 0.0
        await self.budget.hold(reads + self.most_output, dollars)
        said: list[str] = []
        usage: Usage | None = None
        heard = False
        try:
            prompt = Prompt(PROMPT_VERSION, request.system, request.text, (), "", schema=request.schema)
            async with contextlib.aclosing(self.provider.stream(prompt)) as parts:
                async for part in parts:
                    heard = True
                    if isinstance(part, TextPart):
                        said.append(part.text)
                    elif isinstance(part, DonePart):
                        usage = part.usage
                        _require_whole(part)
            return "".join(said)
        except asyncio.CancelledError:
            heard = True  # it may have been thinking, which is not heard and is charged
            raise
        finally:
            self.budget.release(reads + self.most_output, dollars)
            if heard:  # a service that refused the request, or was not reached, charges nothing
                wrote = 0 if usage else count_tokens("".join(said))  # of what broke off nobody says what it took
                usage = usage or Usage(input_tokens=reads, output_tokens=wrote, dollars=self.most(reads, wrote))
                tally.add(usage)
                self.budget.spend(usage)
                self.spent(usage)


def _require_whole(done: DonePart) -> None:
    if done.stop == "end":
        return
    got = {"max_tokens": f"one cut at {done.usage.output_tokens:,} tokens", "refusal": "a refusal"}.get(done.stop, done.stop)
    remedy = "Allow longer answers with LLM_MAX_TOKENS." if done.stop == "max_tokens" else "Look at the question, or choose another judge."
    raise ProviderError(expected="a whole answer of the judge", got=f"{got}{f' ({done.note})' if done.note else ''}", remedy=remedy)


@functools.cache
def _schema_of(form: type[BaseModel]) -> dict[str, Any]:
    return form.model_json_schema()


@functools.cache
def prompt_text(name: str) -> str:
    """The text of a judge's prompt at the version in use."""
    return (PROMPTS / f"{name}-{PROMPT_VERSION}.txt").read_text(encoding="utf-8").strip()


def fenced(parts: Mapping[str, str]) -> str:
    """Texts by what they are, each between two lines that hold a word that none of them can have foreseen.

    The word is made from all of the texts, so that the same texts always make the same prompt.
    """
    fence = hashlib.sha256("\0".join([*parts, *parts.values()]).encode("utf-8", "replace")).hexdigest()[:16]
    return "\n\n".join(f"[{name} · {fence}]\n{text}\n[end of {name} · {fence}]" for name, text in parts.items())


def read_answer(text: str, request: Request) -> Any:
    """A judge's words as the form asked for; raises BadAnswer with what is wrong."""
    try:
        value = request.form.model_validate_json(_json_in(text))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise _bad(f"{f'{where}: ' if where else ''}{first['msg']} in {shown(' '.join(text.split()))}") from None
    if wrong := request.check(value):
        raise _bad(wrong)
    return value


def _bad(got: str) -> BadAnswer:
    return BadAnswer(expected="a verdict of the form asked for", got=got, remedy="Ask again, or choose another judge.")


def _json_in(text: str) -> str:
    """The JSON object in a text that may have a fence or words around it."""
    begins, ends = text.find("{"), text.rfind("}")
    return text[begins : ends + 1] if 0 <= begins < ends else text


def _read_cached(path: Path, request: Request) -> Any:
    try:
        return read_answer(json.loads(path.read_text(encoding="utf-8"))["text"], request)
    except (OSError, ValueError, KeyError, TypeError, BadAnswer):
        return None  # asked anew


def _write_cached(path: Path, text: str) -> None:
    """Keeps an answer, whole or not at all; a disk that is full costs only the next run's saving."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps({"text": text}), encoding="utf-8")
        part.replace(path)


Ask = Callable[[Request], Awaitable[Any]]
"""How a judge is asked: `Asking` of one, or what stands in where nobody will be."""


@dataclass
class Asking:
    """A judge as one metric of one answer asks it: what it took is counted, and equal requests are told apart."""

    judge: Judge
    tally: Tally = field(default_factory=Tally)
    _seen: dict[str, int] = field(default_factory=dict)

    async def __call__(self, request: Request) -> Any:
        """The judge's answer in the request's form; raises as `Judge.ask`."""
        ordinal = self._seen[request.text] = self._seen.get(request.text, -1) + 1
        return await self.judge.ask(request, self.tally, ordinal=ordinal)


TICK_SECONDS = 0.2
Item = TypeVar("Item")


async def several(items: Iterable[Item], work: Callable[[Item], Awaitable[None]], tick: Callable[[], None], *, at_once: int) -> str:
    """Works on all items, so many at once; returns what the budget said when it was spent, else "".

    `tick` is called again and again, so that the stop that it raises is noticed while all wait for the model. Raises the first failure of
    any, the others being cancelled.
    """
    waiting, spent = iter(items), ""

    async def one_after_the_other() -> None:
        nonlocal spent
        try:
            for item in waiting:
                await work(item)
                if spent:  # others may still afford something cheaper, but not all of what belongs together
                    return
        except BudgetSpent as error:
            spent = str(error)

    async def ticking() -> None:
        while True:
            tick()
            await asyncio.sleep(TICK_SECONDS)

    try:
        async with asyncio.TaskGroup() as group:
            clock = group.create_task(ticking())
            await asyncio.gather(*[group.create_task(one_after_the_other()) for _ in range(at_once)])
            clock.cancel()
    except BaseExceptionGroup as problems:
        raise _first(problems) from None
    tick()
    return spent


def _first(problems: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first failure of several tasks; the others were cancelled for it."""
    first = problems.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first

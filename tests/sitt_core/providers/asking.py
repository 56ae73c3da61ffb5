"""What the tests of both providers share: a prompt, and ways to listen to an answer."""

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing
from dataclasses import replace

from sitt_core.types import AnswerPart, CitationPart, DonePart, Excerpt, Prompt, Provider, TextPart, Turn

KEY = "sk-secret-0123456789"
PROMPT = Prompt(
    version="v1",
    system="Answer from the sources.",
    question="How long is the serpent,  and who warned the hunters?",
    excerpts=(
        Excerpt("p-7f3a", "Lake › The serpent", ("The serpent of the lake is ten metres long. ", " \n", "It has three humps.\n")),
        Excerpt("p-91cc", "Wood\r\nGiants", ("A giant walks there.\n", 'He warned the hunters: "stay away", and they did.')),
    ),
    fence="Xq7",
)
LONG = replace(
    PROMPT, question="serpent", excerpts=(Excerpt("p-long", "Lake", tuple(f"The serpent number {at} is here. " for at in range(300))),)
)
WITH_HISTORY = replace(PROMPT, history=(Turn("Who lives there?", "A serpent."), Turn("And then?", " "), Turn("Where?", "In the lake.")))


def parts_of(provider: Provider, prompt: Prompt = PROMPT) -> list[AnswerPart]:
    """The whole answer."""

    async def listen() -> list[AnswerPart]:
        return [part async for part in provider.stream(prompt)]

    return asyncio.run(listen())


def heard_before(provider: Provider, error: type[Exception], prompt: Prompt = PROMPT) -> tuple[list[AnswerPart], Exception]:
    """What came before the error that ends the answer, and the error."""
    heard: list[AnswerPart] = []

    async def listen() -> None:
        async for part in provider.stream(prompt):
            heard.append(part)

    try:
        asyncio.run(listen())
    except error as caught:
        return heard, caught
    raise AssertionError(f"no {error.__name__} after {heard}")


def text_of(parts: list[AnswerPart]) -> str:
    return "".join(part.text for part in parts if isinstance(part, TextPart))


def citations_of(parts: list[AnswerPart]) -> list[CitationPart]:
    return [part for part in parts if isinstance(part, CitationPart)]


def done_of(parts: list[AnswerPart]) -> DonePart:
    """The last part, which is the only one of its kind."""
    assert [isinstance(part, DonePart) for part in parts] == [False] * (len(parts) - 1) + [True]
    done = parts[-1]
    assert isinstance(done, DonePart)
    return done


def leave_after_first_word(provider: Provider) -> None:
    """Closes the stream once something has come."""

    async def listen() -> None:
        async with aclosing(provider.stream(PROMPT)) as parts:
            async for _ in parts:
                return

    asyncio.run(listen())


def cancel_while_waiting(provider: Provider, waiting: Callable[[], bool]) -> None:
    """Cancels the task that listens, once `waiting` says that the service has been asked."""

    async def listen() -> None:
        async for _ in provider.stream(PROMPT):
            pass

    async def run() -> None:
        task = asyncio.ensure_future(listen())
        while not waiting():
            await asyncio.sleep(0.01)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(run())


def soon(condition: Callable[[], bool], *, seconds: float = 2.0) -> bool:
    """Whether the condition holds within that time."""
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)
    return condition()


@contextlib.contextmanager
def closed_port() -> Iterator[int]:
    """A port that nothing listens on."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


@contextlib.contextmanager
def deaf_port() -> Iterator[int]:
    """A port that takes no connection: its queue is full."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            caller = stack.enter_context(socket.socket())
            caller.setblocking(False)
            caller.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]

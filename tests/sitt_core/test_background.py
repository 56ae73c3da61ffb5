"""A coroutine in the background: its result and its failure reach whoever asks, and cancelling reaches it wherever it waits."""

import asyncio
import threading

import pytest

from sitt_core.background import Background


async def answer() -> int:
    await asyncio.sleep(0)
    return 42


async def fail() -> int:
    raise KeyError("no")


def test_a_result_is_handed_over() -> None:
    """What the coroutine returns is what `result` returns, as often as it is asked."""
    running = Background(answer, name="test")
    assert running.wait(30)
    assert running.done
    assert (running.result(), running.result()) == (42, 42)


def test_a_failure_is_raised_where_it_is_asked_for() -> None:
    """The exception itself comes out of `result`, and nothing is printed from the thread."""
    running = Background(fail, name="test")
    with pytest.raises(KeyError, match="no"):
        running.result()
    assert running.done


def test_cancelling_reaches_what_waits() -> None:
    """A coroutine that waits for what never comes is cancelled at once, and may still tidy up and return."""
    begun, tidied = threading.Event(), threading.Event()

    async def wait_forever() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            tidied.set()
            return "partly"
        return "never"

    running = Background(wait_forever, name="test")
    assert begun.wait(30)
    assert not running.done
    running.cancel()
    assert running.result() == "partly"
    assert tidied.is_set()
    running.cancel()  # after the end: nothing happens


def test_cancelled_before_it_began() -> None:
    """Cancelling at the very moment of starting is never lost."""
    for _ in range(50):
        running = Background(lambda: asyncio.sleep(600), name="test")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            running.result()

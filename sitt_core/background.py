"""A coroutine in a thread and an event loop of its own: followed, waited for and cancelled from any other thread."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Background(Generic[T]):
    """Runs `work()` to its end without keeping the process alive; nothing of it needs whoever started it.

    A loop of its own, because clients of web services are bound to the loop that they were made in.
    """

    def __init__(self, work: Callable[[], Coroutine[Any, Any, T]], *, name: str) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[T] | None = None
        self._cancelled = False
        self._ended = threading.Event()
        self._result: T | None = None
        self._error: BaseException | None = None
        threading.Thread(target=self._run, name=name, daemon=True).start()

    @property
    def done(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self._ended.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for the end; whether it has come."""
        return self._ended.wait(seconds)

    def result(self) -> T:
        """What `work` returned, once it has ended; raises what it raised."""
        self._ended.wait()
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]

    def cancel(self) -> None:
        """Cancels it, at once where it waits on its loop; nothing happens when it has ended.

        What it has handed to another thread (looking up passages) cannot be cut short and runs to its end first.
        """
        with self._lock:
            self._cancelled = True
            if self._loop is not None and self._task is not None and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._task.cancel)

    def _run(self) -> None:
        try:
            self._result = asyncio.run(self._supervised())
        except BaseException as error:  # it is raised again by `result`, in the thread that asks
            self._error = error
        finally:
            self._ended.set()

    async def _supervised(self) -> T:
        task = asyncio.ensure_future(self._work())
        with self._lock:
            self._loop, self._task = asyncio.get_running_loop(), task
            if self._cancelled:
                task.cancel()
        try:
            return await task
        finally:
            with self._lock:
                self._loop = None

"""A fixed number of threads that answer requests, with a bounded queue and a time limit.

The threads live as long as the server, because Java keeps a record of every thread that calls it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from spade_pyserini.serve.limits import RefusedError

T = TypeVar("T")


class Workers:
    """Runs blocking functions for requests.

    A function that exceeds the time limit cannot be stopped: it occupies its thread until it
    returns. No new thread is started for the next request, so there are never more than ``threads``
    threads.
    """

    def __init__(self, name: str, threads: int, waiting: int, seconds: float) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._most, self._seconds = threads + waiting, seconds
        self._lock, self._active = threading.Lock(), 0

    async def run(self, function: Callable[[], T]) -> T:
        """Return the result of ``function``.

        Raises `RefusedError` if too many requests are running or waiting, or if the result is not
        ready within the time limit.
        """
        with self._lock:
            if self._active >= self._most:
                message = f"the server is busy: {self._active} requests are running or waiting"
                raise RefusedError(503, f"{message}; try again in a moment", 1)
            self._active += 1
        future = self._executor.submit(function)
        future.add_done_callback(self._finish)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._seconds)
        except TimeoutError:
            message = f"no answer within {self._seconds:g} seconds"
            raise RefusedError(503, f"{message}; try a shorter query") from None

    def _finish(self, _: Future[T]) -> None:
        with self._lock:
            self._active -= 1

    @property
    def active(self) -> int:
        """The number of requests that are running or waiting."""
        return self._active

    def close(self) -> None:
        """Cancel the waiting requests, and wait for the running ones to finish."""
        self._executor.shutdown(wait=True, cancel_futures=True)

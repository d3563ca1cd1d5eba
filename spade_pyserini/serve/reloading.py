"""Reopen an index when its files change, without interrupting requests.

A request uses the index that was open when it began. An old index is closed after its last request.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

from spade_pyserini.errors import SpadeError


class Closable(Protocol):
    """A value that can be closed, such as a searcher."""

    def close(self) -> None: ...


T = TypeVar("T", bound=Closable)
logger = logging.getLogger(__name__)


class _Lease(Generic[T]):
    """An open value, the number of requests that use it, and whether a newer value replaced it."""

    def __init__(self, value: T) -> None:
        self.value, self.users, self.replaced = value, 0, False


class Reloading(Generic[T]):
    """Holds a value, such as an open index; `refresh` opens it again when its state has changed.

    ``opener`` opens the value. ``state`` returns the current state of the value on disk, such as
    the times of its files. ``prepare`` is called with a new value, before this value replaces the
    old value; the call may take some time.
    """

    def __init__(
        self,
        opener: Callable[[], T],
        state: Callable[[], object],
        prepare: Callable[[T], object] = lambda _: None,
    ) -> None:
        self._opener, self._state, self._prepare = opener, state, prepare
        # Read the state before opening, so that `refresh` notices a change during the opening.
        self._seen = state()
        self._lock = threading.Lock()
        self._lease = _Lease(opener())

    @contextmanager
    def use(self) -> Iterator[T]:
        """Yield the open value; it stays open until the end of the ``with`` block."""
        with self._lock:
            lease = self._lease
            lease.users += 1
        try:
            yield lease.value
        finally:
            with self._lock:
                lease.users -= 1
                unused = lease.replaced and lease.users == 0
            if unused:
                lease.value.close()

    def refresh(self) -> bool:
        """Open the value again if its state has changed; return whether it was replaced.

        If the new value cannot be opened, the old value is used until the state changes again.
        """
        state = self._state()
        if state == self._seen:
            return False
        self._seen = state
        try:
            new = _Lease(self._opener())
        except (SpadeError, OSError) as error:
            message = "the changed index cannot be opened, so the old index is served: %s"
            logger.warning(message, error)
            return False
        self._prepare(new.value)
        self._replace(new)
        return True

    def _replace(self, new: _Lease[T]) -> None:
        with self._lock:
            old, self._lease = self._lease, new
            old.replaced = True
            unused = old.users == 0
        if unused:
            old.value.close()

    def close(self) -> None:
        """Close the value. Call this only when no request uses the value."""
        self._lease.value.close()


class Watcher:
    """A thread that calls `Reloading.refresh` for all ``watched`` values every ``seconds``."""

    def __init__(self, watched: Sequence[Reloading[Any]], seconds: float = 1.0) -> None:
        self._watched, self._seconds = watched, seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watcher", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(self._seconds):
            for value in self._watched:
                try:
                    if value.refresh():
                        logger.info("the index has changed; the new version is served now")
                except Exception:
                    logger.exception("a changed index could not be opened")

    def close(self) -> None:
        """Stop the thread."""
        self._stop.set()
        self._thread.join()

"""The limits of the server, and the error for a request that exceeds a limit."""

from __future__ import annotations

import os
from dataclasses import dataclass, field


def default_threads() -> int:
    """Return the number of search threads: one per core, at most eight."""
    return min(8, os.cpu_count() or 1)


@dataclass(frozen=True)
class Limits:
    """The limits of a single request, and of all requests together.

    - ``query``: characters of a query.
    - ``hits``: hits per engine, in answers with snippets and terms.
    - ``brief_hits``: hits per engine, in answers with ids and scores only.
    - ``removed``: terms that a request removes from its query.
    - ``docid``: characters of a document id or a term.
    - ``body``: bytes of a request's body.
    - ``text``: characters of a text that ``/expand`` accepts, or that ``/explain`` returns.
    - ``threads``: requests that are answered at the same time.
    - ``waiting``: requests that wait for a thread; more are refused.
    - ``seconds``: time limit for receiving the body of a request, and for answering the request.
    - ``connections``: open connections; more are refused.
    """

    query: int = 1_000
    hits: int = 100
    brief_hits: int = 1_000
    removed: int = 100
    docid: int = 1_000
    body: int = 1 << 17
    text: int = 20_000
    threads: int = field(default_factory=default_threads)
    waiting: int = 256
    seconds: float = 10.0
    connections: int = 1_024


class RefusedError(Exception):
    """A refused request: its HTTP status, a message, and seconds until the client may retry."""

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after = status, message, retry_after

"""Progress of long-running work: a bar on terminals, or JSON lines for logs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from typing import IO, Never, TypeVar

from tqdm import tqdm

T = TypeVar("T")

PERIOD = 10.0  # seconds between two JSON lines


class Progress:
    """Counts documents and the terms of their vectors, until it is closed.

        with closing(Progress("json")) as progress:
            progress.expect(8_841_823)
            progress(32, 4_100)

    ``style`` is ``bar`` (shown on terminals only) or ``json``: a line on stderr every ten seconds
    and at the end, with task, documents, documents_per_second, terms_per_document and seconds_left
    (null while the total is unknown). Documents of an earlier run do not count for the speed.
    """

    def __init__(self, style: str, stream: IO[str] | None = None, task: str = "encoding") -> None:
        self.task = task
        self.total: int | None = None
        self.documents = self.terms = 0
        self._stream = stream or sys.stderr
        self._json = style == "json"
        self._start = self._last_line = time.monotonic()
        self._skipped = 0
        self._bar: tqdm[Never] = tqdm(
            desc=task,
            unit=" documents",
            disable=True if self._json else None,
            file=self._stream,
        )

    def close(self) -> None:
        """Finish the bar, or write the last JSON line."""
        self._bar.close()
        if self._json:
            self._write_line()

    def expect(self, total: int | None) -> None:
        """Set the approximate total number of documents."""
        self.total = self._bar.total = total

    def __call__(self, documents: int, terms: int) -> None:
        """Add documents, and the terms of their vectors."""
        self.documents += documents
        self.terms += terms
        self._bar.update(documents)
        if self.terms:
            self._bar.set_postfix_str(f"{self.terms / self.documents:.0f} terms each", False)
        if self._json and time.monotonic() - self._last_line >= PERIOD:
            self._write_line()

    def skip(self, documents: int, terms: int) -> None:
        """Add documents that an earlier run has processed."""
        self._skipped += documents
        if not self._bar.disable:
            self._bar.initial += documents  # tqdm excludes these from its rate
        self(documents, terms)

    def _write_line(self) -> None:
        self._last_line = time.monotonic()
        processed = self.documents - self._skipped
        rate = processed / max(self._last_line - self._start, 1e-9)
        seconds_left = None
        if self.total is not None and rate:
            seconds_left = round(max(0, self.total - self.documents) / rate)
        line = {
            "task": self.task,
            "documents": self.documents,
            "documents_per_second": round(rate, 2),
            "terms_per_document": round(self.terms / max(1, self.documents), 1),
            "seconds_left": seconds_left,
        }
        print(json.dumps(line), file=self._stream, flush=True)


def progress_bar(
    items: Iterable[T], description: str, unit: str, total: int | None = None
) -> tqdm[T]:
    """Iterate over ``items`` with a progress bar on stderr, shown on terminals only."""
    return tqdm(items, desc=description, unit=f" {unit}", total=total, disable=None)


def counting_bar(
    description: str, unit: str, total: int | None = None, initial: int = 0
) -> tqdm[Never]:
    """Return a progress bar on stderr, shown on terminals only; call its ``update`` to advance."""
    return tqdm(desc=description, unit=f" {unit}", total=total, initial=initial, disable=None)

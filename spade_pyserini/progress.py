"""Progress of long work: a bar for people, JSON lines for logs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from typing import IO, Never, TypeVar

from tqdm import tqdm

T = TypeVar("T")

PERIOD = 10.0  # seconds between two lines


class Progress:
    """Counts documents and terms, until it is closed.

        with closing(Progress("json")) as progress:
            progress.expect(8_841_823)
            progress(32, 4_100)

    ``style`` is ``bar`` (on terminals only) or ``json``: a line on stderr every ten seconds and at
    the end, with task, documents, documents_per_second, terms_per_document and seconds_left (null
    while the total is unknown). What an earlier run finished counts, but not for the speed.
    """

    def __init__(self, style: str, stream: IO[str] | None = None, task: str = "encoding") -> None:
        self.task = task
        self.total: int | None = None
        self.documents = self.terms = 0
        self._stream = stream or sys.stderr
        self._json = style == "json"
        self._start = self._told = time.monotonic()
        self._skipped = 0
        self._bar: tqdm[Never] = tqdm(
            desc=task,
            unit=" documents",
            disable=True if self._json else None,
            file=self._stream,
        )

    def close(self) -> None:
        """The last word."""
        self._bar.close()
        if self._json:
            self._tell()

    def expect(self, total: int | None) -> None:
        """How many documents there will be, about."""
        self.total = self._bar.total = total

    def __call__(self, documents: int, terms: int) -> None:
        self.documents += documents
        self.terms += terms
        self._bar.update(documents)
        if self.terms:
            self._bar.set_postfix_str(f"{self.terms / self.documents:.0f} terms each", False)
        if self._json and time.monotonic() - self._told >= PERIOD:
            self._tell()

    def skip(self, documents: int, terms: int) -> None:
        """Documents that were encoded before."""
        self._skipped += documents
        if not self._bar.disable:
            self._bar.initial += documents  # tqdm leaves these out of its rate
        self(documents, terms)

    def _tell(self) -> None:
        self._told = time.monotonic()
        encoded = self.documents - self._skipped
        rate = encoded / max(self._told - self._start, 1e-9)
        left = None
        if self.total is not None and rate:
            left = round(max(0, self.total - self.documents) / rate)
        line = {
            "task": self.task,
            "documents": self.documents,
            "documents_per_second": round(rate, 2),
            "terms_per_document": round(self.terms / max(1, self.documents), 1),
            "seconds_left": left,
        }
        print(json.dumps(line), file=self._stream, flush=True)


def progress_bar(
    items: Iterable[T], description: str, unit: str, total: int | None = None
) -> tqdm[T]:
    """A progress bar on stderr if that is a terminal, otherwise nothing."""
    return tqdm(items, desc=description, unit=f" {unit}", total=total, disable=None)

"""Progress of long-running work: a bar on terminals, plain lines in logs, or JSON lines."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from typing import IO, Any, Never, TypeVar

from tqdm import tqdm

T = TypeVar("T")

PERIOD = 10.0  # seconds between two JSON lines
PLAIN_PERIOD = 30.0  # seconds between two plain lines
# The format of a bar that does not show the remaining time.
WITHOUT_REMAINING = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}, {rate_fmt}{postfix}]"


class PlainLines(tqdm):  # type: ignore[type-arg]
    """A progress bar for logs: writes a line every half minute, the first after half a minute."""

    monitor_interval = 0  # tqdm needs no monitor thread, because ``miniters`` is 1

    def __init__(self, *args: Any, **options: Any) -> None:
        self._shown: float | None = None  # the count in the last line
        period = {"miniters": 1, "mininterval": PLAIN_PERIOD, "delay": PLAIN_PERIOD}
        super().__init__(*args, **(options | period))

    def display(self, msg: str | None = None, pos: int | None = None) -> None:
        """Write a line with the count, the total, the rate and the estimated time left."""
        state = self.format_dict
        done, total, rate = self.n, self.total, _rate(self.n - self.initial, state["elapsed"])
        known = f" of {total:,} ({done / total:.0%})" if total else ""
        parts = [f"{self.desc.removesuffix(': ')}: {done:,}{known}{self.unit}"]
        parts.append(f"{rate:,.0f} per second" if rate >= 100 else f"{rate:.3g} per second")
        if total and rate and self.bar_format != WITHOUT_REMAINING:
            parts.append(f"{duration(max(0, total - done) / rate)} left")
        parts += [str(self.postfix)] if self.postfix else []
        print(", ".join(parts), file=self.fp, flush=True)
        self._shown = done

    def close(self) -> None:
        """Write a final line if ``leave`` is set and the last line has an older count."""
        if self.disable:
            return
        self.disable = True
        self._decr_instances(self)  # type: ignore[attr-defined]
        late = self.last_print_t >= self.start_t + (self.delay or 0)
        if self.leave and late and self._shown != self.n:
            self.display()


def duration(seconds: float) -> str:
    """Format a duration for people: ``1 second``, ``3 minutes``, ``2.5 hours``."""
    if seconds < 90:
        return f"{seconds:.0f} second{'' if round(seconds) == 1 else 's'}"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def duration_range(low: float, high: float) -> str:
    """Format a range of durations in the unit of the longer: ``9 to 13 minutes``."""
    shown = duration(high)
    number, _, unit = shown.partition(" ")
    factor = {"second": 1, "seconds": 1, "minutes": 60, "hours": 3600}[unit]
    least = f"{low / factor:.1f}" if unit == "hours" else f"{low / factor:.0f}"
    return f"about {shown}" if least == number else f"{least} to {shown}"


def _rate(count: float, seconds: float) -> float:
    return count / max(seconds, 1e-9)


class Progress:
    """Shows the progress of a task: counts documents and the terms of their vectors.

        with closing(Progress("json")) as progress:
            progress.expect(8_841_823)
            progress(32, 4_100)

    ``style`` is ``bar`` or ``json``. ``bar`` shows a progress bar on a terminal, and writes a plain
    line every half minute if the stream is not a terminal. ``json`` writes a line to stderr every
    ten seconds and at the end, with task, documents, documents_per_second, terms_per_document and
    seconds_left (null while the total or the speed is unknown). The speed does not include
    documents that an earlier run processed.
    """

    def __init__(self, style: str, stream: IO[str] | None = None, task: str = "encoding") -> None:
        self.task = task
        self.total: int | None = None
        self.documents = self.terms = 0
        self._stream = stream or sys.stderr
        self._json = style == "json"
        self._start = self._last_line = time.monotonic()
        self._skipped = 0
        self._bar: tqdm[Never] = _kind(self._stream)(
            desc=task, unit=" documents", disable=self._json, file=self._stream
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
        """Add a number of documents, and the number of terms in their vectors."""
        self.documents += documents
        self.terms += terms
        if self.terms:
            self._bar.set_postfix_str(f"{self.terms / self.documents:.0f} terms each", False)
        self._bar.update(documents)
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
    """Iterate over ``items`` with a progress bar on stderr, or plain lines without a terminal."""
    options: dict[str, Any] = {"desc": description, "unit": f" {unit}", "total": total}
    return _kind(sys.stderr)(items, **options, file=sys.stderr)


def counting_bar(
    description: str,
    unit: str,
    total: int | None = None,
    initial: int = 0,
    leave: bool = True,
    remaining: bool = True,
) -> tqdm[Never]:
    """Return a progress bar on stderr; call its ``update`` to advance.

    With ``leave=False`` the bar is removed at the end. This is for a short step of longer work.
    With ``remaining=False`` the bar does not show the remaining time.
    """
    options: dict[str, Any] = {"desc": description, "unit": f" {unit}", "total": total}
    if not remaining:
        options["bar_format"] = WITHOUT_REMAINING
    return _kind(sys.stderr)(**options, initial=initial, leave=leave, file=sys.stderr)


def _kind(stream: IO[str]) -> type[tqdm[Any]]:
    """Return the class of progress bars for a stream: `tqdm` on terminals, else `PlainLines`."""
    return tqdm if stream.isatty() else PlainLines

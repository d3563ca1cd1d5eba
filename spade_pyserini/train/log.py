"""The log of a run: ``log.jsonl``, and TensorBoard's files if TensorBoard is installed.

A line of ``log.jsonl``::

    {"event": "step", "step": 12, "weighting_ranking": 2.31, ...}
"""

from __future__ import annotations

import importlib.util
import json
import threading
from functools import cache
from pathlib import Path
from typing import Any

from spade_pyserini.formats.atomic import atomic_write

FILE = "log.jsonl"
EVENTS = "tensorboard"


class RunLog:
    """Writes the log of a run. Only the main process is ``active``; others write nothing."""

    def __init__(self, run: Path, active: bool = True) -> None:
        self.run, self.active = run, active
        self._board: Any = None

    def begin(self, step: int) -> None:
        """Open the log after ``step``; remove the lines of later steps, which will be repeated."""
        path = self.run / FILE
        if not self.active:
            return
        if path.exists():
            lines = [line for line in read_log(self.run) if line["step"] <= step and step]
            with atomic_write(path) as stream:
                stream.writelines(f"{json.dumps(line)}\n".encode() for line in lines)
        if importlib.util.find_spec("tensorboard"):
            from torch.utils.tensorboard import SummaryWriter

            silence_writer_threads()
            self._board = SummaryWriter(str(self.run / EVENTS), purge_step=step)

    def write(self, event: str, step: int, **values: Any) -> None:
        """Append a line; numbers also go to TensorBoard."""
        if not self.active:
            return
        with (self.run / FILE).open("a") as stream:
            stream.write(json.dumps({"event": event, "step": step, **values}) + "\n")
        if self._board is not None:
            for name, value in values.items():
                if isinstance(value, int | float):
                    self._board.add_scalar(f"{event}/{name}", value, step)

    def close(self) -> None:
        """Close TensorBoard's files."""
        if self._board is not None:
            self._board.close()


@cache
def silence_writer_threads() -> None:
    """Suppress reports of operating-system errors, such as a full disk, in TensorBoard's threads.

    TensorBoard's writer raises such an error again in its next call, so it would be reported twice.
    """
    hook = threading.excepthook

    def report(details: threading.ExceptHookArgs) -> None:
        board = type(details.thread).__module__.startswith("tensorboard.")
        if not (board and issubclass(details.exc_type, OSError)):
            hook(details)

    threading.excepthook = report


def read_log(run: Path, event: str | None = None) -> list[dict[str, Any]]:
    """Return the complete lines of a run's log. With ``event``, return only lines of this event."""
    if not (run / FILE).exists():  # the run had neither steps nor validations
        return []
    lines: list[dict[str, Any]] = []
    for text in (run / FILE).read_text().splitlines():
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            continue
        if event in (None, line["event"]):
            lines.append(line)
    return lines

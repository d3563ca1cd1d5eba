"""What a run writes down as it goes: ``log.jsonl``, and TensorBoard's files where it is installed.

{"event": "step", "step": 12, "weighting_ranking": 2.31, ...}
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

from spade_pyserini.formats.files import atomic_write

FILE = "log.jsonl"
EVENTS = "tensorboard"


class RunLog:
    """Only the main process of a run writes."""

    def __init__(self, run: Path, active: bool = True) -> None:
        self.run, self.active = run, active
        self._board: Any = None

    def begin(self, step: int) -> None:
        """Go on after ``step``: lines of steps that will be done again are forgotten."""
        path = self.run / FILE
        if not self.active:
            return
        if path.exists():
            lines = [line for line in read_log(self.run) if line["step"] <= step and step]
            with atomic_write(path) as stream:
                stream.writelines(f"{json.dumps(line)}\n".encode() for line in lines)
        if importlib.util.find_spec("tensorboard"):
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(str(self.run / EVENTS), purge_step=step)

    def write(self, event: str, step: int, **values: Any) -> None:
        """One line; numbers go to TensorBoard too."""
        if not self.active:
            return
        with (self.run / FILE).open("a") as stream:
            stream.write(json.dumps({"event": event, "step": step, **values}) + "\n")
        if self._board is not None:
            for name, value in values.items():
                if isinstance(value, int | float):
                    self._board.add_scalar(f"{event}/{name}", value, step)

    def close(self) -> None:
        if self._board is not None:
            self._board.close()


def read_log(run: Path, event: str | None = None) -> list[dict[str, Any]]:
    """The lines of a run's log, all or those of one kind. A line cut off by a kill is left out."""
    found: list[dict[str, Any]] = []
    if not (run / FILE).exists():  # a run of no steps and no validation
        return found
    for text in (run / FILE).read_text().splitlines():
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            continue
        if event in (None, line["event"]):
            found.append(line)
    return found

"""Estimate the time that a training run has left, from the first steps of the run itself."""

from __future__ import annotations

import logging
import math
import statistics
import time
from typing import NamedTuple

from spade_pyserini.progress import duration, duration_range

logger = logging.getLogger(__name__)
STEPS = 5  # steps to measure, after the first one, which also prepares memory and caches
# The load of a machine changes. So the shortest and the longest measured time are multiplied by
# these factors.
LESS, MORE = 0.9, 1.2


class Work(NamedTuple):
    """What a training run has to do.

    steps: number of steps. validate_every: number of steps between two validations.
    validation_seconds: time of a validation.
    spent: seconds that the work before training took.
    """

    steps: int
    validate_every: int
    validation_seconds: float
    spent: float


class TimeLeft:
    """Measures the first steps, then logs how long the rest takes. Call it after each step.

    The slowest and the fastest of these steps are ignored, so that a short interruption does not
    change the estimate. A run of fewer than four steps has no estimate.
    """

    def __init__(self, work: Work) -> None:
        self.work = work
        self.wanted = min(STEPS, work.steps // 2 - 1)
        self._last: float | None = None
        self._seconds: list[float] = []

    def __call__(self, step: int) -> None:
        """Record how long the step that just ended took; ``step`` is its number, from 1."""
        now = time.perf_counter()
        if self._last is not None:
            self._seconds.append(now - self._last)
            if len(self._seconds) == self.wanted:
                self._report(step)
        self._last = now

    def _report(self, step: int) -> None:
        work = self.work
        validations = math.ceil(work.steps / work.validate_every) - step // work.validate_every
        low, high = step_range(self._seconds)
        rest, validating = work.steps - step, validations * work.validation_seconds
        shown = duration_range(LESS * (rest * low + validating), MORE * (rest * high + validating))
        logger.info(
            "step %d of %d: %s left on this machine, with %d validations; a step takes %.1f "
            "seconds, and the work before training took %s",
            step,
            work.steps,
            shown,
            validations,
            statistics.median(self._seconds),
            duration(work.spent),
        )


def step_range(seconds: list[float]) -> tuple[float, float]:
    """Return the shortest and the longest of the times.

    If there are three or more times, the very shortest and the very longest are left out first.
    """
    ordered = sorted(seconds)
    if len(ordered) > 2:
        ordered = ordered[1:-1]
    return ordered[0], ordered[-1]

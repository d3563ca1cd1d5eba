"""Divide the time that a test run may take (``$FAULTS_MINUTES``) among its tests.

If the variable is not set, there is no limit. Each test gets an equal part of the time that is
left, so a test that needs less leaves more to the tests after it. A test tries a few faults even if
no time is left.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

MINUTES_VARIABLE = "FAULTS_MINUTES"
LEAST = 3  # number of faults that a test tries even if no time is left
LARGEST = 4.0  # a test gets at most this many times the average time per test

T = TypeVar("T")


@dataclass
class Budget:
    """The time of a test run, as one of its processes sees it.

    minutes: time of the complete run; 0 for no limit. tests: number of tests of the run. processes:
    number of processes that run tests at the same time. began: when the run began. done: number of
    tests that this process has started. end: when the time of the current test is over.
    """

    minutes: float
    tests: int = 1
    processes: int = 1
    began: float = field(default_factory=time.monotonic)
    done: int = 0
    end: float = float("inf")

    def start_test(self) -> None:
        """Give the next test its part of the time that is left."""
        now = time.monotonic()
        left = 60 * self.minutes - (now - self.began)
        tests_left = max(1.0, self.tests / self.processes - self.done)
        equal = 60 * self.minutes * self.processes / max(1, self.tests)
        self.end = now + min(left / tests_left, LARGEST * equal) if self.minutes else float("inf")
        self.done += 1

    @property
    def is_over(self) -> bool:
        """Whether the current test has used its time."""
        return time.monotonic() > self.end

    def within(self, faults: Iterable[T], least: int = LEAST) -> Iterator[T]:
        """Yield faults until the time of the test is over, but at least the first ``least``."""
        for number, fault in enumerate(faults):
            if number >= least and self.is_over:
                return
            yield fault


def minutes() -> float:
    """The minutes of a run: ``$FAULTS_MINUTES``, or 0 for no limit."""
    return float(os.environ.get(MINUTES_VARIABLE) or 0)


def processes() -> int:
    """The number of processes that run tests at the same time."""
    return int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))

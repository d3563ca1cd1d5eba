from __future__ import annotations

import logging
import time

import pytest

from spade_pyserini.train.time_left import TimeLeft, Work, step_range

WORK = Work(steps=60, validate_every=15, validation_seconds=30.0, spent=100.0)


@pytest.fixture
def messages(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO)
    return caplog


def call(work: Work, seconds: list[float], monkeypatch: pytest.MonkeyPatch, first: int = 1) -> None:
    """Call a `TimeLeft` after each step. ``seconds``: times of the steps, from number ``first``."""
    clock = 0.0
    timer = TimeLeft(work)
    monkeypatch.setattr(time, "perf_counter", lambda: clock)
    for step, taken in enumerate(seconds, start=first):
        clock += taken
        timer(step)


def test_the_estimate_includes_validations(
    messages: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slow first step, and a step while the computer was busy, do not change the estimate."""
    call(WORK, [90.0, 10.0, 10.0, 200.0, 10.0, 10.0, 10.0, 10.0], monkeypatch)
    # 54 steps of 10 seconds and 4 validations of 30 seconds take 660 seconds. The range is 0.9 to
    # 1.2 times this time.
    assert messages.messages == [
        "step 6 of 60: 10 to 13 minutes left on this machine, with 4 validations; a step takes "
        "10.0 seconds, and the work before training took 2 minutes"
    ]


def test_different_steps_make_the_range_wider(
    messages: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(WORK, [9.0, 5.0, 8.0, 20.0, 15.0, 10.0], monkeypatch)
    assert "8 to 19 minutes left" in messages.text


def test_a_run_that_is_continued(
    messages: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(WORK, [10.0] * 6, monkeypatch, first=31)
    assert "step 36 of 60: 4 to 6 minutes left on this machine, with 2 val" in messages.text


def test_short_runs(messages: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    for steps in (1, 2, 3):
        call(WORK._replace(steps=steps), [1.0] * steps, monkeypatch)
    assert not messages.messages
    call(WORK._replace(steps=4), [1.0] * 4, monkeypatch)
    assert "step 2 of 4: 29 to 38 seconds left" in messages.text


def test_step_range() -> None:
    assert step_range([3.0]) == (3.0, 3.0)
    assert step_range([3.0, 1.0]) == (1.0, 3.0)
    assert step_range([9.0, 1.0, 3.0, 4.0, 2.0]) == (2.0, 4.0)

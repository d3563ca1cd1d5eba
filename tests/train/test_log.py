"""The log of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini.train.log import RunLog, read_log


def test_tensorboard_gets_the_figures(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = RunLog(tmp_path)
    log.begin(0)
    log.write("step", 1, weighting_ranking=2.5, note="text")
    log.write("step", 2, weighting_ranking=1.5)
    log.close()
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    scalars = events.Scalars("step/weighting_ranking")
    assert [(scalar.step, scalar.value) for scalar in scalars] == [(1, 2.5), (2, 1.5)]


def test_a_log_line_cut_off_by_a_kill(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    log.write("step", 1, x=1.0)
    log.write("step", 2, x=2.0)
    with (tmp_path / "log.jsonl").open("a") as stream:
        stream.write('{"event": "st')
    log.begin(1)
    log.close()
    assert [line["step"] for line in read_log(tmp_path)] == [1]


def test_a_full_disk_of_tensorboard(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """TensorBoard's writer thread prints nothing; a later call of the log raises the error."""
    pytest.importorskip("tensorboard")
    log = RunLog(tmp_path)
    log.begin(0)
    (events,) = (tmp_path / "tensorboard").iterdir()
    events.unlink()
    events.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        for step in range(100):
            log.write("step", step, loss=1.0)
            log._board.flush()
    assert capfd.readouterr().err == ""

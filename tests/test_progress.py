"""Progress bars and JSON lines."""

from __future__ import annotations

import io
import json
import logging
import re
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from spade_pyserini import progress
from spade_pyserini.cli.main import OwnLines
from spade_pyserini.progress import Progress, counting_bar, duration, duration_range, progress_bar
from spade_pyserini.train import Recipe
from tests.commands import Commands


def test_progress_as_json_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    with closing(Progress("json", stream)) as progress:
        progress.expect(100)
        progress.skip(20, 200)  # 20 documents of an earlier run
        now[0] = 5.0
        progress(10, 150)
        assert not stream.getvalue()
        now[0] = 10.0
        progress(10, 150)
        progress(10, 150)
        now[0] = 12.0
    first, last = map(json.loads, stream.getvalue().splitlines())
    assert first == {
        "task": "encoding",
        "documents": 40,
        "documents_per_second": 2.0,
        "terms_per_document": 12.5,
        "seconds_left": 30,
    }
    assert last["documents"] == 50


def test_the_encode_command_writes_json_lines(
    corpus_of_95: Path, tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    flags = ("--corpus", corpus_of_95, "--model", tiny_model_folder, "--output", tmp_path / "x")
    result = run("encode", *flags, "--progress", "json")
    lines = [json.loads(line) for line in result.err.splitlines() if line.startswith("{")]
    assert lines[-1]["documents"] == 95
    assert lines[-1]["terms_per_document"] > 0


class Terminal(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def every_update(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a plain line for each update, not every half minute."""
    monkeypatch.setattr(progress, "PLAIN_PERIOD", 0.0)


def test_without_a_terminal_lines_are_plain(
    every_update: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with counting_bar("indexing", "documents", 4_000) as bar:
        bar.set_postfix_str("loss=1", refresh=False)
        bar.update(1_000)
    lines = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        r"indexing: 1,000 of 4,000 \(25%\) documents, \S+ per second, \d+ seconds left, loss=1",
        lines[-1],
    )
    assert list(progress_bar(iter("abc"), "reading", "topics")) == ["a", "b", "c"]
    assert "reading: 3 topics, " in capsys.readouterr().err


def test_a_bar_without_the_remaining_time(
    every_update: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with counting_bar("training", "steps", 60, remaining=False) as bar:
        bar.update(6)
    assert "training: 6 of 60 (10%) steps, " in (lines := capsys.readouterr().err)
    assert " left" not in lines
    monkeypatch.setattr(sys, "stderr", Terminal())
    with counting_bar("training", "steps", 60, remaining=False) as bar:
        bar.update(6)
        bar.refresh()
        assert isinstance(sys.stderr, Terminal)
        assert "6/60 [00:0" in (shown := sys.stderr.getvalue()) and "<" not in shown


def test_a_message_does_not_share_a_line_with_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    logger = logging.Logger("x")
    logger.addHandler(OwnLines())
    with counting_bar("training", "steps", 60) as bar:
        bar.update(6)
        logger.info("step 6 of 60: 3 to 4 minutes left")
    (line,) = (line for line in terminal.getvalue().split("\n") if "minutes left" in line)
    # The bar is overwritten with blanks before the message is written.
    *_, blanks, message = line.split("\r")
    assert not blanks.strip() and message == "step 6 of 60: 3 to 4 minutes left"
    assert "6/60" in terminal.getvalue().split("minutes left\n")[1]


def test_short_work_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with closing(Progress("bar")) as bar:
        bar.expect(10)
        bar(10, 10)
    assert list(progress_bar("abc", "reading", "topics")) == ["a", "b", "c"]
    assert capsys.readouterr().err == ""


def test_a_line_every_half_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(Progress("bar")) as bar:
        now = [bar._bar.start_t]
        monkeypatch.setattr(bar._bar, "_time", lambda: now[0])
        bar.expect(240)
        for _ in range(24):
            now[0] += 5
            bar(10, 100)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == [
        f"encoding: {number} of 240 ({number / 240:.0%}) documents"
        for number in (60, 120, 180, 240)
    ]
    assert lines[0].endswith("2 per second, 2 minutes left, 10 terms each")


def test_the_last_line_has_the_final_count(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(Progress("bar")) as bar:
        now = [bar._bar.start_t]
        monkeypatch.setattr(bar._bar, "_time", lambda: now[0])
        for _ in range(8):
            now[0] += 5
            bar(10, 100)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == [
        "encoding: 60 documents",
        "encoding: 80 documents",
    ]


def test_ranges_of_durations() -> None:
    ranges = [(20, 40), (75, 100), (500, 700), (570, 610), (5_000, 7_600), (7_000, 7_300)]
    assert [duration_range(*seconds) for seconds in ranges] == [
        "20 to 40 seconds",
        "1 to 2 minutes",
        "8 to 12 minutes",
        "about 10 minutes",
        "1.4 to 2.1 hours",
        "1.9 to 2.0 hours",
    ]


def test_durations_as_people_say_them() -> None:
    shown = [duration(seconds) for seconds in (0.4, 1, 40, 89, 90, 3_000, 9_000)]
    assert shown == [
        "0 seconds",
        "1 second",
        "40 seconds",
        "89 seconds",
        "2 minutes",
        "50 minutes",
        "2.5 hours",
    ]


@pytest.mark.java
def test_index_and_train_show_progress_without_a_terminal(
    every_update: None, tiny_vectors: Path, recipe: Recipe, tmp_path: Path, run: Commands
) -> None:
    result = run("index", "--input", tiny_vectors, "--output", tmp_path / "x")
    assert result.code == 0
    assert "indexing: 30 of 30 (100%) documents" in result.err
    settings = [
        f"--set={name}={json.dumps(value)}"
        for name in ("backbone", "corpus", "queries", "qrels", "negatives", "dev_queries")
        if (value := _setting(recipe, name))
    ]
    settings += [f"--set=dev_qrels={json.dumps(recipe.validation.dev_qrels)}"]
    sizes = "max_length=32 k=3 batch_size=4 micro_batch=4 warmup_steps=1 steps=2 validate_every=2"
    sizes += " block=8 tau=50"
    settings += [f"--set={size}" for size in sizes.split()]
    result = run("train", "--recipe", "paper", *settings, "--output", tmp_path / "run")
    assert result.code == 0, result.err
    assert "training: 2 of 2 (100%) steps" in result.err
    assert "validating tiny: 30 of 30 (100%) documents" in result.err
    assert "calibrating the scale: " in result.err
    assert "step 2 of 2: MRR@10 " in result.err


def _setting(recipe: Recipe, name: str) -> str:
    sections = (recipe.model, recipe.data, recipe.validation)
    return next(str(getattr(part, name)) for part in sections if hasattr(part, name))

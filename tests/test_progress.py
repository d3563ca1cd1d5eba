"""Progress bars and JSON lines."""

from __future__ import annotations

import io
import json
import time
from contextlib import closing
from pathlib import Path

import pytest

from spade_pyserini.progress import Progress
from tests.commands import Commands


def test_progress_as_json_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    with closing(Progress("json", stream)) as progress:
        progress.expect(100)
        progress.skip(20, 200)  # of an earlier run
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

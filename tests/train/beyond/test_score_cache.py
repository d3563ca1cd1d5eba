"""The cache of teachers' scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from spade_pyserini.train.beyond.score_cache import ScoreCache


def test_arrays_are_computed_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    calls: list[str] = []

    def compute() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        calls.append("")
        return np.array([[1.5, -2.0], [0.25, 3e-7]], np.float32)

    first = ScoreCache(tmp_path / "c").get(["a", 1], compute)
    again = ScoreCache(tmp_path / "c").get(["a", 1], compute)
    assert len(calls) == 1
    np.testing.assert_array_equal(first, again)
    ScoreCache(tmp_path / "c").get(["a", 2], compute)
    assert len(calls) == 2
    # The array of a damaged file is computed again.
    for path in (tmp_path / "c").iterdir():
        path.write_text(path.read_text().replace('"data": "', '"data": "AA'))
    np.testing.assert_array_equal(ScoreCache(tmp_path / "c").get(["a", 1], compute), first)
    assert len(calls) == 3
    assert "damaged" in caplog.text

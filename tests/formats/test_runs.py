from __future__ import annotations

import gzip
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_pyserini import Hit, Ranking, read_run, write_run
from spade_pyserini.errors import InputError, OutputExistsError
from spade_pyserini.formats.runs import strictly_falling


@given(st.lists(st.floats(min_value=0, max_value=1e7, width=32), max_size=200))
def test_scores_fall_strictly_for_trec_evals_floats(scores: list[float]) -> None:
    scores.sort(reverse=True)
    written = [np.float32(f"{score:.6f}") for score in strictly_falling(scores)]
    assert all(first > second for first, second in itertools.pairwise(written))


def test_a_thousand_ties_at_a_large_score_stay_in_order() -> None:
    written = [np.float32(f"{score:.6f}") for score in strictly_falling([7650.0] * 1000)]
    assert len(set(written)) == 1000
    assert written == sorted(written, reverse=True)


def test_scores_without_ties_stay_as_they_are() -> None:
    assert list(strictly_falling([9.0, 8.0, 8.0, 3.0])) == pytest.approx(
        [9, 8, 7.999998, 3], abs=1e-6
    )


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "run.txt"
    hits = [Hit("b", 5), Hit("a", 5), Hit("c", 2)]
    assert write_run([Ranking("1", hits), Ranking("2", [])], path, "tag") == 1
    assert path.read_text().splitlines()[1] == "1 Q0 a 2 4.999998 tag"
    (ranking,) = read_run(path)
    assert [hit.docid for hit in ranking.hits] == ["b", "a", "c"]
    with pytest.raises(OutputExistsError):
        write_run([], path)


def test_foreign_runs_are_read_in_trec_evals_order(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text("1 Q0 a 1 2.0 x\n1 Q0 b 2 2.0 x\n1 Q0 c 3 500.0000001 x\n1 Q0 d 4 500 x\n")
    (ranking,) = read_run(path)
    assert [hit.docid for hit in ranking.hits] == ["d", "c", "b", "a"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 Q0 b 2 3.0", "found 5 columns"),
        ("1 Q0 b 2 high x", "the score 'high' is not a number"),
        ("1 Q0 b 2 nan x", "not finite"),
        ("1 Q0 a 2 3.0 x", "has the document a twice"),
    ],
)
def test_a_bad_line_of_a_run_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "run.txt"
    path.write_text(f"1 Q0 a 1 4.0 x\n{line}\n")
    with pytest.raises(InputError, match=message) as error:
        read_run(path)
    assert f"{path}:2:" in str(error.value)


def test_a_compressed_run(tmp_path: Path) -> None:
    rankings = [Ranking("1", [Hit("a", 2.0), Hit("b", 1.0)])]
    write_run(rankings, tmp_path / "run.txt.gz")
    assert read_run(tmp_path / "run.txt.gz") == rankings
    assert gzip.decompress((tmp_path / "run.txt.gz").read_bytes()).startswith(b"1 Q0 a 1 2.0")


@pytest.mark.parametrize("score", [math.nan, -math.inf, -1e39])
def test_a_score_that_is_not_finite_is_not_written(tmp_path: Path, score: float) -> None:
    with pytest.raises(InputError, match=r"the score of b, .*, is not finite"):
        write_run([Ranking("1", [Hit("a", 2.0), Hit("b", score)])], tmp_path / "run.txt")
    assert not list(tmp_path.iterdir())

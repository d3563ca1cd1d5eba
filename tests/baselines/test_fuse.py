"""Fusion of several runs."""

from __future__ import annotations

import logging
import random
from pathlib import Path

import pytest
from pyserini.fusion import normalize, reciprocal_rank_fusion
from pyserini.trectools import TrecRun

from spade_pyserini import Hit, Ranking, read_run, write_run
from spade_pyserini.baselines.fuse import fuse
from spade_pyserini.errors import NoCommonTopicError, UsageError
from tests.commands import Commands


def ranking(qid: str, **scores: float) -> Ranking:
    return Ranking(qid, [Hit(docid, score) for docid, score in scores.items()])


FIRST = [ranking("1", a=9.0, b=5.0, c=1.0), ranking("2", x=3.0)]
SECOND = [ranking("1", c=0.75, d=0.5, a=0.25), ranking("2", y=0.5, x=0.1)]


def scores(fused: list[Ranking], qid: str) -> dict[str, float]:
    (hits,) = (ranking.hits for ranking in fused if ranking.qid == qid)
    return {hit.docid: round(hit.score, 9) for hit in hits}


def test_reciprocal_ranks_by_hand() -> None:
    fused = fuse([FIRST, SECOND], k=60)
    both = round(1 / 61 + 1 / 63, 9)
    assert [ranking.qid for ranking in fused] == ["1", "2"]
    assert list(scores(fused, "1").items()) == [
        *(("a", both), ("c", both)),
        *(("b", round(1 / 62, 9)), ("d", round(1 / 62, 9))),  # ties are ordered by docid
    ]
    assert scores(fuse([FIRST, SECOND], k=1), "2") == {"x": round(1 / 2 + 1 / 3, 9), "y": 0.5}
    weighted = fuse([FIRST, SECOND], weights=[1, 0.5])
    assert scores(weighted, "1")["d"] == round(0.5 / 62, 9)
    assert [len(ranking.hits) for ranking in fuse([FIRST, SECOND], hits=2)] == [2, 2]


def test_interpolation_by_hand() -> None:
    fused = fuse([FIRST, SECOND], "interpolation", weights=[2, 3])
    assert scores(fused, "1") == {"c": 3.0, "a": 2.0, "d": 1.5, "b": 1.0}
    # Each run has one hit, whose normalized score is 1. The weights are 2 and 3.
    assert scores(fused, "2") == {"y": 3.0, "x": 2.0}
    equal = fuse([FIRST, SECOND], "interpolation")
    assert list(scores(equal, "1").items()) == [("a", 1.0), ("c", 1.0), ("b", 0.5), ("d", 0.5)]


def test_the_order_of_the_runs_does_not_matter() -> None:
    names = ("a", "b", "c")
    turned = [
        [ranking("1", **{names[(at + turn) % 3]: 3.0 - at for at in range(3)})] for turn in range(3)
    ]
    assert [hit.docid for hit in fuse(turned, k=2)[0].hits] == ["a", "b", "c"]
    assert fuse(turned, k=2) == fuse(turned[::-1], k=2)


def test_the_same_as_pyserini(tmp_path: Path) -> None:
    chance = random.Random(5)
    paths = []
    for name in ("one", "two", "three"):
        docids = [f"d{number}" for number in range(60)]
        run = []
        for number in range(1, 9):
            values = sorted((chance.random() * 9 for _ in range(40)), reverse=True)
            run.append(Ranking(str(number), list(map(Hit, chance.sample(docids, 40), values))))
        paths.append(tmp_path / f"{name}.txt")
        write_run(run, paths[-1])
    runs = [read_run(path) for path in paths]
    theirs = [TrecRun(str(path)) for path in paths]
    for ours, merged in (
        (fuse(runs, "rrf", k=20), reciprocal_rank_fusion(theirs, rrf_k=20)),
        (fuse(runs, "interpolation"), normalize(theirs)),
    ):
        for qid, hits in ours:
            rows = merged.get_docs_by_topic(int(qid))
            expected = dict(zip(rows["docid"], rows["score"], strict=True))
            assert len(hits) == len(expected) > 40
            assert {hit.docid: pytest.approx(hit.score) for hit in hits} == expected


def test_topics_of_a_single_run_are_kept(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        fused = fuse([FIRST, [*SECOND, ranking("3", z=1.0)]])
    assert [ranking.qid for ranking in fused] == ["1", "2", "3"]
    assert scores(fused, "3") == {"z": round(1 / 61, 9)}
    assert "1 of 3 topics are not in all runs" in caplog.text
    caplog.clear()
    fuse([FIRST, SECOND])
    assert not caplog.records


def test_bad_arguments() -> None:
    with pytest.raises(UsageError, match="two runs or more"):
        fuse([FIRST])
    with pytest.raises(UsageError, match="3 weights for 2 runs"):
        fuse([FIRST, SECOND], weights=[1, 2, 3])
    with pytest.raises(UsageError, match=r"weights must be numbers from -1e\+30"):
        fuse([FIRST, SECOND], weights=[1, float("nan")])
    with pytest.raises(UsageError, match=r"weights must be numbers from -1e\+30"):
        fuse([FIRST, SECOND], weights=[1e308, 1e308])
    with pytest.raises(UsageError, match="no fusion method 'borda'"):
        fuse([FIRST, SECOND], "borda")
    with pytest.raises(NoCommonTopicError, match="no topic is in all runs"):
        fuse([FIRST, [ranking("77", a=1.0)]])


def test_the_command(tmp_path: Path, run: Commands) -> None:
    first, second, output = (tmp_path / name for name in ("1.txt", "2.txt", "fused.txt"))
    write_run(FIRST, first)
    write_run(SECOND, second)
    arguments = ("--run", first, second, "--output", output)
    result = run("fuse", *arguments, "--method", "interpolation", "--weights", 2, 3, "--hits", 3)
    assert (result.code, result.out) == (0, f"{output}\n")
    assert [hit.docid for hit in read_run(output)[0].hits] == ["c", "a", "d"]
    assert "exists already" in run("fuse", *arguments).err
    assert run("fuse", *arguments, "--overwrite", "--rrf-k", 1).code == 0
    assert [hit.docid for hit in read_run(output)[1].hits] == ["x", "y"]
    assert output.read_text().split()[5] == "rrf"
    assert run("fuse", "--run", first, "--output", output, "--overwrite").code == 2
    (tmp_path / "empty.txt").write_text("")
    result = run("fuse", "--run", first, tmp_path / "empty.txt", "--output", tmp_path / "x.txt")
    assert result.code == 1
    assert "empty.txt: the run is empty" in result.err
    assert not (tmp_path / "x.txt").exists()

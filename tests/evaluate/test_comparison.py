from __future__ import annotations

import json
from pathlib import Path

import pytest

from spade_pyserini import Hit, Ranking, read_qrels
from spade_pyserini.errors import NoCommonTopicError
from spade_pyserini.evaluate import compare_runs, parse_measures
from tests.commands import Commands
from tests.evaluate.judged import QRELS, RUN


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "run.txt").write_text(RUN)
    return tmp_path / "qrels.txt", tmp_path / "run.txt"


def test_a_baseline_marks_what_differs(tmp_path: Path, run: Commands) -> None:
    (tmp_path / "qrels.txt").write_text("".join(f"{n} 0 a 1\n" for n in range(20)))
    for name, ranks in (("base", (2, 3)), ("same", (3, 2)), ("better", (1, 1))):
        with (tmp_path / f"{name}.txt").open("w") as stream:
            for n in range(20):
                answer = ranks[n % 2]
                for rank in range(1, 5):
                    docid = "a" if rank == answer else f"x{rank}"
                    stream.write(f"{n} Q0 {docid} {rank} {9 - rank} t\n")
    runs = [tmp_path / f"{name}.txt" for name in ("base", "same", "better")]
    flags = ["--qrels", tmp_path / "qrels.txt", "--run", *runs, "-m", "RR"]
    result = run("evaluate", *flags, "--baseline", runs[0])
    cells = {line.split()[0]: line.split()[1] for line in result.out.splitlines()[2:5]}
    assert cells == {"base.txt": "0.4167", "same.txt": "0.4167", "better.txt": "1.0000◇"}
    assert "correction for 2 comparisons" in result.out
    assert run("evaluate", *flags, "--baseline", tmp_path / "other.txt").code == 2
    rows = run("evaluate", *flags, "--per-query", "--format", "csv").out.splitlines()
    assert rows[0] == "run,topic,RR"
    assert rows[1] == "base.txt,0,0.5000"
    assert len(rows) == 61


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "the run is empty"), ("77 Q0 a 1 1 x\n", "no topic of this run has judgements")],
)
def test_runs_that_cannot_be_scored(
    files: tuple[Path, Path], run: Commands, content: str, message: str
) -> None:
    qrels, path = files
    path.write_text(content)
    result = run("evaluate", "--qrels", qrels, "--run", path)
    assert result.code == 1
    assert message in result.err


def test_the_command_prints_one_table(files: tuple[Path, Path], run: Commands) -> None:
    qrels, path = files
    again = path.with_name("again.txt")
    again.write_text(path.read_text())
    result = run("evaluate", "--qrels", qrels, "--run", path, again)
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0].split() == ["run", "MRR@10", "nDCG@10", "MAP", "R@100", "R@1000"]
    assert lines[2].split()[:2] == ["run.txt", "0.5000"]
    assert lines[2].split()[1:] == lines[3].split()[1:]
    each = run("evaluate", "--qrels", qrels, "--run", path, "--per-query", "--format", "json")
    assert {row["topic"] for row in json.loads(each.out)} == set(read_qrels(qrels))
    twice = run("evaluate", "--qrels", qrels, "--run", path, "-m", "MRR@10", "RR@10")
    assert twice.out.splitlines()[2].split()[1:3] == ["0.5000", "0.5000"]
    assert run("evaluate", "--qrels", qrels, "--run", path, path).code == 2
    assert run("evaluate", "--qrels", qrels, "--run", path, "-m", "nonsense").code == 2
    assert run("evaluate", "--qrels", qrels, "--run", path, "-m", "alpha_nDCG@10").code == 2
    other = path.with_name("other.txt")
    other.write_text("77 Q0 a 1 1 x\n")
    result = run("evaluate", "--qrels", qrels, "--run", path, other)
    assert result.code == 1
    assert f"{other}: no topic of this run has judgements" in result.err


def test_a_run_of_other_topics_is_an_error_or_scores_0() -> None:
    runs = {"other": [Ranking("77", [Hit("a", 1.0)])]}
    measures = parse_measures(["MRR@10"])
    with pytest.raises(NoCommonTopicError):
        compare_runs({"1": {"a": 1}}, runs, measures)
    comparison = compare_runs({"1": {"a": 1}}, runs, measures, strict=False)
    assert comparison.rows() == [["other", "0.0000"]]

from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini import read_qrels, read_run
from spade_pyserini.analysis.compare import (
    TopicDifference,
    compare_topics,
    extremes,
    t_test,
    tally,
)
from spade_pyserini.analysis.difference_figure import draw_differences
from spade_pyserini.errors import UsageError
from spade_pyserini.evaluate import evaluate_run, parse_measures
from tests.commands import Commands

QRELS = "1 0 a 2\n2 0 a 1\n3 0 a 2\n4 0 a 2\n"
FIRST = "1 Q0 b 1 2 x\n1 Q0 a 2 1 x\n2 Q0 a 1 1 x\n3 Q0 a 1 1 x\n"
SECOND = "1 Q0 a 1 2 x\n2 Q0 b 1 2 x\n2 Q0 a 2 1 x\n3 Q0 a 1 1 x\n4 Q0 b 1 2 x\n4 Q0 a 2 1 x\n"
TOPICS = "1\tred <river>\n2\told  cat\n3\tbird\n4\t" + "long " * 40 + "\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two runs with judgements: the second is better on topics 1 and 4, worse on 2, equal on 3."""
    contents = {"qrels.txt": QRELS, "first.txt": FIRST, "second.txt": SECOND, "topics.tsv": TOPICS}
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def differences(files: Path, measure: str = "RR", level: int = 1) -> list[TopicDifference]:
    first, second = (read_run(files / name) for name in ("first.txt", "second.txt"))
    (parsed,) = parse_measures([measure])
    return compare_topics(read_qrels(files / "qrels.txt"), first, second, parsed, level)


def test_from_the_largest_gain_to_the_largest_loss(files: Path) -> None:
    topics = differences(files)
    expected = [("1", 0.5, 1, 0.5), ("4", 0, 0.5, 0.5), ("3", 1, 1, 0), ("2", 1, 0.5, -0.5)]
    assert topics == [TopicDifference(*values) for values in expected]
    assert tally(topics) == (2, 1, 1)
    gains, losses = extremes(topics, 1)
    assert [topic.qid for topic in gains] == ["1"]
    assert [topic.qid for topic in losses] == ["2"]


def test_the_level_decides_what_is_relevant(files: Path) -> None:
    topics = {topic.qid: topic for topic in differences(files, level=2)}
    assert topics["2"] == TopicDifference("2", 0, 0, 0)
    assert topics["1"].difference == 0.5


def test_the_mean_difference_is_the_difference_of_the_means(files: Path) -> None:
    qrels, measures = read_qrels(files / "qrels.txt"), parse_measures(["nDCG@10"])
    first, second = (
        evaluate_run(qrels, read_run(files / name), measures)[measures[0]]
        for name in ("first.txt", "second.txt")
    )
    assert t_test(differences(files, "nDCG@10")).mean == pytest.approx(second - first)


def test_the_command(files: Path, run: Commands) -> None:
    flags = [files / "first.txt", files / "second.txt", "--qrels", files / "qrels.txt"]
    result = run("compare", *flags, "--topics", files / "topics.tsv", "-m", "RR", "--top", 2)
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0] == "RR of second.txt against first.txt, 4 topics"
    assert "2 wins, 1 ties, 1 losses" in lines
    mean = "mean 0.6250 to 0.7500: +0.1250"
    assert f"{mean}, 4 topics are too few for a test of significance" in lines
    gains = lines.index("largest gains")
    assert lines[gains + 3].split() == ["1", "0.5000", "1.0000", "+0.5000", "red", "<river>"]
    assert lines[gains + 4].endswith("  " + "long " * 11 + "long…")
    losses = lines.index("largest losses")
    assert lines[losses + 3].split() == ["2", "1.0000", "0.5000", "-0.5000", "old", "cat"]
    assert lines[-1] == lines[losses + 3]
    plain = run("compare", *flags)
    assert plain.out.startswith("nDCG@10 of ")
    assert "river" not in plain.out


def test_the_p_value(files: Path, run: Commands) -> None:
    """With each topic twice, t is 0.125 / (0.4432 / sqrt(8)) = 0.798 (7 degrees of freedom)."""
    for name, copied in (("qrels.txt", QRELS), ("first.txt", FIRST), ("second.txt", SECOND)):
        lines = copied.splitlines(keepends=True)
        (files / name).write_text("".join([*lines, *(f"1{line}" for line in lines)]))
    flags = [files / "first.txt", files / "second.txt", "--qrels", files / "qrels.txt"]
    result = run("compare", *flags, "-m", "RR")
    assert "mean 0.6250 to 0.7500: +0.1250, paired t-test p = 0.45" in result.out
    (files / "qrels.txt").write_text("1 0 a 2\n")
    assert run("compare", *flags, "-m", "RR").out.startswith(
        "RR of second.txt against first.txt, 1 topic\n"
    )


@pytest.mark.parametrize(("name", "start"), [("f.png", b"\x89PNG"), ("f.svg", b"<?xml")])
def test_the_figure(files: Path, run: Commands, name: str, start: bytes) -> None:
    flags = [files / "first.txt", files / "second.txt", "--qrels", files / "qrels.txt"]
    assert run("compare", *flags, "--output", files / name).code == 0
    figure = (files / name).read_bytes()
    assert figure.startswith(start)
    again = run("compare", *flags, "--output", files / name)
    assert again.code == 1
    assert "pass --overwrite" in again.err
    assert run("compare", *flags, "--output", files / name, "--overwrite").code == 0
    draw_differences(differences(files)[:1], "another", files / name)
    assert (files / name).read_bytes() != figure
    assert not list(files.glob(".*.tmp"))


def test_wrong_calls(files: Path, run: Commands) -> None:
    first, second, qrels = (files / name for name in ("first.txt", "second.txt", "qrels.txt"))
    result = run("compare", first, second, "--qrels", qrels, "--output", files / "f.gif")
    assert (result.code, (files / "f.gif").exists()) == (2, False)
    assert "must end in .png or .svg" in result.err
    with pytest.raises(UsageError, match=r"must end in \.png"):
        draw_differences(differences(files), "x", files / "f.pdf")
    assert run("compare", first, second, "--qrels", qrels, "-m", "RR", "AP").code == 2
    assert run("compare", first, first, "--qrels", qrels).code == 2
    assert run("compare", first, "--qrels", qrels).code == 2

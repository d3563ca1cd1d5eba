from __future__ import annotations

import json
from pathlib import Path

import pytest

from spade_pyserini import Hit, Ranking, read_qrels
from spade_pyserini.errors import NoCommonTopicError
from spade_pyserini.evaluate import compare_runs, parse_measures, read_runs
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


def test_p_values(tmp_path: Path, run: Commands) -> None:
    ranks = {"base": [2, 3] * 5, "same": [3, 2] * 5, "better": [1, 2] * 5, "copy": [2, 3] * 5}
    flags = [*write_ranks(tmp_path, ranks), "-m", "RR", "P@1"]
    lines = run("evaluate", *flags).out.splitlines()
    qrels = read_qrels(tmp_path / "qrels.txt")
    runs = read_runs([tmp_path / name for name in ranks], qrels)
    comparison = compare_runs(qrels, runs, parse_measures(["RR", "P@1"]), baseline="base")
    exact = [test.p for test in comparison.tests["better"].values()]
    rr, p1 = (p for p in exact if p is not None)
    assert p1 < 0.05 and f"better, p-values: RR {rr:.2g}, P@1 {p1:.2g}" in lines
    assert "same, p-values: RR 1, P@1 -" in lines
    assert not any(line.startswith("copy, p-values") for line in lines)
    rows = json.loads(run("evaluate", *flags, "--format", "json").out)
    by_name = {row["run"]: (row["p RR"], row["p P@1"]) for row in rows}
    assert by_name["better"] == pytest.approx((rr, p1), rel=1e-3)
    assert by_name["base"] == by_name["copy"] == (None, None)
    table = run("evaluate", *flags, "--format", "csv").out.splitlines()
    assert table[0] == "run,RR,P@1,p RR,p P@1" and table[2].endswith(",1,")
    assert "p RR" not in run("evaluate", *flags[:-5], "-m", "RR", "--format", "csv").out


def write_ranks(folder: Path, ranks: dict[str, list[int]]) -> list[object]:
    """Write runs by name. ``ranks``: for each run, the rank of each topic's relevant document."""
    topics = len(next(iter(ranks.values())))
    (folder / "qrels.txt").write_text("".join(f"{n} 0 a 1\n" for n in range(topics)))
    for name, answers in ranks.items():
        lines = [
            f"{n} Q0 {'a' if rank == answer else f'x{rank}'} {rank} {9 - rank} t\n"
            for n, answer in enumerate(answers)
            for rank in range(1, 5)
        ]
        (folder / name).write_text("".join(lines))
    runs = [folder / name for name in ranks]
    return ["--qrels", folder / "qrels.txt", "--run", *runs, "--baseline", runs[0]]


@pytest.mark.parametrize(
    ("topics", "line"),
    [
        (1, "1 topic is too few for a test of significance"),
        (3, "3 topics are too few for a test of significance"),
        (6, "better, RR: the difference is the same on all topics, so there is no test"),
    ],
)
def test_no_mark_without_a_test(tmp_path: Path, run: Commands, topics: int, line: str) -> None:
    flags = write_ranks(tmp_path, {"base": [2] * topics, "better": [1] * topics})
    result = run("evaluate", *flags, "-m", "RR")
    assert result.code == 0
    assert result.out.splitlines()[3].split() == ["better", "1.0000"]
    assert line in result.out
    assert "◇" not in result.out
    assert "significant difference" not in result.out


def test_the_legend_only_with_a_mark(tmp_path: Path, run: Commands) -> None:
    flags = write_ranks(tmp_path, {"base": [2, 3] * 5, "same": [3, 2] * 5})
    result = run("evaluate", *flags, "-m", "RR")
    assert "◇" not in result.out
    assert "no significant difference from base: paired t-test, p < 0.05" in result.out
    flags = write_ranks(tmp_path, {"base": [2, 3] * 5, "better": [1] * 10})
    assert "\n◇ significant difference from base" in run("evaluate", *flags, "-m", "RR").out
    by_topic = run("evaluate", *flags, "-m", "RR", "--per-query").out
    assert "◇" not in by_topic
    alone = run("evaluate", *flags[:4], "-m", "RR", "--baseline", flags[3])
    assert "comparison" not in alone.out


def test_ids_that_do_not_match(tmp_path: Path, run: Commands) -> None:
    qrels, escaped, again = (tmp_path / name for name in ("qrels.csv", "escaped", "again"))
    rows = [f"{n},note {n}.md,1\n{n},note%20{n}.md,0\n" for n in range(3)]
    qrels.write_text("query-id,corpus-id,score\n" + "".join(rows))
    escaped.write_text("".join(f"{n} Q0 note%20{n}.md 1 1 t\n" for n in range(3)))
    again.write_text(escaped.read_text())
    warning = (
        "none of the 3 relevant documents is in this run; its document ids look like "
        "'note%200.md', those of the judgements like 'note 0.md'"
    )
    result = run("evaluate", "--qrels", qrels, "--run", escaped, again)
    assert result.code == 0
    assert result.out.splitlines()[-2:] == [f"escaped: {warning}", f"again: {warning}"]
    table = run("evaluate", "--qrels", qrels, "--run", escaped, "--format", "json")
    assert json.loads(table.out)[0]["MAP"] == 0
    assert f"escaped: {warning}" in table.err
    compared = run("compare", escaped, again, "--qrels", qrels).out
    assert f"escaped: {warning}\nagain: {warning}" in compared
    qrels.write_text(qrels.read_text() + "2,note%201.md,1\n")
    assert "relevant document" not in run("evaluate", "--qrels", qrels, "--run", escaped).out
    qrels.write_text("query-id,corpus-id,score\n0,note 0.md,1\n")
    single = run("evaluate", "--qrels", qrels, "--run", escaped).out
    assert "escaped: the only relevant document is not in this run; its document ids" in single


def test_only_grades_from_the_relevance_level_are_relevant(tmp_path: Path, run: Commands) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 2\n1 0 c 3\n")
    (tmp_path / "run").write_text("1 Q0 a 1 1 x\n")
    (tmp_path / "other").write_text("1 Q0 d 1 1 x\n")
    flags = ("--qrels", tmp_path / "qrels")
    level = ("--relevance-level", 2)
    assert "relevant document" not in run("evaluate", *flags, "--run", tmp_path / "run").out
    warning = "run: none of the 2 relevant documents is in this run"
    shown = run("evaluate", *flags, *level, "--run", tmp_path / "run")
    assert warning in shown.out
    table = run("evaluate", *flags, *level, "--run", tmp_path / "run", "--format", "csv")
    assert warning in table.err
    compared = run("compare", *flags, *level, tmp_path / "run", tmp_path / "other").out
    assert warning in compared and f"other: {warning[5:]}" in compared


def test_singular_and_plural(files: tuple[Path, Path], run: Commands) -> None:
    qrels, path = files
    lines = run("evaluate", "--qrels", qrels, "--run", path).out.splitlines()
    assert lines[3].startswith("3 judged topics; ")
    notes = ["run.txt: 1 topic without hits", "run.txt: 1 topic without judgements is ignored"]
    assert lines[4:] == notes
    qrels.write_text("1 0 a 2\n")
    lines = run("evaluate", "--qrels", qrels, "--run", path).out.splitlines()
    assert lines[3].startswith("1 judged topic; ")
    assert lines[4:] == ["run.txt: 2 topics without judgements are ignored"]


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


def test_topic_ids_of_both_sides_are_shown(tmp_path: Path, run: Commands) -> None:
    (tmp_path / "run.txt").write_text("1 Q0 a 1 1 x\n")
    pairs, other = tmp_path / "pairs.csv", tmp_path / "qrels.txt"
    pairs.write_text("query,docid\nred lamp,a\n")
    other.write_text("q-1 0 a 1\n")
    result = run("evaluate", "--qrels", pairs, "--run", tmp_path / "run.txt")
    assert result.code == 1
    shown = "the topic ids of the run look like '1', those of the judgements like 'red lamp'"
    assert shown in result.err
    assert "looks like the text of a query; give judgements with the ids" in result.err
    (tmp_path / "run.txt").write_text("t1 Q0 a 1 1 x\n")
    result = run("evaluate", "--qrels", other, "--run", tmp_path / "run.txt")
    assert result.code == 1
    assert "judgements like 'q-1'; give the qrels for the topics of the run" in result.err


@pytest.mark.parametrize(
    ("qids", "numbered"),
    [
        (["1", "2", "3"], True),
        (["2", "4"], True),  # topics 1 and 3 have no hits
        (["1048585", "2"], False),
        (["9" * 5000], False),
        (["1", "x"], False),
        (["01"], False),
        (["0", "1"], False),
        (["\u00b2"], False),
    ],
)
@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_topics_that_were_numbered_by_row(
    tmp_path: Path, run: Commands, command: str, qids: list[str], numbered: bool
) -> None:
    runs, qrels = [tmp_path / "run.txt", tmp_path / "other.txt"], tmp_path / "qrels.txt"
    for path in runs:
        path.write_text("".join(f"{qid} Q0 a 1 1 x\n" for qid in qids))
    qrels.write_text("T0 0 a 1\n")
    flag = ["--run"] if command == "evaluate" else []
    result = run(command, "--qrels", qrels, *flag, *runs)
    assert result.code == 1
    assert ("has probably numbered the topics by row" in result.err) == numbered
    cure = "search again with `spade search --query-id-field COLUMN --overwrite`, or give the qrels"
    assert (cure in result.err) == numbered
    assert "give the qrels for the topics of the run" in result.err


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

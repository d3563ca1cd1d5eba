from __future__ import annotations

import json
import math
import random
import statistics
import subprocess
from pathlib import Path

import ir_measures
import pytest
from ir_measures import NumQ, NumRel
from scipy.stats import t as student

from spade_pyserini import (
    Bm25Searcher,
    Hit,
    Ranking,
    build_bm25_index,
    evaluate_run,
    open_corpus,
    read_qrels,
    read_run,
    read_topics,
    search_topics,
    write_run,
)
from spade_pyserini.errors import InputError, NotFoundError, SpadeError, UsageError
from spade_pyserini.evaluate import parse_measures
from spade_pyserini.evaluate.measures import measure_name
from spade_pyserini.evaluate.significance import paired_t_test
from spade_pyserini.formats.tables import render
from spade_pyserini.lucene.runtime import anserini_jar, find_java
from tests.commands import Commands
from tests.conftest import shared_data

QRELS = "1 0 a 2\n1 0 b 1\n1 0 z 0\n2 0 c 1\n3 0 never 1\n"
RUN = "1 Q0 b 1 3 x\n1 Q0 y 2 2 x\n1 Q0 a 3 1 x\n2 Q0 d 1 9 x\n2 Q0 c 2 8 x\n9 Q0 q 1 1 x\n"
TREC_NAMES = [
    "recip_rank",
    "ndcg_cut_10",
    "map",
    "recall_100",
    "recall_1000",
    "P_5",
    "map_cut_100",
    "num_ret",
]
TREC_NAMES += ["num_rel_ret", "Rprec", "bpref"]


def trec_eval(qrels: Path, run: Path, *flags: str) -> dict[str, float]:
    """The real trec_eval that Anserini's jar carries."""
    found = find_java()
    command = [str(found.home / "bin" / "java"), "-cp", str(anserini_jar()), "trec_eval", "-c"]
    command += flags
    names = ["recip_rank", "ndcg_cut.10", "map", "recall.100,1000", "P.5", "map_cut.100"]
    names += ["num_ret", "num_rel_ret", "Rprec", "bpref"]
    command += [part for name in names for part in ("-m", name)]
    command += [str(qrels), str(run)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    return {name: float(value) for name, _, value in rows}


def assert_same_digits(qrels: Path, run: Path) -> None:
    expected = trec_eval(qrels, run)
    measures = parse_measures(TREC_NAMES)
    values = evaluate_run(read_qrels(qrels), read_run(run), measures)
    for name, measure in zip(TREC_NAMES, measures, strict=True):
        assert f"{values[measure]:.4f}" == f"{expected[name]:.4f}", name


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "run.txt").write_text(RUN)
    return tmp_path / "qrels.txt", tmp_path / "run.txt"


def test_by_hand(files: tuple[Path, Path]) -> None:
    qrels, run = files
    values = evaluate_run(read_qrels(qrels), read_run(run), parse_measures(["MRR@10", "R@100"]))
    assert [round(value, 6) for value in values.values()] == [0.5, 0.666667]  # topic 3 counts as 0


@pytest.mark.java
def test_the_same_digits_as_trec_eval(files: tuple[Path, Path]) -> None:
    assert_same_digits(*files)


@pytest.mark.java
def test_the_same_digits_on_thousands_of_ties(tmp_path: Path) -> None:
    """Whole impacts tie all the time; our runs and foreign ones must score as trec_eval says."""
    chance = random.Random(3)
    qrels, foreign, ours = (tmp_path / name for name in ("qrels.txt", "foreign.txt", "ours.txt"))
    rankings = []
    with qrels.open("w") as judged, foreign.open("w") as run:
        for qid in range(50):
            hits = [Hit(f"d{chance.random()}", chance.randint(480, 500)) for _ in range(200)]
            hits.sort(key=lambda hit: (-hit.score, hit.docid))
            rankings.append(Ranking(str(qid), hits))
            for rank, hit in enumerate(hits, start=1):
                run.write(f"{qid} Q0 {hit.docid} {rank} {hit.score} x\n")
                if chance.random() < 0.1:
                    judged.write(f"{qid} 0 {hit.docid} {chance.randint(0, 3)}\n")
    write_run(rankings, ours)
    assert_same_digits(qrels, foreign)
    assert_same_digits(qrels, ours)
    assert trec_eval(qrels, ours) != trec_eval(qrels, foreign)  # where ties were broken for it
    measure = ir_measures.RR
    read = {ranking.qid: ranking for ranking in read_run(ours)}
    assert [read[ranking.qid].hits[0].docid for ranking in rankings] == [
        ranking.hits[0].docid for ranking in rankings
    ]
    judged_again = ir_measures.read_trec_qrels(str(qrels))  # type: ignore[no-untyped-call]
    run_again = ir_measures.read_trec_run(str(ours))  # type: ignore[no-untyped-call]
    direct = ir_measures.calc_aggregate([measure], judged_again, run_again)
    assert f"{direct[measure]:.4f}" == f"{trec_eval(qrels, ours)['recip_rank']:.4f}"


def test_names_of_measures() -> None:
    names = ["MRR@10", "nDCG@10", "MAP", "R@100", "ndcg_cut_10", "recall.100,1000", "recip_rank"]
    found = [measure_name(measure) for measure in parse_measures(names)]
    assert found == ["MRR@10", "nDCG@10", "MAP", "R@100", "nDCG@10", "R@100", "R@1000", "RR"]
    for bad in (
        "NDCG10",
        "__import__('os')",
        "",
        "nDCG@",
        "P@0",
        "ndcg_cut_0",
        "R",
        "AP(x=1)",
        "P(rel=0)@5",
    ):
        with pytest.raises(UsageError, match="is no measure"):
            parse_measures([bad])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 0 a 1\n1 0 b\n", r":2: expected `qid 0 docid grade`, found 3 columns"),
        ("1 0 a one\n", r":1: the grade 'one' is not a whole number"),
        (f"1 0 a {10**20}\n", r":1: the grade '1000.*' is not a whole number"),
        ("1 0 a 1\n1 0 a 2\n", ":2: topic 1 has two grades for a"),
        ("query-id\tcorpus-id\tscore\n1\ta\t1\n1 a\n", r":3: expected `qid docid grade`"),
        ("", "holds no judgement"),
    ],
)
def test_malformed_qrels(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "q.txt").write_text(content)
    with pytest.raises(InputError, match=message):
        read_qrels(tmp_path / "q.txt")


def test_beirs_qrels(tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t1\n2\tb\t2\n")
    assert read_qrels(tmp_path / "test.tsv") == {"1": {"a": 1}, "2": {"b": 2}}
    assert len(read_qrels(shared_data("scifact") / "qrels" / "test.tsv")) == 300


def test_qrels_and_runs_that_do_not_meet(files: tuple[Path, Path]) -> None:
    qrels, _ = files
    with pytest.raises(SpadeError, match="no topic in common"):
        evaluate_run(read_qrels(qrels), [Ranking("other", [Hit("a", 1)])])
    with pytest.raises(NotFoundError, match="lists all names"):
        read_qrels("nowhere")


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
    assert {one["topic"] for one in json.loads(each.out)} == set(read_qrels(qrels))
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


@pytest.mark.java
def test_a_higher_relevance_level_is_trec_evals(files: tuple[Path, Path], run: Commands) -> None:
    qrels, path = files
    expected = trec_eval(qrels, path, "-l", "2")
    flags = ["--qrels", qrels, "--run", path, "--relevance-level", "2", "--format", "json"]
    names = ["recip_rank", "ndcg_cut_10", "map", "recall_100"]
    (found,) = json.loads(run("evaluate", *flags, "-m", *names).out)
    for name, column in zip(names, ("RR", "nDCG@10", "MAP", "R@100"), strict=True):
        assert f"{found[column]:.4f}" == f"{expected[name]:.4f}", name
    assert found["MAP"] != 0.5


def test_what_was_judged_is_counted_whatever_was_found() -> None:
    qrels = {"1": {"a": 1, "b": 2, "c": 0}, "2": {"a": 1}}
    found = evaluate_run(qrels, [Ranking("1", [Hit("a", 1.0)])], [NumQ, NumRel])
    assert list(found.values()) == [2, 3]


def test_the_paired_t_test_is_the_textbooks() -> None:
    """By hand: the mean difference over its standard error, Student's distribution."""
    chance = random.Random(4)
    first = {str(n): chance.random() for n in range(30)}
    second = {qid: value + 0.1 * chance.random() for qid, value in first.items()}
    differences = [second[qid] - first[qid] for qid in first]
    mean = statistics.fmean(differences)
    t = mean / (statistics.stdev(differences) / math.sqrt(30))
    p = 2 * float(student.sf(abs(t), df=29))
    found = paired_t_test(first, second)
    assert found.mean == pytest.approx(mean)
    assert found.p == pytest.approx(p)
    noisy = {qid: value + chance.gauss(0.02, 0.2) for qid, value in first.items()}
    alone = paired_t_test(first, noisy).p
    assert paired_t_test(first, noisy, comparisons=3).p == pytest.approx(min(1, 3 * alone))
    assert not paired_t_test(first, dict(first)).significant
    assert paired_t_test({"1": 0.0}, {"1": 1.0}).p == 1


def test_a_baseline_marks_what_differs(tmp_path: Path, run: Commands) -> None:
    (tmp_path / "qrels.txt").write_text("".join(f"{n} 0 a 1\n" for n in range(20)))
    for name, ranks in (("base", (2, 3)), ("same", (3, 2)), ("better", (1, 1))):
        with (tmp_path / f"{name}.txt").open("w") as stream:
            for n in range(20):
                place = ranks[n % 2]
                for rank in range(1, 5):
                    docid = "a" if rank == place else f"x{rank}"
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


def test_tables_for_papers_and_programs() -> None:
    header, rows = ["run_1", "MRR@10"], [["a & b", "0.5000◇"]]
    assert render(header, rows, "markdown").splitlines()[1:] == [
        "| --- | ---: |",
        "| a & b | 0.5000◇ |",
    ]
    latex = render(header, rows, "latex")
    assert r"run\_1 & MRR@10 \\" in latex
    assert r"a \& b & 0.5000$^{\diamond}$ \\" in latex
    assert render(header, rows, "csv") == "run_1,MRR@10\na & b,0.5000◇"
    assert json.loads(render(header, [["x", "0.5"]], "json")) == [{"run_1": "x", "MRR@10": 0.5}]
    topics = render(["run", "topic", "AP"], [["x", "007", "0.5"]], "json", left=(0, 1))
    assert json.loads(topics) == [{"run": "x", "topic": "007", "AP": 0.5}]


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


def test_a_query_that_finds_itself_is_told(files: tuple[Path, Path], run: Commands) -> None:
    qrels, path = files
    path.write_text("1 Q0 1 1 3 x\n")
    result = run("evaluate", "--qrels", qrels, "--run", path)
    assert "1 topics find the document of their own id (as in ArguAna)" in result.out


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.parametrize(("name", "published"), [("scifact", 0.679), ("nfcorpus", 0.322)])
def test_bm25_gives_pyserinis_published_figures(
    name: str, published: float, tmp_path: Path
) -> None:
    folder = shared_data(name)
    build_bm25_index(open_corpus(str(folder)), tmp_path / "index", threads=2)
    with Bm25Searcher(tmp_path / "index") as searcher:
        found = list(search_topics(searcher, read_topics(folder / "test")))
    value = evaluate_run(read_qrels(folder / "test"), found, [ir_measures.nDCG @ 10])
    assert value[ir_measures.nDCG @ 10] == pytest.approx(published, abs=0.0015)

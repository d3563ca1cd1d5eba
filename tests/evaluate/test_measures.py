from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import ir_measures
import pytest
from ir_measures import NumQ, NumRel

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
from spade_pyserini.errors import NotFoundError, SpadeError, UsageError
from spade_pyserini.evaluate import parse_measures
from spade_pyserini.evaluate.measures import measure_name
from spade_pyserini.lucene.runtime import anserini_jar, find_java
from tests.commands import Commands
from tests.conftest import shared_data
from tests.evaluate.judged import QRELS, RUN

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
    """Return the scores of the original trec_eval, which is part of Anserini's jar."""
    java = find_java()
    command = [str(java.home / "bin" / "java"), "-cp", str(anserini_jar()), "trec_eval", "-c"]
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
    assert [round(value, 6) for value in values.values()] == [0.5, 0.666667]  # topic 3 scores 0


@pytest.mark.java
def test_the_same_digits_as_trec_eval(files: tuple[Path, Path]) -> None:
    assert_same_digits(*files)


@pytest.mark.java
def test_the_same_digits_on_thousands_of_ties(tmp_path: Path) -> None:
    """Integer scores tie often; runs of any tool get the same measures as in trec_eval."""
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
    # `write_run` makes all scores different; the foreign run has ties, which trec_eval orders.
    assert trec_eval(qrels, ours) != trec_eval(qrels, foreign)
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
    parsed = [measure_name(measure) for measure in parse_measures(names)]
    assert parsed == ["MRR@10", "nDCG@10", "MAP", "R@100", "nDCG@10", "R@100", "R@1000", "RR"]
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
        with pytest.raises(UsageError, match="is not a measure"):
            parse_measures([bad])


def test_qrels_and_runs_without_a_common_topic(files: tuple[Path, Path]) -> None:
    qrels, _ = files
    with pytest.raises(SpadeError, match="no topic in common"):
        evaluate_run(read_qrels(qrels), [Ranking("other", [Hit("a", 1)])])
    with pytest.raises(NotFoundError, match="lists all names"):
        read_qrels("nowhere")


@pytest.mark.java
def test_a_higher_relevance_level_is_trec_evals(files: tuple[Path, Path], run: Commands) -> None:
    qrels, path = files
    expected = trec_eval(qrels, path, "-l", "2")
    flags = ["--qrels", qrels, "--run", path, "--relevance-level", "2", "--format", "json"]
    names = ["recip_rank", "ndcg_cut_10", "map", "recall_100"]
    (row,) = json.loads(run("evaluate", *flags, "-m", *names).out)
    for name, column in zip(names, ("RR", "nDCG@10", "MAP", "R@100"), strict=True):
        assert f"{row[column]:.4f}" == f"{expected[name]:.4f}", name
    assert row["MAP"] != 0.5


def test_counts_of_judgements_do_not_depend_on_the_hits() -> None:
    qrels = {"1": {"a": 1, "b": 2, "c": 0}, "2": {"a": 1}}
    counts = evaluate_run(qrels, [Ranking("1", [Hit("a", 1.0)])], [NumQ, NumRel])
    assert list(counts.values()) == [2, 3]


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.parametrize(("name", "published"), [("scifact", 0.679), ("nfcorpus", 0.322)])
def test_bm25_gives_pyserinis_published_figures(
    name: str, published: float, tmp_path: Path
) -> None:
    folder = shared_data(name)
    build_bm25_index(open_corpus(str(folder)), tmp_path / "index", threads=2)
    with Bm25Searcher(tmp_path / "index") as searcher:
        rankings = list(search_topics(searcher, read_topics(folder / "test")))
    value = evaluate_run(read_qrels(folder / "test"), rankings, [ir_measures.nDCG @ 10])
    assert value[ir_measures.nDCG @ 10] == pytest.approx(published, abs=0.0015)

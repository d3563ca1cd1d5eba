"""BEIR's evaluation with the search of this package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spade_pyserini import ImpactSearcher, open_corpus
from spade_pyserini.errors import ArtifactError, UsageError
from spade_pyserini.models import SpadeModel

pytestmark = [pytest.mark.java, pytest.mark.filterwarnings("ignore")]
QUERIES = {"q1": "the old dog", "q2": "", "q3": "fish and bird"}
QRELS = {"q1": {"d3": 1}, "q3": {"d11": 1, "d4": 1}}


@pytest.fixture(scope="module")
def adapter() -> Any:
    pytest.importorskip("beir.retrieval", reason="needs pip install 'spade_pyserini[beir]'")
    from spade_pyserini.integrations import beir

    return beir


@pytest.fixture(scope="module")
def corpus(tiny_corpus: Path) -> dict[str, dict[str, str]]:
    return {d.docid: {"title": d.title, "text": d.text} for d in open_corpus(str(tiny_corpus))}


def test_beir_evaluates_our_results(
    adapter: Any,
    corpus: dict[str, dict[str, str]],
    tiny_model: SpadeModel,
    tiny_index: Path,
    tmp_path: Path,
) -> None:
    from beir.retrieval.evaluation import EvaluateRetrieval
    from ir_measures import calc_aggregate, nDCG

    evaluation = EvaluateRetrieval(adapter.SpadeSearch(tmp_path, tiny_model), k_values=[1, 10])
    results = evaluation.retrieve(corpus, QUERIES)
    with ImpactSearcher(tiny_index) as searcher:
        wanted = {qid: dict(searcher.search(text, 10)) for qid, text in QUERIES.items()}
    assert results == wanted and len(results["q1"]) == 10
    ndcg, *_ = evaluation.evaluate(QRELS, results, [1, 10])
    (value,) = calc_aggregate([nDCG @ 10], QRELS, wanted).values()
    assert 0 < value < 1 and ndcg["NDCG@10"] == pytest.approx(value, abs=1e-5)


def test_a_finished_index_is_used_again(
    adapter: Any, corpus: dict[str, dict[str, str]], tiny_model: SpadeModel, tmp_path: Path
) -> None:
    search = adapter.SpadeSearch(tmp_path, tiny_model)
    search.encode(corpus, QUERIES)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("index/*")}
    assert search.search(corpus, QUERIES, 3)["q1"]
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.glob("index/*")}
    fewer = dict(list(corpus.items())[:9])
    with pytest.raises(ArtifactError, match="other documents"):
        search.search(fewer, QUERIES, 3)
    other = adapter.SpadeSearch(tmp_path, tiny_model, overwrite=True)
    assert set(other.search(fewer, QUERIES, 30)["q1"]) <= set(fewer)
    with pytest.raises(UsageError, match="call search instead"):
        search.search_from_files("queries.pkl", [], 3)

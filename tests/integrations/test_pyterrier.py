"""PyTerrier's pipelines and experiments with the encoder and the index of this package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas
import pytest

from spade_pyserini import ImpactSearcher, build_bm25_index, open_corpus, read_vectors
from spade_pyserini.errors import OutputExistsError, UsageError
from spade_pyserini.lucene import jvm
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.encoder import SpadeEncoder

pytestmark = [pytest.mark.java, pytest.mark.filterwarnings("ignore")]
TOPICS = pandas.DataFrame(
    {"qid": ["1", "2", "3"], "query": ["the old dog", "", "fish and bird and fish"]}
)
QRELS = pandas.DataFrame({"qid": ["1", "1", "3"], "docno": ["d3", "d7", "d11"], "label": [1, 2, 1]})


@pytest.fixture(scope="module")
def adapter() -> Iterator[Any]:
    jvm.start()
    pytest.importorskip("pyterrier", reason="needs pip install 'spade_pyserini[pyterrier]'")
    from spade_pyserini.integrations import pyterrier

    yield pyterrier


def test_documents_and_queries(
    adapter: Any, tiny_model_folder: Path, tiny_corpus: Path, tiny_vectors: Path
) -> None:
    corpus = list(open_corpus(str(tiny_corpus)))
    frame = pandas.DataFrame(
        {"docno": [d.docid for d in corpus], "text": [d.contents for d in corpus]}
    )
    encoded = adapter.SpadeEncoder(tiny_model_folder)(frame)
    wanted = {vector.docid: vector.impacts for vector in read_vectors(tiny_vectors)}
    assert dict(zip(encoded["docno"], encoded["toks"], strict=True)) == wanted
    queries = adapter.SpadeQueryEncoder(tiny_model_folder)(TOPICS)
    assert list(queries["query_toks"])[:2] == [{"the": 1.0, "old": 1.0, "dog": 1.0}, {}]


def test_a_pipeline_builds_the_same_index(
    adapter: Any, tiny_model_folder: Path, tiny_corpus: Path, tiny_index: Path, tmp_path: Path
) -> None:
    documents = [{"docno": d.docid, "text": d.contents} for d in open_corpus(str(tiny_corpus))]
    index = adapter.SpadeIndex(tmp_path / "new" / "index")
    pipeline = adapter.SpadeEncoder(tiny_model_folder) >> index.indexer(tiny_model_folder)
    pipeline.index(documents)
    results = index.retriever(5)(TOPICS)
    pandas.testing.assert_frame_equal(results, adapter.SpadeIndex(tiny_index).retriever(5)(TOPICS))
    assert [path.name for path in tmp_path.rglob("*tmp*")] == []
    assert index.searcher.manifest.corpus == "index"
    with pytest.raises(OutputExistsError):
        pipeline.index(documents[:9])
    encoder = adapter.SpadeEncoder(tiny_model_folder)
    (encoder >> index.indexer(tiny_model_folder, overwrite=True)).index(documents[:9])
    assert index.searcher.manifest.documents == 9
    with pytest.raises(
        UsageError, match="document 1 has no toks; give documents with docno and text"
    ):
        index.indexer(tiny_model_folder).index(documents)


def test_the_retriever(adapter: Any, tiny_index: Path) -> None:
    retriever = adapter.SpadeIndex(tiny_index).retriever(7, threads=2)
    results = retriever(TOPICS.assign(extra=["a", "b", "c"]))
    assert list(results.columns) == ["qid", "query", "extra", "docno", "score", "rank"]
    with ImpactSearcher(tiny_index) as searcher:
        rows = [
            (topic.qid, topic.query, hit.docid, hit.score, rank)
            for topic in TOPICS.itertuples()
            for rank, hit in enumerate(searcher.search(topic.query, 7))
        ]
    columns = ["qid", "query", "docno", "score", "rank"]
    assert list(results[columns].itertuples(index=False, name=None)) == rows
    nothing = retriever(TOPICS[1:2])
    assert list(nothing.columns) == columns and len(nothing) == 0
    assert len(retriever.search("cat")) == 7


def test_a_cutoff_becomes_part_of_the_search(adapter: Any, tiny_index: Path) -> None:
    retriever = adapter.SpadeIndex(tiny_index).retriever()
    compiled = (retriever % 3).compile()
    assert isinstance(compiled, adapter.SpadeRetriever) and compiled.num_results == 3
    assert compiled.fuse_rank_cutoff(9) is None
    assert compiled(TOPICS).equals((retriever % 3)(TOPICS).reset_index(drop=True))


def test_an_experiment_with_bm25(
    adapter: Any, tiny_index: Path, tiny_corpus: Path, tmp_path: Path
) -> None:
    import pyterrier as pt

    build_bm25_index(open_corpus(str(tiny_corpus)), tmp_path / "bm25")
    bm25 = adapter.SpadeIndex(tmp_path / "bm25").retriever()
    spade = adapter.SpadeIndex(tiny_index).retriever()
    table = pt.Experiment(
        [bm25, spade, bm25 % 5 + spade], TOPICS, QRELS, ["ndcg_cut_10"], ["BM25", "SpaDE", "both"]
    )
    assert list(table["name"]) == ["BM25", "SpaDE", "both"]
    run = {
        qid: {row.docno: row.score for row in rows.itertuples()}
        for qid, rows in spade(TOPICS).groupby("qid")
    }
    from ir_measures import calc_aggregate, nDCG

    qrels: dict[str, dict[str, int]] = {}
    for row in QRELS.itertuples():
        qrels.setdefault(row.qid, {})[row.docno] = row.label
    (value,) = calc_aggregate([nDCG @ 10], qrels, run).values()
    assert table["ndcg_cut_10"][1] == pytest.approx(value)


def test_models_that_do_not_fit(
    adapter: Any, tiny_model: SpadeModel, systems: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="the model has no scale"):
        adapter.SpadeEncoder(SpadeEncoder(tiny_model).with_settings(scale=None))
    with pytest.raises(UsageError, match="need a neural model"):
        adapter.SpadeIndex(tmp_path / "index").indexer(systems["splade-max"])

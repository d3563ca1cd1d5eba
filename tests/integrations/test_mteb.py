"""MTEB evaluates `SpadeSearch` on a small task that the test defines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spade_pyserini import ImpactSearcher, open_corpus
from spade_pyserini.errors import UsageError
from spade_pyserini.models import SpadeModel

pytestmark = [pytest.mark.java, pytest.mark.filterwarnings("ignore")]
QUERIES = {"q1": "the old dog", "q2": "", "q3": "fish and bird"}
QRELS = {"q1": {"d3": 1, "d7": 2}, "q3": {"d11": 1, "d4": 1}}
CALL: dict[str, Any] = {
    "hf_split": "test",
    "hf_subset": "default",
    "encode_kwargs": {},
    "num_proc": None,
}


@pytest.fixture(scope="module")
def adapter() -> Any:
    pytest.importorskip("mteb", reason="needs pip install 'spade_pyserini[mteb]'")
    from spade_pyserini.integrations import mteb

    return mteb


@pytest.fixture(scope="module")
def task(adapter: Any, tiny_corpus: Path) -> Any:
    """A retrieval task on the tiny corpus; MTEB would download the data of its own tasks."""
    import mteb
    from datasets import Dataset
    from mteb.abstasks import AbsTaskRetrieval

    class TinyRetrieval(AbsTaskRetrieval):  # type: ignore[misc]
        metadata = mteb.TaskMetadata(
            name="TinyRetrieval",
            description="A corpus of short sentences.",
            reference=None,
            dataset={"path": "tiny", "revision": "1"},
            type="Retrieval",
            category="t2t",
            eval_splits=["test"],
            eval_langs=["eng-Latn"],
            main_score="ndcg_at_10",
            modalities=["text"],
        )

        def load_data(self, *_: Any, **__: Any) -> None:
            documents = [
                {"id": d.docid, "title": d.title, "text": d.text}
                for d in open_corpus(str(tiny_corpus))
            ]
            queries = [{"id": qid, "text": text} for qid, text in QUERIES.items()]
            split = {
                "corpus": Dataset.from_list(documents),
                "queries": Dataset.from_list(queries),
                "relevant_docs": QRELS,
                "top_ranked": None,
            }
            self.dataset = {"default": {"test": split}}
            self.data_loaded = True

    return TinyRetrieval()


def test_mteb_evaluates_our_results(
    adapter: Any, task: Any, tiny_model: SpadeModel, tiny_index: Path, tmp_path: Path
) -> None:
    import mteb
    from ir_measures import calc_aggregate, nDCG
    from mteb.models import SearchProtocol

    model = adapter.SpadeSearch(tmp_path / "indexes", tiny_model, name="tests/tiny")
    assert isinstance(model, SearchProtocol)
    results = mteb.evaluate(
        model, task, cache=None, prediction_folder=tmp_path / "runs", show_progress_bar=False
    )
    assert results.model_name == "tests/tiny" and len(results.model_revision) == 12
    (scores,) = results.task_results[0].scores["test"]
    with ImpactSearcher(tiny_index) as searcher:
        run = {
            qid: {hit.docid: float(hit.score) for hit in searcher.search(text, 1000)}
            for qid, text in QUERIES.items()
        }
    (value,) = calc_aggregate([nDCG @ 10], QRELS, run).values()
    assert 0 < value < 1
    assert scores["ndcg_at_10"] == pytest.approx(value, abs=1e-5)
    assert (tmp_path / "indexes" / "TinyRetrieval" / "default" / "test" / "index").is_dir()


def test_hits_are_those_of_our_search(
    adapter: Any, task: Any, tiny_model: SpadeModel, tiny_index: Path, tmp_path: Path
) -> None:
    task.load_data()
    split = task.dataset["default"]["test"]
    call = {**CALL, "task_metadata": task.metadata}
    model = adapter.SpadeSearch(tmp_path, tiny_model)
    with pytest.raises(UsageError, match="call index first"):
        model.search(split["queries"], top_k=4, **call)
    model.index(split["corpus"], **call)
    found = model.search(split["queries"], top_k=4, **call)
    with ImpactSearcher(tiny_index) as searcher:
        assert found == {qid: dict(searcher.search(text, 4)) for qid, text in QUERIES.items()}
        every = dict(searcher.search("the old dog", 100))
    candidates = {"q1": ["d1", "d2", "d3"], "q3": ["d4"]}
    ranked = model.search(split["queries"], top_k=2, top_ranked=candidates, **call)
    assert list(ranked) == list(QUERIES) and ranked["q2"] == {}
    best = sorted(candidates["q1"], key=lambda docid: -every.get(docid, 0))[:2]
    assert ranked["q1"] == {docid: every.get(docid, 0) for docid in best}


def test_instructions_and_conversations(
    adapter: Any, task: Any, tiny_model: SpadeModel, tiny_index: Path, tmp_path: Path
) -> None:
    task.load_data()
    call = {**CALL, "task_metadata": task.metadata}
    model = adapter.SpadeSearch(tmp_path, tiny_model)
    model.index(task.dataset["default"]["test"]["corpus"], **call)
    rows = [{"id": "1", "text": "the old", "instruction": "dog"}]
    found = model.search(rows, top_k=4, **call)
    with ImpactSearcher(tiny_index) as searcher:
        assert found == {"1": dict(searcher.search("the old dog", 4))}
    with pytest.raises(UsageError, match="text of '1' is of type list; SpaDE encodes texts only"):
        model.search([{"id": "1", "text": ["a", "b"]}], top_k=4, **call)


def test_names_in_results(
    adapter: Any, tiny_model: SpadeModel, tiny_model_folder: Path, tmp_path: Path
) -> None:
    name = adapter.SpadeSearch(tmp_path, tiny_model_folder).mteb_model_meta.name
    assert name == "spade_pyserini/tiny"
    assert adapter.SpadeSearch(tmp_path, tiny_model).name == "spade_pyserini/unnamed"

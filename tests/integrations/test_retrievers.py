"""The retrievers for LlamaIndex and Haystack, which search our indexes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from spade_pyserini import ImpactSearcher, build_bm25_index, open_corpus
from spade_pyserini.errors import ArtifactError, NotFoundError, UsageError
from spade_pyserini.integrations.retrieval import TextRetriever
from tests.conftest import write_corpus

pytestmark = [pytest.mark.java, pytest.mark.filterwarnings("ignore")]
QUERY = "the old dog"


@pytest.fixture(scope="module")
def llama_index() -> Any:
    reason = "needs pip install 'spade_pyserini[llama-index]'"
    pytest.importorskip("llama_index.core.retrievers", reason=reason)
    from spade_pyserini.integrations import llama_index

    return llama_index


@pytest.fixture(scope="module")
def haystack() -> Any:
    reason = "needs pip install 'spade_pyserini[haystack]'"
    # Haystack must not send telemetry.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
        pytest.importorskip("haystack.document_stores", reason=reason)
    from spade_pyserini.integrations import haystack

    return haystack


@pytest.fixture(scope="module")
def expected(tiny_index: Path, tiny_corpus: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """The ids, texts and metadata of the four best documents, from the searcher itself."""
    texts = {document.docid: document for document in open_corpus(str(tiny_corpus))}
    with ImpactSearcher(tiny_index) as searcher:
        rows = [
            (
                hit.docid,
                texts[hit.docid].text,
                {
                    "docid": hit.docid,
                    "title": texts[hit.docid].title,
                    "score": float(hit.score),
                    "matched_terms": searcher.matched_terms(QUERY, hit.docid),
                },
            )
            for hit in searcher.search(QUERY, 4)
        ]
    assert len(rows) == 4 and all(metadata["matched_terms"] for _, _, metadata in rows)
    return rows


def test_llama_index_nodes(llama_index: Any, tiny_index: Path, expected: Any) -> None:
    retriever = llama_index.SpadeRetriever(tiny_index, k=4)
    nodes = retriever.retrieve(QUERY)
    assert [(node.node_id, node.text, node.metadata) for node in nodes] == expected
    assert [node.score for node in nodes] == [row["score"] for _, _, row in expected]
    shown = nodes[0].node.get_content("llm")
    assert "title" in shown and "matched_terms" not in shown
    again = asyncio.run(retriever.aretrieve(QUERY))
    assert [node.node_id for node in again] == [docid for docid, _, _ in expected]
    assert retriever.retrieve("") == []


def test_llama_index_postprocessors_use_the_scores(
    llama_index: Any, tiny_index: Path, expected: Any
) -> None:
    from llama_index.core.postprocessor import SimilarityPostprocessor

    cutoff = expected[1][2]["score"]
    nodes = llama_index.SpadeRetriever(tiny_index, k=4).retrieve(QUERY)
    kept = SimilarityPostprocessor(similarity_cutoff=cutoff).postprocess_nodes(nodes)
    wanted = [docid for docid, _, row in expected if row["score"] >= cutoff]
    assert [node.node_id for node in kept] == wanted and 0 < len(wanted) < 4


def test_haystack_documents(haystack: Any, tiny_index: Path, expected: Any) -> None:
    retriever = haystack.SpadeRetriever(str(tiny_index), top_k=4)
    documents = retriever.run(query=QUERY)["documents"]
    assert [(d.id, d.content, d.meta) for d in documents] == expected
    assert [d.score for d in documents] == [row["score"] for _, _, row in expected]
    assert len(retriever.run(query=QUERY, top_k=2)["documents"]) == 2
    assert retriever.run(query="")["documents"] == []


def test_a_haystack_pipeline_is_saved_and_loaded(
    haystack: Any, tiny_index: Path, expected: Any
) -> None:
    from haystack import Pipeline
    from haystack.components.joiners import DocumentJoiner

    pipeline = Pipeline()
    pipeline.add_component("spade", haystack.SpadeRetriever(str(tiny_index), top_k=4))
    pipeline.add_component("joiner", DocumentJoiner())
    pipeline.connect("spade.documents", "joiner.documents")
    loaded = _reloaded(Pipeline, pipeline.dumps())
    answer = loaded.run({"spade": {"query": QUERY}})
    assert [d.id for d in answer["joiner"]["documents"]] == [docid for docid, _, _ in expected]


def _reloaded(kind: Any, saved: str) -> Any:
    # Haystack loads classes of other packages only if the caller names their module.
    return kind.loads(saved, allowed_modules=["spade_pyserini.integrations.haystack"])


@pytest.mark.parametrize("library", ["llama_index", "haystack"])
def test_wrong_calls(
    library: str, tiny_index: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    adapter = request.getfixturevalue(library)
    with pytest.raises(UsageError, match="number of hits"):
        adapter.SpadeRetriever(str(tiny_index), 0)
    with pytest.raises(ArtifactError, match="nothing: no such index"):
        retriever = adapter.SpadeRetriever(str(tmp_path / "nothing"))
        retriever.run(query=QUERY)


def test_texts_come_from_the_corpus(tiny_index: Path, tiny_corpus: Path, tmp_path: Path) -> None:
    build_bm25_index(open_corpus(str(tiny_corpus)), tmp_path / "bm25")
    assert len(TextRetriever(tmp_path / "bm25").retrieve("old dog", 2)) == 2
    small = write_corpus(tmp_path / "small", 1)
    with pytest.raises(NotFoundError, match=r"no document 'd.*give corpus=NAME"):
        TextRetriever(tiny_index, str(small)).retrieve(QUERY, 4)

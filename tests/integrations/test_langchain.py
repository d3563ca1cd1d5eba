"""The LangChain retriever, which searches indexes of this package."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from spade_pyserini import ImpactSearcher, build_bm25_index, open_corpus
from spade_pyserini.errors import NotFoundError, UsageError
from tests.conftest import write_corpus

pytestmark = [pytest.mark.java, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def adapter() -> Any:
    reason = "needs pip install 'spade_pyserini[langchain]'"
    pytest.importorskip("langchain_core.retrievers", reason=reason)
    from spade_pyserini.integrations import langchain

    return langchain


def test_documents_have_texts_scores_and_terms(
    adapter: Any, tiny_index: Path, tiny_corpus: Path
) -> None:
    retriever = adapter.SpadeRetriever(index=str(tiny_index), k=4)
    answers = retriever.invoke("the old dog")
    texts = {document.docid: document for document in open_corpus(str(tiny_corpus))}
    with ImpactSearcher(tiny_index) as searcher:
        hits = searcher.search("the old dog", 4)
        assert [(a.id, a.metadata["score"]) for a in answers] == hits
        for answer in answers:
            document = texts[answer.id]
            assert (answer.page_content, answer.metadata["title"]) == (
                document.text,
                document.title,
            )
            terms = searcher.matched_terms("the old dog", answer.id)
            assert answer.metadata["matched_terms"] == terms
    assert retriever.invoke("") == []
    chain = retriever | (lambda found: [answer.id for answer in found])
    assert chain.batch(["the old dog"]) == [[hit.docid for hit in hits]]


def test_a_bm25_index(adapter: Any, tiny_corpus: Path, tmp_path: Path) -> None:
    build_bm25_index(open_corpus(str(tiny_corpus)), tmp_path / "bm25")
    retriever = adapter.SpadeRetriever(index=str(tmp_path / "bm25"), k=2)
    assert len(retriever.invoke("old dog")) == 2


def test_texts_that_are_not_there(
    adapter: Any, tiny_index: Path, tiny_corpus: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="number of hits"):
        adapter.SpadeRetriever(index=str(tiny_index), k=0)
    small = write_corpus(tmp_path / "small", 1)
    retriever = adapter.SpadeRetriever(index=str(tiny_index), corpus=str(small))
    with pytest.raises(NotFoundError, match=r"no document 'd.*give corpus=NAME"):
        retriever.invoke("the old dog")
    corpus = Path(shutil.copytree(tiny_corpus, tmp_path / "moved"))
    build_bm25_index(open_corpus(str(corpus)), tmp_path / "bm25")
    shutil.rmtree(corpus)
    with pytest.raises(NotFoundError, match=r"no longer there; give corpus=NAME"):
        adapter.SpadeRetriever(index=str(tmp_path / "bm25"))

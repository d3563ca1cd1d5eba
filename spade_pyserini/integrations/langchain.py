"""A LangChain retriever that searches an index of this package.

    from spade_pyserini.integrations.langchain import SpadeRetriever

    retriever = SpadeRetriever(index="index/pydoc.spade-mini", k=5)
    retriever.invoke("delete a folder and everything in it")

LangChain is an optional dependency: ``pip install 'spade_pyserini[langchain]'``.
"""

from __future__ import annotations

from typing import Any

from spade_pyserini.errors import NotFoundError
from spade_pyserini.integrations.retrieval import TextRetriever
from spade_pyserini.search.base import check_hits

try:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ModuleNotFoundError:
    message = "LangChain is not installed: pip install 'spade_pyserini[langchain]'"
    raise NotFoundError(message) from None


class SpadeRetriever(BaseRetriever):  # type: ignore[misc]
    """Retrieves documents with their texts from an impact index or a BM25 index.

    The metadata of a document are ``docid``, ``title``, ``score`` and ``matched_terms``: the query
    terms in the document, with their contributions to the score.

    index: the folder of the index.
    k: the number of documents to retrieve.
    corpus: the corpus with the texts. The default is the corpus that the index was built from.
    """

    index: str
    k: int = 10
    corpus: str | None = None

    _retriever: Any = None

    def model_post_init(self, context: Any, /) -> None:
        """Open the index and the corpus."""
        super().model_post_init(context)
        check_hits(self.k)
        self._retriever = TextRetriever(self.index, self.corpus)

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return [
            Document(page_content=hit.text, metadata=hit.metadata, id=hit.docid)
            for hit in self._retriever.retrieve(query, self.k)
        ]

"""A Haystack component that searches an index of this package.

    from spade_pyserini.integrations.haystack import SpadeRetriever

    retriever = SpadeRetriever("index/pydoc.spade-mini", top_k=5)
    retriever.run(query="delete a folder and everything in it")["documents"]

Haystack is an optional dependency: ``pip install 'spade_pyserini[haystack]'``.
"""

from __future__ import annotations

from typing import Any

from spade_pyserini.errors import NotFoundError
from spade_pyserini.integrations.retrieval import TextRetriever
from spade_pyserini.search.base import check_hits

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ModuleNotFoundError:
    message = "Haystack is not installed: pip install 'spade_pyserini[haystack]'"
    raise NotFoundError(message) from None


@component
class SpadeRetriever:
    """Retrieves documents with their texts and scores from an impact index or a BM25 index.

    The ``meta`` of a document has ``docid``, ``title``, ``score`` and ``matched_terms``: the query
    terms in the document, with their contributions to the score. The index is opened by `warm_up`,
    which a pipeline calls, or by the first query.

    index: the folder of the index.
    top_k: the number of documents to retrieve.
    corpus: the corpus with the texts. The default is the corpus that the index was built from.
    """

    def __init__(self, index: str, top_k: int = 10, corpus: str | None = None) -> None:
        self.index, self.top_k, self.corpus = str(index), check_hits(top_k), corpus
        self._retriever: TextRetriever | None = None

    def warm_up(self) -> None:
        """Open the index and the corpus."""
        self._opened()

    def to_dict(self) -> dict[str, Any]:
        """Return the settings, to save a pipeline."""
        settings = {"index": self.index, "top_k": self.top_k, "corpus": self.corpus}
        return default_to_dict(self, **settings)  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SpadeRetriever:
        """Return the retriever of a saved pipeline."""
        return default_from_dict(cls, data)  # type: ignore[no-any-return]

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """Return the ``top_k`` best documents; by default, the number given to the constructor."""
        hits = self._opened().retrieve(query, self.top_k if top_k is None else top_k)
        return {
            "documents": [
                Document(id=hit.docid, content=hit.text, meta=hit.metadata, score=hit.score)
                for hit in hits
            ]
        }

    def _opened(self) -> TextRetriever:
        if self._retriever is None:
            self._retriever = TextRetriever(self.index, self.corpus)
        return self._retriever

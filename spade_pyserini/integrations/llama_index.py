"""A LlamaIndex retriever that searches an index of this package.

    from spade_pyserini.integrations.llama_index import SpadeRetriever

    retriever = SpadeRetriever("index/pydoc.spade-mini", k=5)
    retriever.retrieve("delete a folder and everything in it")

LlamaIndex is an optional dependency: ``pip install 'spade_pyserini[llama-index]'``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spade_pyserini.errors import NotFoundError
from spade_pyserini.integrations.retrieval import TextRetriever
from spade_pyserini.search.base import check_hits

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ModuleNotFoundError:
    message = "LlamaIndex is not installed: pip install 'spade_pyserini[llama-index]'"
    raise NotFoundError(message) from None


class SpadeRetriever(BaseRetriever):  # type: ignore[misc]
    """Retrieves nodes with their texts and scores from an impact index or a BM25 index.

    The metadata of a node are ``docid``, ``title``, ``score`` and ``matched_terms``: the query
    terms in the document, with their contributions to the score. Language models and
    embedding models see only the title, not the other metadata.

    index: the folder of the index.
    k: the number of nodes to retrieve.
    corpus: the corpus with the texts. The default is the corpus that the index was built from.
    """

    def __init__(
        self, index: str | Path, k: int = 10, corpus: str | None = None, **settings: Any
    ) -> None:
        super().__init__(**settings)
        self.k = check_hits(k)
        self._retriever = TextRetriever(index, corpus)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hidden = ["docid", "score", "matched_terms"]
        return [
            NodeWithScore(
                node=TextNode(
                    id_=hit.docid,
                    text=hit.text,
                    metadata=hit.metadata,
                    excluded_llm_metadata_keys=hidden,
                    excluded_embed_metadata_keys=hidden,
                ),
                score=hit.score,
            )
            for hit in self._retriever.retrieve(query_bundle.query_str, self.k)
        ]

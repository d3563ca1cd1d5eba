"""A retriever of LangChain over an index of this package.

    from spade_pyserini.integrations.langchain import SpadeRetriever

    retriever = SpadeRetriever(index="index/pydoc.spade-mini", k=5)
    retriever.invoke("delete a folder and everything in it")

LangChain is an optional dependency: ``pip install 'spade_pyserini[langchain]'``.
"""

from __future__ import annotations

from typing import Any

from spade_pyserini.corpora import open_corpus
from spade_pyserini.errors import NotFoundError
from spade_pyserini.search.answers import matched_terms
from spade_pyserini.search.base import check_hits
from spade_pyserini.search.open import open_searcher
from spade_pyserini.search.texts import Texts, divided_like, open_texts

try:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ModuleNotFoundError:
    message = "LangChain is not installed: pip install 'spade_pyserini[langchain]'"
    raise NotFoundError(message) from None


class SpadeRetriever(BaseRetriever):  # type: ignore[misc]
    """Retrieves documents with their texts; the index may be an impact or a BM25 index.

    Their metadata are ``docid``, ``title``, ``score`` and ``matched_terms``, the terms that make up
    the score.

    index: the folder of the index.
    k: the number of documents.
    corpus: the corpus with the texts. By default it is the one that the index was made from.
    """

    index: str
    k: int = 10
    corpus: str | None = None

    def model_post_init(self, context: Any, /) -> None:
        """Open the index and the corpus."""
        super().model_post_init(context)
        check_hits(self.k)
        self._searcher = open_searcher(self.index)
        manifest = self._searcher.manifest
        if self.corpus is not None:
            self._texts = Texts([divided_like(manifest, open_corpus(self.corpus))], keep=True)
            return
        try:
            self._texts = open_texts(manifest, keep=True)
        except NotFoundError as error:
            raise NotFoundError(f"{error}; give corpus=NAME") from None

    _searcher: Any = None
    _texts: Any = None

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        hits = self._searcher.search(query, self.k)
        documents = self._texts.find([hit.docid for hit in hits])
        return [self._document(query, hit.docid, hit.score, documents) for hit in hits]

    def _document(self, query: str, docid: str, score: float, texts: dict[str, Any]) -> Document:
        if docid not in texts:
            message = f"the corpus has no document {docid!r}, which {self.index} has"
            raise NotFoundError(f"{message}; give corpus=NAME of the corpus that was indexed")
        metadata = {
            "docid": docid,
            "title": texts[docid].title,
            "score": float(score),
            "matched_terms": dict(matched_terms(self._searcher, query, docid)),
        }
        return Document(page_content=texts[docid].text, metadata=metadata, id=docid)

"""Search an index; return hits with texts and matched terms, for retrievers of other libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from spade_pyserini.corpora import open_corpus
from spade_pyserini.errors import NotFoundError
from spade_pyserini.records import Document
from spade_pyserini.search.answers import matched_terms
from spade_pyserini.search.base import check_hits
from spade_pyserini.search.open import open_searcher
from spade_pyserini.search.texts import Texts, divided_like, open_texts


class RetrievedText(NamedTuple):
    """A document with its score.

    matched: the contributions of query terms to the score.
    """

    docid: str
    title: str
    text: str
    score: float
    matched: dict[str, float]

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of the document that a retriever returns."""
        return {
            "docid": self.docid,
            "title": self.title,
            "score": self.score,
            "matched_terms": self.matched,
        }


class TextRetriever:
    """Searches an impact index or a BM25 index, and reads the texts of the hits.

    index: the folder of the index, which stays open as long as this object exists.
    corpus: the corpus with the texts, which are kept in memory. The default is the corpus that the
        index was built from.
    """

    def __init__(self, index: str | Path, corpus: str | None = None) -> None:
        self.index = index
        self._searcher = open_searcher(index)
        self._texts = self._open_texts(corpus)

    def _open_texts(self, corpus: str | None) -> Texts:
        manifest = self._searcher.manifest
        if corpus is not None:
            return Texts([divided_like(manifest, open_corpus(corpus))], keep=True)
        try:
            return open_texts(manifest, keep=True)
        except NotFoundError as error:
            raise NotFoundError(f"{error}; give corpus=NAME") from None

    def retrieve(self, query: str, k: int) -> list[RetrievedText]:
        """Return the ``k`` best documents."""
        hits = self._searcher.search(query, check_hits(k))
        texts = self._texts.find([hit.docid for hit in hits])
        return [self._describe(query, hit.docid, float(hit.score), texts) for hit in hits]

    def _describe(
        self, query: str, docid: str, score: float, texts: dict[str, Document]
    ) -> RetrievedText:
        if docid not in texts:
            message = f"the corpus has no document {docid!r}, which {self.index} has"
            raise NotFoundError(f"{message}; give corpus=NAME of the corpus that was indexed")
        matched = dict(matched_terms(self._searcher, query, docid))
        return RetrievedText(docid, texts[docid].title, texts[docid].text, score, matched)

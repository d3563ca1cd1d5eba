"""Teachers: stronger models that score every query with every document of a batch."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from spade_pyserini.models.term_counts import TermCounts
from spade_pyserini.models.wordpieces import WordPieces

if TYPE_CHECKING:
    from spade_pyserini.models.bi_encoder import BiEncoder, Embed

K1, B = 0.9, 0.4  # BM25's parameters, as in Anserini


class DenseTeacher:
    """Scores by the cosine of a bi-encoder. Each text is embedded once, then cached."""

    def __init__(self, model: BiEncoder) -> None:
        self._model = model
        self._queries: dict[str, Tensor] = {}
        self._documents: dict[str, Tensor] = {}

    def scores(self, queries: list[str], documents: list[str]) -> Tensor:
        """Return the cosines, [queries, documents]."""
        left = _embed(self._model.embed_queries, queries, self._queries)
        right = _embed(self._model.embed_documents, documents, self._documents)
        return left @ right.T


def _embed(embed: Embed, texts: list[str], known: dict[str, Tensor]) -> Tensor:
    """Look up the embeddings of texts, [texts, m], and compute those that are not ``known``."""
    if new := [text for text in dict.fromkeys(texts) if text not in known]:
        known |= dict(zip(new, torch.from_numpy(embed(new)), strict=True))
    return torch.stack([known[text] for text in texts])


class BM25Teacher:
    """BM25 on WordPieces: a lexical teacher, robust out of domain.

    On collections that the dense teacher was not trained for, the sum of both scores ranks better
    than either.
    """

    def __init__(self, wordpieces: WordPieces, counts: TermCounts, max_length: int) -> None:
        self._wordpieces, self._max_length = wordpieces, max_length
        self._mean_length = counts.mean_length or 1.0
        # The vocabulary may be padded: the last rows of the counts belong to no term.
        self._idf = dict(zip(wordpieces.terms, counts.idf.tolist(), strict=False))

    def scores(self, queries: list[str], documents: list[str]) -> Tensor:
        """Return the BM25 scores, [queries, documents]."""
        queried = [self._wordpieces.query_terms(text) for text in queries]
        batch = self._wordpieces.document_ids(documents, self._max_length)
        weights = [self._weights(ids) for ids in batch]
        return torch.tensor(
            [
                [sum(document.get(term, 0.0) for term in terms) for document in weights]
                for terms in queried
            ]
        )

    def _weights(self, ids: list[int]) -> dict[str, float]:
        """Return BM25's weight of each term in a document, which is given as WordPiece ids."""
        terms = [self._wordpieces.terms[term_id] for term_id in ids[1:-1]]  # no [CLS] and [SEP]
        norm = K1 * (1 - B + B * len(terms) / self._mean_length)
        return {
            term: self._idf[term] * (K1 + 1) * count / (count + norm)
            for term, count in Counter(terms).items()
        }

"""Teachers: stronger models that score every query with every document of a batch."""

from __future__ import annotations

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
    """Return the embeddings of texts, [texts, m]. ``known`` is extended if a text is new."""
    if new := [text for text in dict.fromkeys(texts) if text not in known]:
        known |= dict(zip(new, torch.from_numpy(embed(new)), strict=True))
    return torch.stack([known[text] for text in texts])


class BM25Teacher:
    """BM25 on WordPieces: a lexical teacher, robust out of domain.

    On collections that the dense teacher was not trained for, the sum of BM25's score and the dense
    teacher's score ranks better than either score alone.
    """

    def __init__(self, wordpieces: WordPieces, counts: TermCounts, max_length: int) -> None:
        self._wordpieces, self._max_length = wordpieces, max_length
        self._mean_length = counts.mean_length or 1.0
        self._idf = counts.idf

    def scores(self, queries: list[str], documents: list[str]) -> Tensor:
        """Return the BM25 scores, [queries, documents]."""
        vectors = self.vectors(documents)
        terms = [self._wordpieces.query_ids(text) for text in queries]
        return torch.stack([vectors[:, ids].sum(dim=1) for ids in terms])

    def vectors(self, documents: list[str]) -> Tensor:
        """Return BM25's weight of every term in each document, [documents, |V|]."""
        vectors = torch.zeros(len(documents), len(self._idf))
        batch = self._wordpieces.document_ids(documents, self._max_length)
        for row, ids in enumerate(batch):
            terms = torch.tensor(ids[1:-1], dtype=torch.long)  # without [CLS] and [SEP]
            norm = K1 * (1 - B + B * len(terms) / self._mean_length)
            terms, counts = torch.unique(terms, return_counts=True)
            vectors[row, terms] = self._idf[terms] * (K1 + 1) * counts / (counts + norm)
        return vectors

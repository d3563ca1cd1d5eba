"""Teachers: what stronger models think of every pair of a batch."""

from __future__ import annotations

from collections import Counter

import torch
from torch import Tensor

from spade_pyserini.models.bi_encoder import load_bi_encoder
from spade_pyserini.models.term_counts import TermCounts
from spade_pyserini.models.wordpieces import WordPieces

K1, B = 0.9, 0.4  # BM25's, as in Anserini


class DenseTeacher:
    """Cosines of sentence embeddings. Each text is embedded once, then remembered.

    The teacher reads ``max_length`` WordPieces, as its pupil does.
    """

    def __init__(self, name: str, device: torch.device, max_length: int) -> None:
        self._model = load_bi_encoder(name, str(device))
        self._model.max_seq_length = min(max_length, self._model.max_seq_length or max_length)
        self._known: dict[str, Tensor] = {}

    def scores(self, queries: list[str], documents: list[str]) -> Tensor:
        """[queries, documents], from -1 to 1."""
        return self._embed(queries) @ self._embed(documents).T

    def _embed(self, texts: list[str]) -> Tensor:
        if unknown := [text for text in dict.fromkeys(texts) if text not in self._known]:
            vectors = self._model.encode(
                unknown, normalize_embeddings=True, convert_to_tensor=True, show_progress_bar=False
            )
            self._known |= dict(zip(unknown, vectors.clone(), strict=True))
        return torch.stack([self._known[text] for text in texts])


class BM25Teacher:
    """BM25 on WordPieces: knows nothing of meaning, and is good where nobody was trained.

    Added to a dense teacher's scores, the two rank better than either on collections that the
    dense one does not know.
    """

    def __init__(self, wordpieces: WordPieces, counts: TermCounts, max_length: int) -> None:
        self._wordpieces, self._max_length = wordpieces, max_length
        self._mean_length = counts.mean_length or 1.0
        weights = zip(wordpieces.terms, counts.idf.tolist(), strict=False)  # padded rows have none
        self._idf = dict(weights)

    def scores(self, queries: list[str], documents: list[str]) -> Tensor:
        """[queries, documents]."""
        asked = [self._wordpieces.query_terms(text) for text in queries]
        found = self._wordpieces.document_ids(documents, self._max_length)
        weights = [self._weights(ids) for ids in found]
        return torch.tensor(
            [[sum(known.get(term, 0.0) for term in terms) for known in weights] for terms in asked]
        )

    def _weights(self, ids: list[int]) -> dict[str, float]:
        terms = [self._wordpieces.terms[one] for one in ids]
        terms = terms[1:-1]  # [CLS] and [SEP]
        long = K1 * (1 - B + B * len(terms) / self._mean_length)
        return {
            term: self._idf[term] * (K1 + 1) * count / (count + long)
            for term, count in Counter(terms).items()
        }

"""What is counted before anything is learned: how many documents have each term."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from spade_pyserini.wordpiece import WordPieces

BATCH = 1000  # documents that are tokenized at one time


class TermCounts(NamedTuple):
    """``df`` [|V|]: how many documents have each term; their number and mean length."""

    df: Tensor
    documents: int
    mean_length: float

    @property
    def idf(self) -> Tensor:
        """ln(1 + (N - df + 0.5) / (df + 0.5)), BM25's, [|V|]."""
        return torch.log1p((self.documents - self.df + 0.5) / (self.df + 0.5))


def count_terms(
    wordpieces: WordPieces, documents: list[str], size: int, max_length: int
) -> TermCounts:
    """Count each of ``size`` terms in documents cut to ``max_length`` WordPieces."""
    df = torch.zeros(size)
    length = 0
    for start in range(0, len(documents), BATCH):
        for ids in wordpieces.document_ids(documents[start : start + BATCH], max_length):
            terms = [one for one in ids if one not in wordpieces.special_ids]
            df[list(set(terms))] += 1
            length += len(terms)
    return TermCounts(df, len(documents), length / max(1, len(documents)))


def most_frequent(df: Tensor, count: int) -> Tensor:
    """True for the ``count`` terms that most documents have, [|V|]; for all if fewer occur."""
    chosen = torch.zeros(len(df), dtype=torch.bool)
    chosen[df.sort(descending=True, stable=True).indices[:count]] = True
    return chosen & (df > 0)


def counted_idf(wordpieces: WordPieces, counts: TermCounts, queries: Iterable[str]) -> Tensor:
    """The idf of each term, [|V|], scaled to 1 on average in queries."""
    places = {term: place for place, term in enumerate(wordpieces.terms)}
    asked = [places[term] for text in queries for term in wordpieces.query_terms(text)]
    return counts.idf / counts.idf[asked].mean() if asked else counts.idf

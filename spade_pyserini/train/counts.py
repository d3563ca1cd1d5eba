"""What is counted before anything is learned: how many documents have each term."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from spade_pyserini.wordpiece import WordPieces

BATCH = 1000  # documents that are tokenized at one time


def document_frequency(
    wordpieces: WordPieces, documents: list[str], size: int, max_length: int
) -> Tensor:
    """How many of the documents, cut to ``max_length``, have each of ``size`` terms."""
    df = torch.zeros(size)
    for start in range(0, len(documents), BATCH):
        for ids in wordpieces.document_ids(documents[start : start + BATCH], max_length):
            df[list(set(ids) - wordpieces.special_ids)] += 1
    return df


def most_frequent(df: Tensor, count: int) -> Tensor:
    """True for the ``count`` terms that most documents have, [|V|]; for all if fewer occur."""
    chosen = torch.zeros(len(df), dtype=torch.bool)
    chosen[df.sort(descending=True, stable=True).indices[:count]] = True
    return chosen & (df > 0)


def counted_idf(wordpieces: WordPieces, df: Tensor, number: int, queries: Iterable[str]) -> Tensor:
    """ln(1 + (N - df + 0.5) / (df + 0.5)), BM25's, [|V|], scaled to 1 on average in queries."""
    places = {term: place for place, term in enumerate(wordpieces.terms)}
    idf = torch.log1p((number - df + 0.5) / (df + 0.5))
    asked = [places[term] for text in queries for term in wordpieces.query_terms(text)]
    return idf / idf[asked].mean() if asked else idf

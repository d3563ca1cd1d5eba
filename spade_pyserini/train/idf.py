"""Counted weights of query terms: what a term of a query is worth before anything is learned."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from spade_pyserini.wordpiece import WordPieces


def counted_idf(
    wordpieces: WordPieces, documents: Iterable[str], queries: Iterable[str], size: int
) -> Tensor:
    """ln(1 + (N - df + 0.5) / (df + 0.5)), BM25's, over ``size`` terms, 1 on average in queries."""
    places = {term: place for place, term in enumerate(wordpieces.terms)}
    df = torch.zeros(size)
    number = 0
    for text in documents:
        df[[places[term] for term in wordpieces.query_terms(text)]] += 1
        number += 1
    idf = torch.log1p((number - df + 0.5) / (df + 0.5))
    asked = [places[term] for text in queries for term in wordpieces.query_terms(text)]
    return idf / idf[asked].mean() if asked else idf

"""How many documents have each term, and what that makes a term worth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from spade_pyserini.models.wordpieces import WordPieces

BATCH = 1000  # documents that are tokenized at one time
PRIOR = 500  # documents that what is known from training counts as, beside a corpus
TYPICAL_IDF = 5.0  # of a term that people ask for: it is in one of 150 documents
LEAST_IDF = 0.05  # a term that all documents have still counts


class TermCounts(NamedTuple):
    """``df`` [|V|]: how many documents have each term; their number and the sum of lengths."""

    df: Tensor
    documents: int
    length: int

    @property
    def idf(self) -> Tensor:
        """ln(1 + (N - df + 0.5) / (df + 0.5)), BM25's, [|V|]."""
        return torch.log1p((self.documents - self.df + 0.5) / (self.df + 0.5))

    @property
    def mean_length(self) -> float:
        return self.length / max(1, self.documents)


def merge_counts(parts: list[TermCounts]) -> TermCounts:
    """Of several collections together."""
    df, documents, length = zip(*parts, strict=True)
    return TermCounts(torch.stack(df).sum(dim=0), sum(documents), sum(length))


def empty_counts(size: int) -> TermCounts:
    """Of a corpus that nobody has read, or of none."""
    return TermCounts(torch.zeros(size, dtype=torch.long), 0, 0)


def count_terms(
    wordpieces: WordPieces, documents: Iterable[str], size: int, max_length: int
) -> TermCounts:
    """Count each of ``size`` terms in documents cut to ``max_length`` WordPieces."""
    df = torch.zeros(size, dtype=torch.long)
    number = length = 0
    batch: list[str] = []

    def add() -> None:
        nonlocal number, length
        for ids in wordpieces.document_ids(batch, max_length):
            terms = [one for one in ids if one not in wordpieces.special_ids]
            df[list(set(terms))] += 1
            length += len(terms)
        number += len(batch)
        batch.clear()

    for text in documents:
        batch.append(text)
        if len(batch) == BATCH:
            add()
    add()
    return TermCounts(df, number, length)


def corpus_weights(counts: TermCounts, usual: Tensor, power: float) -> Tensor:
    """A power of each term's idf in a corpus, 1 for a typical one, [|V|].

    ``usual`` is the share of documents that have the term elsewhere; it speaks for small corpora.
    """
    df = functional.pad(counts.df.to(usual), (0, len(usual) - len(counts.df)))
    known = TermCounts(df + PRIOR * usual, counts.documents + PRIOR, 0)
    return (known.idf.clamp(min=LEAST_IDF) / TYPICAL_IDF) ** power


def most_frequent(df: Tensor, count: int) -> Tensor:
    """True for the ``count`` terms that most documents have, [|V|], for all that occur if fewer do.

    As many as the vocabulary has are all of it, whether they occur or not.
    """
    if count >= len(df):
        return torch.ones(len(df), dtype=torch.bool)
    chosen = torch.zeros(len(df), dtype=torch.bool)
    chosen[df.sort(descending=True, stable=True).indices[:count]] = True
    return chosen & (df > 0)


def counted_idf(wordpieces: WordPieces, counts: TermCounts, queries: Iterable[str]) -> Tensor:
    """The idf of each term, [|V|], scaled to 1 on average in queries."""
    asked = [place for text in queries for place in wordpieces.query_ids(text)]
    return counts.idf / counts.idf[asked].mean() if asked else counts.idf

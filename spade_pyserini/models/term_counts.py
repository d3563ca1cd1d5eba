"""Document frequencies of a collection, and the idf weights that follow from them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from spade_pyserini.models.wordpieces import WordPieces

BATCH = 1000  # documents tokenized at a time
PRIOR = 500  # corpus counts are smoothed as if the corpus had this many more documents
TYPICAL_IDF = 5.0  # idf of a typical query term, which is in one of 150 documents
LEAST_IDF = 0.05  # lower limit, so that a term in every document has some weight


class TermCounts(NamedTuple):
    """Counts of a collection of documents.

    df [|V|]: the number of documents that contain each term.
    documents: the number of documents.
    length: the number of WordPieces of all documents together.
    """

    df: Tensor
    documents: int
    length: int

    @property
    def idf(self) -> Tensor:
        """BM25's idf, ln(1 + (N - df + 0.5) / (df + 0.5)), [|V|]."""
        return torch.log1p((self.documents - self.df + 0.5) / (self.df + 0.5))

    @property
    def mean_length(self) -> float:
        """The average number of WordPieces per document."""
        return self.length / max(1, self.documents)


def merge_counts(parts: list[TermCounts]) -> TermCounts:
    """Add up the counts of several collections."""
    df, documents, length = zip(*parts, strict=True)
    return TermCounts(torch.stack(df).sum(dim=0), sum(documents), sum(length))


def empty_counts(size: int) -> TermCounts:
    """Return the counts of a collection without documents, for ``size`` terms."""
    return TermCounts(torch.zeros(size, dtype=torch.long), 0, 0)


def count_terms(
    wordpieces: WordPieces, documents: Iterable[str], size: int, max_length: int
) -> TermCounts:
    """Count the terms of documents, cut to ``max_length`` WordPieces each. ``size`` is |V|."""
    df = torch.zeros(size, dtype=torch.long)
    count = length = 0
    texts = iter(documents)
    while batch := list(itertools.islice(texts, BATCH)):
        for ids in wordpieces.document_ids(batch, max_length):
            terms = [term_id for term_id in ids if term_id not in wordpieces.special_ids]
            df[list(set(terms))] += 1
            length += len(terms)
        count += len(batch)
    return TermCounts(df, count, length)


def idf_weights(counts: TermCounts, usual: Tensor, power: float) -> Tensor:
    """Return (idf / `TYPICAL_IDF`) ** power for each term of a corpus, [|V|].

    ``usual`` [|V|] is the fraction of the training documents that contain each term. Because the
    counts of a small corpus are unreliable, they are smoothed, as if the corpus had `PRIOR` more
    documents. In these documents, terms are as frequent as in the training documents.
    """
    df = functional.pad(counts.df.to(usual), (0, len(usual) - len(counts.df)))
    smoothed = TermCounts(df + PRIOR * usual, counts.documents + PRIOR, 0)
    return (smoothed.idf.clamp(min=LEAST_IDF) / TYPICAL_IDF) ** power


def most_frequent(df: Tensor, count: int) -> Tensor:
    """Return a mask [|V|]: True for the ``count`` terms with the highest document frequency ``df``.

    Terms that do not occur are left out, unless ``count`` is the size of the vocabulary or more.
    """
    if count >= len(df):
        return torch.ones(len(df), dtype=torch.bool)
    mask = torch.zeros(len(df), dtype=torch.bool)
    mask[df.sort(descending=True, stable=True).indices[:count]] = True
    return mask & (df > 0)


def counted_idf(wordpieces: WordPieces, counts: TermCounts, queries: Iterable[str]) -> Tensor:
    """Return the idf of each term, [|V|], scaled to a mean of 1 over the terms of ``queries``."""
    term_ids = [term_id for text in queries for term_id in wordpieces.query_ids(text)]
    return counts.idf / counts.idf[term_ids].mean() if term_ids else counts.idf

"""The equations of training: relevance (Eq. 1), and the losses of the two encoders (Eq. 11, 12).

Queries are boolean vectors v_q over the vocabulary, ``queries`` [Q, |V|] of 0 and 1. Documents are
the vectors v_d of one encoder, ``documents`` [D, |V|]. Losses are means over the queries.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def scores(queries: Tensor, documents: Tensor) -> Tensor:
    """Eq. 1: the inner product of every query with every document, [Q, D]."""
    return queries @ documents.T


def pair_scores(queries: Tensor, documents: Tensor) -> Tensor:
    """Eq. 1: the inner product of each query with the document in the same row, [Q]."""
    return (queries * documents).sum(-1)


def ranking_loss(relevance: Tensor, positives: Tensor) -> Tensor:
    """Eq. 11 and the first term of Eq. 12: negative log likelihood of the positive document.

    relevance [Q, D]: scores. positives [Q]: the column of each query's positive (d+). All other
    columns are its negatives N(q): its hard negatives, and the other documents of the batch.
    """
    return functional.cross_entropy(relevance, positives)


def pointwise_loss(queries: Tensor, positives: Tensor) -> Tensor:
    """The second term of Eq. 12, without lambda: - v_q log softmax(v_d+).

    queries [Q, |V|]; positives [Q, |V|]: the vectors of the queries' positives.
    """
    likelihood = functional.log_softmax(positives, dim=-1)
    return -(queries * likelihood).sum(dim=-1).mean()


def sample_losses(positives: Tensor, negatives: Tensor) -> Tensor:
    """The loss of Eq. 11 for each sample, computed with one negative, [Q].

    positives [Q]: the score of each query's positive. negatives [Q]: the score of one negative of
    each query. Co-training selects samples by this loss.
    """
    pairs = torch.stack([positives, negatives], dim=-1)
    return -functional.log_softmax(pairs, dim=-1)[:, 0]

"""The hook for additions to the paper's training.

The other modules of this package implement the paper. An addition is an `Extension`: a class that
overrides one or more methods. `spade_pyserini.train.beyond` creates the extensions that a recipe
needs, and `Extensions` combines them for the objective and the loop.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spade_pyserini.train import losses
from spade_pyserini.train.step import LossParts


class ScoredBatch(NamedTuple):
    """A batch with the vectors and scores of one encoder.

    samples: indexes of the samples. docids: the positives of the samples in the same order, then
    the negatives. queries [Q, |V|], documents [D, |V|]: vectors. relevance [Q, D]: scores.
    expansion: whether the expansion encoder is trained (Eq. 12). pruning: whether documents are
    pruned, as in fine-tuning.
    """

    samples: list[int]
    docids: list[str]
    queries: Tensor
    documents: Tensor
    relevance: Tensor
    expansion: bool
    pruning: bool


class Extension:
    """An addition to the paper's training. By default, each method changes nothing."""

    def query_text(self, qid: str, text: str) -> str:
        """Return the text of a training query, changed or unchanged."""
        return text

    def scores(self, samples: list[int], queries: Tensor, documents: Tensor) -> Tensor | None:
        """Return scores [Q, D] that replace Eq. 1, or None to keep Eq. 1.

        samples: indexes of training samples. Row i of ``queries`` is the query of ``samples[i]``.
        """
        return None

    def pair_scores(self, samples: list[int], queries: Tensor, documents: Tensor) -> Tensor | None:
        """Return scores [Q] that replace Eq. 1, or None to keep Eq. 1.

        Element i is the score of document i for query i.
        """
        return None

    def losses(self, batch: ScoredBatch) -> LossParts:
        """Return losses to add to Eq. 11 or 12, by name."""
        return {}

    def optimizers(self) -> dict[str, torch.optim.Optimizer]:
        """Return further optimizers by name. They make a step when an encoder makes a step."""
        return {}

    def after_step(self) -> None:
        """Hook that is called after the optimizers have updated the weights."""


class Extensions:
    """Combines all extensions of a run. Without extensions, training is as in the paper."""

    def __init__(self, extensions: list[Extension]) -> None:
        self.extensions = extensions

    def query_text(self, qid: str, text: str) -> str:
        """Return the text to train with: the text of a query, changed by all extensions in turn."""
        for extension in self.extensions:
            text = extension.query_text(qid, text)
        return text

    def scores(self, samples: list[int], queries: Tensor, documents: Tensor) -> Tensor:
        """Return a score for every query and every document, [Q, D].

        The first extension that computes scores is used. If there is none, Eq. 1 is used.
        """
        for extension in self.extensions:
            relevance = extension.scores(samples, queries, documents)
            if relevance is not None:
                return relevance
        return losses.scores(queries, documents)

    def pair_scores(self, samples: list[int], queries: Tensor, documents: Tensor) -> Tensor:
        """Return the score of query i for document i, [Q].

        The first extension that computes these scores is used. If there is none, Eq. 1 is used.
        """
        for extension in self.extensions:
            relevance = extension.pair_scores(samples, queries, documents)
            if relevance is not None:
                return relevance
        return losses.pair_scores(queries, documents)

    def losses(self, batch: ScoredBatch) -> LossParts:
        """Return the losses of all extensions, by name."""
        parts: LossParts = {}
        for extension in self.extensions:
            parts |= extension.losses(batch)
        return parts

    def optimizers(self) -> dict[str, torch.optim.Optimizer]:
        """Return the optimizers of all extensions, by name."""
        optimizers: dict[str, torch.optim.Optimizer] = {}
        for extension in self.extensions:
            optimizers |= extension.optimizers()
        return optimizers

    def after_step(self) -> None:
        """Call ``after_step`` of all extensions."""
        for extension in self.extensions:
            extension.after_step()

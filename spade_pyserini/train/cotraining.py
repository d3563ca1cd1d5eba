"""Co-training: each encoder is fine-tuned on samples that are hard for the other encoder.

The samples are read in blocks. The loss of each encoder is computed for every sample of the block
(Eq. 11 with one negative). The tau percent of the samples with the largest losses are queued for
the other encoder.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from torch import Tensor

from spade_pyserini.train.data import TrainingData
from spade_pyserini.train.objective import Objective
from spade_pyserini.train.step import Encode


class Exchange(NamedTuple):
    """The hard samples of a block.

    weighting: the samples with the largest losses of the weighting encoder, the hardest first.
    expansion: the same for the expansion encoder.
    """

    weighting: list[int]
    expansion: list[int]

    @property
    def overlap(self) -> float:
        """The share of an encoder's hard samples that are also hard for the other encoder."""
        return len(set(self.weighting) & set(self.expansion)) / len(self.weighting)


class Cotraining:
    """The queues of samples that wait for each encoder."""

    def __init__(
        self, objective: Objective, encode: Callable[[str, list[list[int]]], Tensor]
    ) -> None:
        """``encode`` gets the name of an encoder and WordPiece ids, and returns vectors."""
        self.objective, self.encode = objective, encode
        self.queues: dict[str, list[int]] = {"weighting": [], "expansion": []}

    def exchange(self, block: list[int]) -> Exchange:
        """Queue the hard samples of each encoder for the other encoder."""
        count = max(1, math.floor(len(block) * self.objective.recipe.cotraining.tau / 100))
        hard = Exchange(
            weighting=hardest(self.objective, partial(self.encode, "weighting"), block, count),
            expansion=hardest(self.objective, partial(self.encode, "expansion"), block, count),
        )
        self.queues["weighting"] += hard.expansion
        self.queues["expansion"] += hard.weighting
        return hard

    def next_batch(self, encoder: str, size: int) -> list[int]:
        """Remove and return the first ``size`` samples of the queue of an encoder."""
        queue = self.queues[encoder]
        batch, self.queues[encoder] = queue[:size], queue[size:]
        return batch


def hardest(objective: Objective, encode: Encode, block: list[int], count: int) -> list[int]:
    """Return the ``count`` samples of a block with the largest losses, the largest first.

    Samples with equal losses keep the order of the block. ``encode`` returns document vectors.
    """
    data, size = objective.data, objective.recipe.optimization.micro_batch
    losses: list[float] = []
    for start in range(0, len(block), size):
        samples = block[start : start + size]
        docids = [data.samples[sample].positive for sample in samples]
        rivals = [rival(data, block, start + offset) for offset in range(len(samples))]
        positives, negatives = encode(objective.ids(docids)), encode(objective.ids(rivals))
        losses += objective.sample_losses(samples, positives, negatives).tolist()
    order = sorted(range(len(block)), key=lambda number: (-losses[number], number))
    return [block[number] for number in order[:count]]


def rival(data: TrainingData, block: list[int], number: int) -> str:
    """Return the docid of the negative for the loss of the sample ``block[number]``.

    Returns the first hard negative of the sample. If the sample has no hard negative, returns the
    positive of another query of the block or, if the block has no other query, the positive of the
    sample itself.
    """
    sample = data.samples[block[number]]
    if sample.negatives:
        return sample.negatives[0]
    others = (data.samples[other] for other in block[number + 1 :] + block[:number])
    return next((other.positive for other in others if other.qid != sample.qid), sample.positive)

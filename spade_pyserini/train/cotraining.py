"""What co-training hands from one encoder to the other: samples of a block that it finds hard."""

from __future__ import annotations

from spade_pyserini.train.data import TrainingData
from spade_pyserini.train.objective import Objective
from spade_pyserini.train.step import Encode


def hardest(objective: Objective, encode: Encode, block: list[int], count: int) -> list[int]:
    """The ``count`` samples of largest loss, the largest first; of equals, the first of the block.

    ``block`` has their places in ``objective.data.samples``, ``encode`` is the encoder's.
    """
    data, size = objective.data, objective.recipe.micro_batch
    losses: list[float] = []
    for start in range(0, len(block), size):
        places = block[start : start + size]
        own = [data.samples[place].positive for place in places]
        rivals = [rival(data, block, start + offset) for offset in range(len(places))]
        positives, negatives = encode(objective.ids(own)), encode(objective.ids(rivals))
        losses += objective.hardness(places, positives, negatives).tolist()
    order = sorted(range(len(block)), key=lambda number: (-losses[number], number))
    return [block[number] for number in order[:count]]


def rival(data: TrainingData, block: list[int], number: int) -> str:
    """A sample's own negative; without one, the positive of another query of the block."""
    sample = data.samples[block[number]]
    if sample.negatives:
        return sample.negatives[0]
    others = (data.samples[place] for place in block[number + 1 :] + block[:number])
    return next((other.positive for other in others if other.qid != sample.qid), sample.positive)

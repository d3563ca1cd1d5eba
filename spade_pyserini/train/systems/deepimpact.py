"""DeepImpact: `models.systems.deepimpact` computes a weight for each word; queries are boolean.

    s(q, d) = sum_{j in q} w_dj
    loss = -log(e^s(q, d+) / (e^s(q, d+) + e^s(q, d-)))

with a relevant document d+ and one hard negative d- of the query q. Documents should be expanded
(``expansions`` of the recipe).

- Mallia, Khattab, Suel, Tonellotto: Learning passage impacts for inverted indexes, SIGIR 2021,
  https://doi.org/10.1145/3404835.3463030
"""

from __future__ import annotations

from torch import Tensor

from spade_pyserini.train.systems.objective import pairwise_loss
from spade_pyserini.train.systems.words import WordObjective


class DeepImpactObjective(WordObjective):
    """The pairwise loss with boolean queries over words."""

    def ranking_loss(self, samples: list[int], docids: list[str], relevance: Tensor) -> Tensor:
        return pairwise_loss(self, samples, relevance)

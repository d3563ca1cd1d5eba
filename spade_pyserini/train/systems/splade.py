"""SPLADE-max and DistilSPLADE-max: `models.systems.splade` encodes documents and queries.

    loss = -log(e^s(q, d+) / sum_{d in batch} e^s(q, d))
           + flops       * sum_j (mean_d w_dj)^2
           + query_flops * sum_j (mean_q w_qj)^2

DistilSPLADE-max learns the margins of a teacher instead (``loss = "margin_mse"``,
``ranking_weight = 0``, and ``teacher`` or ``dense_teacher``):

    (s(q, d+) - s(q, d-) - (t(q, d+) - t(q, d-)))^2,   t the scores of the teacher

Here the weights ``flops`` and ``query_flops`` of the regularizers are constant; the authors
increase them during training.

- Formal et al.: SPLADE v2, 2021, https://arxiv.org/abs/2109.10086
- Hofstätter et al.: Margin-MSE, 2020, https://arxiv.org/abs/2010.02666
"""

from __future__ import annotations

from torch import Tensor

from spade_pyserini.train.beyond.losses import flops_loss
from spade_pyserini.train.step import LossParts
from spade_pyserini.train.systems.objective import SystemObjective


class SpladeObjective(SystemObjective):
    """The ranking loss with encoded queries, and FLOPS regularizers of documents and queries."""

    encodes_queries = True

    def further_losses(self, samples: list[int], queries: Tensor, documents: Tensor) -> LossParts:
        settings, parts = self.recipe.losses, {}
        if settings.flops:
            parts["flops"] = settings.flops * flops_loss(documents)
        if settings.query_flops:
            parts["query_flops"] = settings.query_flops * flops_loss(queries)
        return parts

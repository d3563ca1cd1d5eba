"""SparTerm: `models.systems.sparterm` encodes documents and queries; gates have their own loss.

    loss = -log(e^s(q, d+) / (e^s(q, d+) + e^s(q, d-)))
           + lambda_ * mean over (d+, q) of
             -1/|V| (POSITIVE * sum_{j in q} log G_j + sum_{j not in q} log(1 - G_j))

with G_j = sigmoid(max_i gate_ij) of the relevant document d+. The first part trains the importance
predictor only, because gates are 0 or 1 and have no gradient. The second part trains the gating
controller to open the gates of the query's terms.

- Bai et al.: SparTerm, learning term-based sparse representation for fast text retrieval, 2020,
  https://arxiv.org/abs/2010.00768
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from spade_pyserini.models.systems.sparterm import SparTerm
from spade_pyserini.train.queries import query_vectors
from spade_pyserini.train.step import LossParts
from spade_pyserini.train.systems.objective import SystemObjective, pairwise_loss

# The weight of the query's terms in the loss of gates; all other terms have weight 1. A query has
# few terms, so with equal weights no gate would open. With a weight of 100, an open gate has a
# smaller loss than a closed gate if more than 1 of 101 queries of similar documents contain the
# term.
POSITIVE = 100.0


class SparTermObjective(SystemObjective):
    """The pairwise loss of the gated vectors, and the cross-entropy of the gates."""

    encodes_queries = True

    def vectors(
        self, samples: list[int], input_ids: Tensor, attention_mask: Tensor, is_query: bool
    ) -> Tensor:
        """Return the vectors and the logits of the gates in one row, [batch, 2 |V|]."""
        assert isinstance(self.model, SparTerm)
        gates = self.model.gate_logits(input_ids, attention_mask)
        vectors = self.model.gated(input_ids, attention_mask, gates.detach() > 0)
        return torch.cat([vectors, gates], dim=1)

    def loss(self, samples: list[int], rows: Tensor) -> LossParts:
        vectors, gates = rows.chunk(2, dim=1)
        positives = gates[len(samples) : 2 * len(samples)]
        weight = self.recipe.losses.lambda_
        targets = query_vectors(self.model, self.data.query_texts(samples))
        return super().loss(samples, vectors) | {"gates": weight * gate_loss(positives, targets)}

    def ranking_loss(self, samples: list[int], docids: list[str], relevance: Tensor) -> Tensor:
        return pairwise_loss(self, samples, relevance)


def gate_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the mean binary cross-entropy of gates.

    logits [Q, |V|]; targets [Q, |V|]: 1 for the terms of the query, else 0.
    """
    positive = torch.tensor(POSITIVE, device=logits.device)
    return functional.binary_cross_entropy_with_logits(logits, targets, pos_weight=positive)

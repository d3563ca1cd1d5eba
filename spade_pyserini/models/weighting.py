"""The term weighting encoder: the weights of the document's own terms (Eq. 4-6)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel


class TermWeightingEncoder(nn.Module):
    """Scores each token of a document and pools the scores of equal tokens."""

    def __init__(self, backbone: PreTrainedModel) -> None:
        super().__init__()
        width = backbone.config.hidden_size
        self.backbone = backbone
        # f_MLP; the last ReLU keeps impacts from being negative.
        self.head = nn.Sequential(
            nn.Dropout(0.1), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1), nn.ReLU()
        )

    def initialise(self) -> None:
        """Initialise the head as the authors' code does: weights from N(0, 0.02²), zero biases."""
        for layer in self.head:
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, std=0.02)
                nn.init.zeros_(layer.bias)

    def start_at(self, weight: float) -> None:
        """Set the bias of the last layer so that a new head gives tokens a score near ``weight``.

        With a positive weight, the last ReLU has a gradient from the start.
        """
        nn.init.constant_(self.head.get_parameter("3.bias"), weight)

    def scores(self, hidden: Tensor) -> Tensor:
        """Score each token (Eq. 4): hidden states [batch, length, m] to scores [batch, length]."""
        scores: Tensor = self.head(hidden).squeeze(-1)
        return scores

    def pool(
        self, scores: Tensor, input_ids: Tensor, counted: Tensor, pooling: str = "max"
    ) -> Tensor:
        """Pool the scores of the tokens into a vector over the vocabulary (Eq. 5, 6).

        scores [batch, length]; input_ids [batch, length]; counted [batch, length], True for the
        tokens to pool: tokens 1..|d|, without special tokens and padding; pooling: ``max``, or
        ``first`` to use only the first occurrence of each term. Returns [batch, |V|].
        """
        scores = scores * counted
        if pooling == "first":
            scores = scores * _first_occurrence(input_ids, counted)
        vector: Tensor = scores.new_zeros(len(scores), self.backbone.config.vocab_size)
        # Eq. 5 places each score at its term, and Eq. 6 takes the maximum. One scatter does both.
        return vector.scatter_reduce(1, input_ids, scores, reduce="amax")


def _first_occurrence(input_ids: Tensor, counted: Tensor) -> Tensor:
    """Return a mask [batch, length]: False for tokens that repeat an earlier counted token."""
    same = (input_ids[:, :, None] == input_ids[:, None, :]) & counted[:, None, :]
    earlier = torch.ones_like(same[0]).tril(diagonal=-1)
    return ~(same & earlier).any(dim=2)

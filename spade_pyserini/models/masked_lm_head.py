"""The masked-LM head of the term expansion encoder (f_MLM of Eq. 7)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel


class MaskedLMHead(nn.Module):
    """BERT's masked-LM head: a transform, then the input embeddings as output weights.

    With a ``rank`` above 0, a trained low-rank matrix, ``own`` @ ``shared``, is added to the
    embeddings, because the best output weights may differ from the input embeddings.
    """

    def __init__(self, backbone: PreTrainedModel, rank: int = 0) -> None:
        super().__init__()
        config = backbone.config
        self.rank = rank
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.activation = nn.GELU()
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        if rank:
            self.own = nn.Parameter(torch.zeros(config.vocab_size, rank))
            self.shared = nn.Parameter(torch.zeros(rank, config.hidden_size))

    def initialise(self) -> None:
        """Initialise an untrained head: its linear layer is the identity."""
        nn.init.eye_(self.dense.weight)
        nn.init.zeros_(self.dense.bias)
        nn.init.zeros_(self.bias)
        if self.rank:
            nn.init.zeros_(self.own)
            nn.init.normal_(self.shared, std=0.02)

    def decoder(self, embeddings: Tensor, terms: Tensor | slice) -> Tensor:
        """Return the output weights of some terms, [terms, m], given all input embeddings."""
        rows = embeddings[terms]
        return torch.addmm(rows, self.own[terms], self.shared) if self.rank else rows

    def forward(self, hidden: Tensor) -> Tensor:
        """Transform hidden states [..., m]; returns [..., m].

        The product of the result and the output weights, plus the bias, gives logits.
        """
        transformed: Tensor = self.norm(self.activation(self.dense(hidden)))
        return transformed

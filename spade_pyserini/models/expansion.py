"""The term expansion encoder: which terms should the document have (Eq. 7-9)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

BLOCK = 4096  # terms whose logits are held at one time


class MaskedLMHead(nn.Module):
    """BERT's masked-LM head: a transform, then the input embeddings as output weights."""

    def __init__(self, backbone: PreTrainedModel) -> None:
        super().__init__()
        config = backbone.config
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.activation = nn.GELU()
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def initialise(self) -> None:
        """A head for a backbone that has none: the transform starts as the identity."""
        nn.init.eye_(self.dense.weight)
        nn.init.zeros_(self.dense.bias)
        nn.init.zeros_(self.bias)

    def forward(self, hidden: Tensor) -> Tensor:
        """[..., m] to [..., m], ready for the inner product with the embeddings."""
        transformed: Tensor = self.norm(self.activation(self.dense(hidden)))
        return transformed


class TermExpansionEncoder(nn.Module):
    """Masked-LM logits of each token, the k best kept, pooled over the document."""

    def __init__(self, backbone: PreTrainedModel, k: int) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = MaskedLMHead(backbone)
        self.k = k

    def initialise(self) -> None:
        """Fresh head."""
        self.head.initialise()

    def forward(self, hidden: Tensor, attended: Tensor, allowed: Tensor) -> Tensor:
        """Pool the k best terms of every token into a vector over the vocabulary.

        hidden [batch, length, m]; attended [batch, length], True for all but padding; allowed
        [|V|], True for the terms that may appear at all. Returns [batch, |V|].

        The logits are computed for `BLOCK` terms at a time and the k best of the blocks merged:
        batch x length x |V| never exists, and a block stays in the processor's cache.
        """
        batch, length, width = hidden.shape
        k = min(self.k, int(allowed.sum()))
        rows = self.head(hidden).reshape(-1, width)
        embeddings = self.backbone.get_input_embeddings().get_parameter("weight")
        bias = self.head.bias.masked_fill(~allowed, float("-inf"))
        # One buffer for all blocks: fresh memory for each would cost as much as the product.
        buffer = None if torch.is_grad_enabled() else rows.new_empty(len(rows) * BLOCK)
        candidates = []
        for start in range(0, len(bias), BLOCK):
            part = slice(start, min(start + BLOCK, len(bias)))
            size = part.stop - start
            out = None if buffer is None else buffer[: len(rows) * size].view(len(rows), size)
            logits = torch.addmm(bias[part], rows, embeddings[part].T, out=out)
            best = logits.topk(min(k, size), sorted=False)
            candidates.append((best.values, best.indices + start))
        values, places = torch.cat([block for block, _ in candidates], dim=1).topk(k)  # Eq. 8
        indices = torch.cat([block for _, block in candidates], dim=1).gather(1, places)
        values = values.relu() * attended.reshape(-1, 1)  # Eq. 7: ReLU and top-k commute
        vector: Tensor = rows.new_zeros(batch, len(allowed))
        values, indices = values.reshape(batch, length * k), indices.reshape(batch, length * k)
        return vector.scatter_reduce(1, indices, values, reduce="amax")  # Eq. 9

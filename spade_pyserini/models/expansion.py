"""The term expansion encoder: which terms should the document have (Eq. 7-9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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

    def forward(
        self, hidden: Tensor, attended: Tensor, allowed: Tensor, top_k: bool = True
    ) -> Tensor:
        """Pool the k best terms of every token, or all of them, into a vector over the vocabulary.

        hidden [batch, length, m]; attended [batch, length], True for all but padding; allowed
        [|V|], True for the terms that may appear at all. Returns [batch, |V|].

        The logits are computed for `BLOCK` terms at a time: batch x length x |V| never exists,
        and a block stays in the processor's cache.
        """
        rows = self.head(hidden)
        tokens = rows.flatten(0, 1)
        if not top_k:
            blocks = self._blocks(tokens, allowed)
            pooled = [_pool(logits.view(*attended.shape, -1), attended) for _, logits in blocks]
            return torch.cat(pooled, dim=1)
        k = min(self.k, int(allowed.sum()))
        with torch.no_grad():
            values, indices = _best(self._blocks(tokens, allowed), k)  # Eq. 8
        if torch.is_grad_enabled():  # the gradient needs the logits of these few terms only
            chosen = self._embeddings()[indices]
            values = (chosen @ tokens[:, :, None]).squeeze(2) + self.head.bias[indices]
        values = values.relu() * attended.reshape(-1, 1)  # Eq. 7: ReLU and top-k commute
        vector: Tensor = rows.new_zeros(len(attended), len(allowed))
        values, indices = values.view(len(attended), -1), indices.view(len(attended), -1)
        return vector.scatter_reduce(1, indices, values, reduce="amax")  # Eq. 9

    def logits(self, hidden: Tensor) -> Tensor:
        """All logits of some tokens, [tokens, m] to [tokens, |V|]."""
        rows = self.head(hidden)
        return torch.addmm(self.head.bias, rows, self._embeddings().T)

    def _embeddings(self) -> Tensor:
        return self.backbone.get_input_embeddings().get_parameter("weight")

    def _blocks(self, rows: Tensor, allowed: Tensor) -> Iterator[tuple[int, Tensor]]:
        """(first term, logits [tokens, `BLOCK`]) for all blocks of the vocabulary."""
        embeddings = self._embeddings()
        bias = self.head.bias.masked_fill(~allowed, float("-inf"))
        # One buffer for all blocks: fresh memory for each would cost as much as the product.
        buffer = None if torch.is_grad_enabled() else rows.new_empty(len(rows) * BLOCK)
        for start in range(0, len(bias), BLOCK):
            part = slice(start, min(start + BLOCK, len(bias)))
            size = part.stop - start
            out = None if buffer is None else buffer[: len(rows) * size].view(len(rows), size)
            yield start, torch.addmm(bias[part], rows, embeddings[part].T, out=out)


def _best(blocks: Iterable[tuple[int, Tensor]], k: int) -> tuple[Tensor, Tensor]:
    """The k best terms of each token over all blocks: values and indices, [tokens, k] each."""
    values, indices = [], []
    for start, logits in blocks:
        best = logits.topk(min(k, logits.shape[1]), sorted=False)
        values.append(best.values)
        indices.append(best.indices + start)
    kept, places = torch.cat(values, dim=1).topk(k)
    return kept, torch.cat(indices, dim=1).gather(1, places)


def _pool(logits: Tensor, attended: Tensor) -> Tensor:
    """Eq. 7 and 9 without Eq. 8: [batch, length, terms] to [batch, terms]."""
    # max and not amax: for its gradient it keeps the winners' places, not all logits.
    return logits.masked_fill(~attended[:, :, None], float("-inf")).max(dim=1).values.relu()

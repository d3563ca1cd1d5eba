"""The term expansion encoder, which adds terms to a document (Eq. 7-9)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedModel

from spade_pyserini.models.logits import max_logits, top_logits
from spade_pyserini.models.masked_lm_head import MaskedLMHead


class Output(NamedTuple):
    """The output layer for some terms: vocabulary ids [terms], weights [terms, m], bias [terms]."""

    terms: Tensor
    decoder: Tensor
    bias: Tensor


class TermExpansionEncoder(nn.Module):
    """Pools the top k masked-LM logits of each token over the document.

    ``expandable`` [|V|] is True for the terms that may be added to documents. `forward` computes
    only the logits of the terms that are True in ``expandable`` and in its argument ``allowed``.
    """

    expandable: Tensor

    def __init__(self, backbone: PreTrainedModel, decoder_rank: int = 0) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = MaskedLMHead(backbone, decoder_rank)
        size = backbone.config.vocab_size
        self.register_buffer("expandable", torch.ones(size, dtype=torch.bool))
        self._fixed: Output | None = None

    def initialise(self) -> None:
        """Initialise the head."""
        self.head.initialise()

    def forward(self, hidden: Tensor, attended: Tensor, allowed: Tensor, k: int | None) -> Tensor:
        """Pool the top k terms of each token into a vector over the vocabulary.

        hidden [batch, length, m]; attended [batch, length], False for padding; allowed [|V|], True
        for the terms that document vectors may contain; k: terms per token, None for all (warm-up
        stage of training). Returns [batch, |V|].
        """
        rows = _in_autocast_dtype(self.head(hidden))
        terms, decoder, bias = self._fixed or self._output(allowed)
        decoder, bias = decoder.to(rows.dtype), bias.to(rows.dtype)
        vector: Tensor = rows.new_zeros(len(attended), len(allowed))
        if k is None:
            pooled = max_logits(rows, decoder, bias, attended).relu()  # Eq. 7 and 9, without Eq. 8
            return vector.index_copy(1, terms, pooled)
        tokens = rows.flatten(0, 1)
        # Eq. 8: the top k terms of each token. They are selected before the ReLU of Eq. 7, so that
        # only k logits of each token are held in memory. The result is the same.
        with torch.no_grad():
            values, indices = top_logits(tokens, decoder, bias, k=min(k, len(terms)))
        if torch.is_grad_enabled():  # the gradient needs only the logits of these terms
            selected = functional.embedding(indices, decoder)
            values = (selected @ tokens[:, :, None]).squeeze(2) + bias[indices]
        values = values.relu() * attended.reshape(-1, 1)  # Eq. 7
        values, indices = values.view(len(attended), -1), terms[indices].view(len(attended), -1)
        return vector.scatter_reduce(1, indices, values, reduce="amax")  # Eq. 9

    def logits(self, hidden: Tensor) -> Tensor:
        """Return the logits [tokens, |V|] of all terms for hidden states [tokens, m]."""
        return torch.addmm(self.head.bias, self.head(hidden), self._decoder(slice(None)).T)

    @contextmanager
    def fixed(self, allowed: Tensor) -> Iterator[None]:
        """Compute the output layer once for many batches.

        In the ``with`` block, weights and masks must not change. Blocks must not be nested.
        """
        with torch.no_grad():
            self._fixed = self._output(allowed)
        try:
            yield
        finally:
            self._fixed = None

    def _output(self, allowed: Tensor) -> Output:
        terms = (allowed & self.expandable).nonzero().squeeze(1)
        return Output(terms, self._decoder(terms), self.head.bias[terms])

    def _decoder(self, terms: Tensor | slice) -> Tensor:
        embeddings = self.backbone.get_input_embeddings().get_parameter("weight")
        return self.head.decoder(embeddings, terms)


def _in_autocast_dtype(rows: Tensor) -> Tensor:
    """In autocast, convert ``rows`` to the 16-bit type: they come from a layer norm, in 32 bits."""
    kind = rows.device.type
    return rows.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else rows

"""The term expansion encoder: which terms should the document have (Eq. 7-9)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedModel

BLOCK = 4096  # terms whose logits are held at one time


class MaskedLMHead(nn.Module):
    """BERT's masked-LM head: a transform, then the input embeddings as output weights.

    With a ``rank`` above 0 the output weights are a low-rank matrix away from the embeddings,
    which were made for reading and may be no good for writing.
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
        """A head for a backbone that has none: the transform starts as the identity."""
        nn.init.eye_(self.dense.weight)
        nn.init.zeros_(self.dense.bias)
        nn.init.zeros_(self.bias)
        if self.rank:
            nn.init.zeros_(self.own)
            nn.init.normal_(self.shared, std=0.02)

    def decoder(self, embeddings: Tensor, terms: Tensor | slice) -> Tensor:
        """The output weights of some terms, [terms, m], from all input embeddings."""
        chosen = embeddings[terms]
        return torch.addmm(chosen, self.own[terms], self.shared) if self.rank else chosen

    def forward(self, hidden: Tensor) -> Tensor:
        """[..., m] to [..., m], ready for the inner product with the embeddings."""
        transformed: Tensor = self.norm(self.activation(self.dense(hidden)))
        return transformed


class Output(NamedTuple):
    """Places of some terms in the vocabulary [terms], their output weights [terms, m] and bias."""

    terms: Tensor
    decoder: Tensor
    bias: Tensor


class TermExpansionEncoder(nn.Module):
    """Masked-LM logits of each token, the k best kept, pooled over the document.

    ``expandable`` [|V|] is True for the terms that documents may be expanded by. The others, and
    those that pruning has removed, cost nothing: their logits are never computed.
    """

    expandable: Tensor

    def __init__(self, backbone: PreTrainedModel, k: int, decoder_rank: int = 0) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = MaskedLMHead(backbone, decoder_rank)
        self.k = k
        size = backbone.config.vocab_size
        self.register_buffer("expandable", torch.ones(size, dtype=torch.bool))
        self._fixed: Output | None = None

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
        rows = self._narrowed(self.head(hidden))
        tokens = rows.flatten(0, 1)
        terms, decoder, bias = self._fixed or self._output(allowed)
        decoder, bias = decoder.to(rows.dtype), bias.to(rows.dtype)
        vector: Tensor = rows.new_zeros(len(attended), len(allowed))
        if not top_k:
            pooled: Tensor = _MaxLogits.apply(rows, decoder, bias, attended)  # type: ignore[no-untyped-call]
            return vector.index_copy(1, terms, pooled.relu())
        with torch.no_grad():
            values, indices = _best(tokens, decoder, bias, k=min(self.k, len(terms)))
        if torch.is_grad_enabled():  # the gradient needs the logits of these few terms only
            chosen = functional.embedding(indices, decoder)
            values = (chosen @ tokens[:, :, None]).squeeze(2) + bias[indices]
        values = values.relu() * attended.reshape(-1, 1)  # Eq. 7: ReLU and top-k commute
        values, indices = values.view(len(attended), -1), terms[indices].view(len(attended), -1)
        return vector.scatter_reduce(1, indices, values, reduce="amax")  # Eq. 9

    @contextmanager
    def fixed(self, allowed: Tensor) -> Iterator[None]:
        """In here no weight and no mask changes: the output weights are put together once."""
        with torch.no_grad():
            self._fixed = self._output(allowed)
        try:
            yield
        finally:
            self._fixed = None

    def _output(self, allowed: Tensor) -> Output:
        terms = (allowed & self.expandable).nonzero().squeeze(1)
        return Output(terms, self._decoder(terms), self.head.bias[terms])

    def logits(self, hidden: Tensor) -> Tensor:
        """All logits of some tokens, [tokens, m] to [tokens, |V|]."""
        return torch.addmm(self.head.bias, self.head(hidden), self._decoder(slice(None)).T)

    @staticmethod
    def _narrowed(rows: Tensor) -> Tensor:
        """In mixed precision 16 bits wide, as what they are multiplied with; a norm may widen."""
        kind = rows.device.type
        return rows.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else rows

    def _decoder(self, terms: Tensor | slice) -> Tensor:
        embeddings = self.backbone.get_input_embeddings().get_parameter("weight")
        return self.head.decoder(embeddings, terms)


def _blocks(rows: Tensor, embeddings: Tensor, bias: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """(terms, their logits [tokens, terms]) for `BLOCK` terms at a time, without gradients."""
    # One buffer for all blocks: fresh memory for each would cost as much as the product.
    buffer = rows.new_empty(len(rows) * BLOCK)
    for start in range(0, len(bias), BLOCK):
        part = slice(start, min(start + BLOCK, len(bias)))
        size = part.stop - start
        out = buffer[: len(rows) * size].view(len(rows), size)
        yield part, torch.addmm(bias[part], rows, embeddings[part].T, out=out)


def _best(tokens: Tensor, embeddings: Tensor, bias: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k best terms of each token: values and indices, [tokens, k] each."""
    values, indices = [], []
    for part, logits in _blocks(tokens, embeddings, bias):
        best = logits.topk(min(k, logits.shape[1]), sorted=False)
        values.append(best.values)
        indices.append(best.indices + part.start)
    kept, places = torch.cat(values, dim=1).topk(k)
    return kept, torch.cat(indices, dim=1).gather(1, places)


class _MaxLogits(torch.autograd.Function):
    """The largest logit of each term over the tokens of a document: Eq. 9 without Eq. 8.

    A term's gradient goes to one token of each document, the one that gave the largest logit, so
    the gradient is a sparse product where autograd's would be as large as the forward one.
    """

    @staticmethod
    def forward(
        context: Any, rows: Tensor, embeddings: Tensor, bias: Tensor, attended: Tensor
    ) -> Tensor:
        """rows [batch, length, m], attended [batch, length]; returns [batch, |V|]."""
        values = rows.new_empty(len(rows), len(bias))
        places = torch.empty_like(values, dtype=torch.int32)
        for part, logits in _blocks(rows.flatten(0, 1), embeddings, bias):
            by_document = logits.view(*attended.shape, -1)
            found = by_document.masked_fill_(~attended[:, :, None], float("-inf")).max(dim=1)
            values[:, part], places[:, part] = found.values, found.indices.to(torch.int32)
        context.save_for_backward(rows, embeddings, places)
        return values

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, Tensor | None, Tensor, None]:
        rows, embeddings, places = context.saved_tensors
        (upstream,) = gradients
        batch, length, width = rows.shape
        documents, terms = upstream.nonzero(as_tuple=True)
        tokens = documents * length + places[documents, terms]
        sparse = torch.sparse_coo_tensor(
            torch.stack([tokens, terms]),
            upstream[documents, terms],
            (batch * length, len(embeddings)),
            is_coalesced=False,
            check_invariants=False,
        )
        of_rows = (sparse @ embeddings).view(batch, length, width)
        of_embeddings = None
        if context.needs_input_grad[1]:
            of_embeddings = sparse.T @ rows.flatten(0, 1)
        return of_rows, of_embeddings, upstream.sum(dim=0), None

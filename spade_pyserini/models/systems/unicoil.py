"""uniCOIL: a weight for each token of the text; a repeated token has its largest weight.

    w_j = max_{i: t_i = j} ReLU(v . h_i + b)

for the term j and the hidden states h_i of the tokens t_i. The same model weighs the tokens of a
query; there, the weight of a repeated token is the sum of its weights. Models whose name contains
noexp expect plain documents. The other models expect documents that docT5query or TILDE has
expanded (`spade encode --expansions`).

- Lin, Ma: A few brief notes on DeepImpact, COIL, and a conceptual framework for information
  retrieval techniques, 2021, https://arxiv.org/abs/2106.14807
"""

from __future__ import annotations

from typing import Self

from torch import Tensor, nn
from transformers import PreTrainedModel

from spade_pyserini.models.backbone import Backbone
from spade_pyserini.models.systems.checkpoint import Checkpoint
from spade_pyserini.models.systems.encoder import SystemConfig, SystemEncoder
from spade_pyserini.models.systems.neural_queries import NeuralQueries
from spade_pyserini.models.systems.pooling import pool_by_term
from spade_pyserini.models.systems.source import Source
from spade_pyserini.models.systems.system import Part, Published, System
from spade_pyserini.models.systems.transformer import (
    bert_tensors,
    linear,
    load_transformer,
    load_wordpieces,
    max_length,
    new_linear,
)
from spade_pyserini.models.wordpieces import WordPieces

SCALE = 256 / 5  # Pyserini's quantization of documents and queries
QUERY_LENGTH = 128  # maximum number of tokens that are read from a query, as in Pyserini


class UniCoil(System):
    """A linear layer with ReLU on a transformer gives the weight of each token."""

    name = "unicoil"
    architecture = "UniCoilEncoder"

    def __init__(
        self, transformer: PreTrainedModel, projection: nn.Linear, wordpieces: WordPieces
    ) -> None:
        super().__init__(wordpieces, transformer.config.vocab_size)
        self.transformer, self.projection = transformer, projection

    @classmethod
    def load(cls, source: Source) -> tuple[Self, int]:
        """Load a checkpoint; return the system and its maximum number of tokens."""
        folder = source.folder
        transformer, tensors = load_transformer(Checkpoint(folder))
        projection = linear(tensors, "tok_proj", folder)
        wordpieces = load_wordpieces(folder, transformer.config.vocab_size)
        return cls(transformer, projection, wordpieces), max_length(folder, transformer.config)

    @classmethod
    def from_backbone(cls, backbone: Backbone) -> Self:
        """Build a system with an untrained linear layer."""
        projection = new_linear(backbone.transformer.config.hidden_size, 1)
        return cls(backbone.transformer, projection, backbone.wordpieces)

    @property
    def left_out(self) -> frozenset[int]:
        """The ids of [CLS] and [PAD]. As in Pyserini, vectors can contain [SEP]."""
        return frozenset(self.wordpieces.term_ids[token] for token in ("[CLS]", "[PAD]"))

    @property
    def transformers(self) -> list[Part]:
        return [Part(self, "transformer")]

    def published(self) -> Published:
        tensors = bert_tensors(self.transformer, {"tok_proj": self.projection})
        return Published(self.transformer.config.to_dict(), tensors)

    def token_weights(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Weigh each token, [batch, length]."""
        hidden = self.transformer(input_ids=input_ids, attention_mask=attention_mask)[0]
        weights: Tensor = self.projection(hidden).squeeze(-1).relu()
        return weights

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Encode documents, [batch, |V|]: a repeated token has the maximum of its weights."""
        return self._pool(input_ids, attention_mask, "amax")

    def query_vectors(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Encode queries, [batch, |V|]: a repeated token has the sum of its weights."""
        return self._pool(input_ids, attention_mask, "sum")

    def _pool(self, input_ids: Tensor, attention_mask: Tensor, reduce: str) -> Tensor:
        weights = self.token_weights(input_ids, attention_mask)
        counted = attention_mask.bool() & self.kept[input_ids]
        return pool_by_term(weights, input_ids, counted, len(self.kept), reduce)


def load_unicoil(source: Source) -> SystemEncoder:
    """Load a uniCOIL checkpoint: one model encodes documents and queries."""
    system, longest = UniCoil.load(source)
    system.drop(system.left_out)
    queries = NeuralQueries(system, source.name, min(QUERY_LENGTH, longest), SCALE)
    return SystemEncoder(system, SystemConfig(longest, scale=SCALE), queries, longest)

"""uniCOIL: a weight for each token of the text, the maximum for a repeated one.

    w_j = max_{i: t_i = j} ReLU(v . h_i + b)

for the term j and the hidden states h_i of the tokens t_i. The same model weighs the tokens of a
query, where the weights of a repeated token are added. Models whose name contains noexp
expect plain documents, the others expect documents that docT5query or TILDE has expanded
(`spade encode --expansions`).

- Lin, Ma: A few brief notes on DeepImpact, COIL, and a conceptual framework for information
  retrieval techniques, 2021, https://arxiv.org/abs/2106.14807
"""

from __future__ import annotations

from typing import Self

from torch import Tensor, nn
from transformers import PreTrainedModel

from spade_pyserini.models.systems.checkpoint import Checkpoint
from spade_pyserini.models.systems.encoder import SystemConfig, SystemEncoder
from spade_pyserini.models.systems.neural_queries import NeuralQueries
from spade_pyserini.models.systems.pooling import pool_by_term
from spade_pyserini.models.systems.source import Source
from spade_pyserini.models.systems.system import System
from spade_pyserini.models.systems.transformer import (
    linear,
    load_transformer,
    load_wordpieces,
    max_length,
)
from spade_pyserini.models.wordpieces import WordPieces

SCALE = 256 / 5  # Pyserini's quantization of documents and queries
QUERY_LENGTH = 128  # tokens of a query that Pyserini reads


class UniCoil(System):
    """A linear layer with ReLU on a transformer."""

    name = "unicoil"

    def __init__(
        self, transformer: PreTrainedModel, projection: nn.Linear, wordpieces: WordPieces
    ) -> None:
        super().__init__(wordpieces, transformer.config.vocab_size)
        self.transformer, self.projection = transformer, projection

    @classmethod
    def load(cls, source: Source) -> tuple[Self, int]:
        """Load a checkpoint; return the system and how many tokens it reads."""
        folder = source.folder
        transformer, tensors = load_transformer(Checkpoint(folder))
        projection = linear(tensors, "tok_proj", folder)
        wordpieces = load_wordpieces(folder, transformer.config.vocab_size)
        return cls(transformer, projection, wordpieces), max_length(folder, transformer.config)

    def token_weights(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Weigh each token, [batch, length]."""
        hidden = self.transformer(input_ids=input_ids, attention_mask=attention_mask)[0]
        weights: Tensor = self.projection(hidden).squeeze(-1).relu()
        return weights

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Encode documents: the maximum for a repeated token, [batch, |V|]."""
        return self._pool(input_ids, attention_mask, "amax")

    def query_vectors(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Encode queries: the sum for a repeated token, [batch, |V|]."""
        return self._pool(input_ids, attention_mask, "sum")

    def _pool(self, input_ids: Tensor, attention_mask: Tensor, reduce: str) -> Tensor:
        weights = self.token_weights(input_ids, attention_mask)
        counted = attention_mask.bool() & self.kept[input_ids]
        return pool_by_term(weights, input_ids, counted, len(self.kept), reduce)


def load_unicoil(source: Source) -> SystemEncoder:
    """Load a uniCOIL checkpoint: documents and queries have the same model."""
    system, longest = UniCoil.load(source)
    # As in Pyserini, [SEP] has a weight in documents and queries, [CLS] has none.
    system.drop(frozenset(system.wordpieces.term_ids[token] for token in ("[CLS]", "[PAD]")))
    queries = NeuralQueries(system, source.name, min(QUERY_LENGTH, longest), SCALE)
    return SystemEncoder(system, SystemConfig(longest, scale=SCALE), queries, longest)

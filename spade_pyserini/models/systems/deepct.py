"""DeepCT: a weight for each word, the predicted share of relevant queries that contain the word.

    w_j = max_i ReLU(v . h_i + b),   i the first WordPieces of the occurrences of the word j
    tf_j = round(100 w_j)

Terms are words, and queries are boolean. The paper indexes tf_j as a term frequency and searches
with BM25 (k1 10, b 0.9). Here, tf_j is the impact, and a score is the sum of the impacts of the
query terms, without BM25's idf, saturation and length normalization.

- Dai, Callan: Context-aware term weighting for first-stage passage retrieval, SIGIR 2020,
  https://doi.org/10.1145/3397271.3401204
"""

from __future__ import annotations

from torch import nn

from spade_pyserini.models.queries import WordQueries
from spade_pyserini.models.systems.checkpoint import Checkpoint
from spade_pyserini.models.systems.encoder import SystemConfig, SystemEncoder
from spade_pyserini.models.systems.source import Source
from spade_pyserini.models.systems.system import Published
from spade_pyserini.models.systems.transformer import (
    linear,
    load_transformer,
    load_wordpieces,
    max_length,
    new_linear,
)
from spade_pyserini.models.systems.word_system import WordSystem

SCALE = 100.0  # as in the paper


class DeepCT(WordSystem):
    """A token classifier with one label."""

    name = "deepct"
    architecture = "BertForTokenClassification"
    first = False

    @classmethod
    def new_head(cls, width: int) -> nn.Module:
        return new_linear(width, 1)

    def named_heads(self) -> dict[str, nn.Module]:
        return {"classifier": self.head}

    def published(self) -> Published:
        config, tensors = super().published()
        labels = {"id2label": {"0": "weight"}, "label2id": {"weight": 0}}
        return Published({**config, **labels}, tensors)


def load_deepct(source: Source) -> SystemEncoder:
    """Load a DeepCT checkpoint; queries are boolean."""
    folder = source.folder
    transformer, tensors = load_transformer(Checkpoint(folder))
    wordpieces = load_wordpieces(folder, transformer.config.vocab_size)
    system = DeepCT(transformer, linear(tensors, "classifier", folder), wordpieces)
    longest = max_length(folder, transformer.config)
    config = SystemConfig(longest, scale=SCALE)
    return SystemEncoder(system, config, WordQueries(wordpieces), longest)

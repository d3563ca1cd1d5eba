"""DeepImpact: a weight for each word of the expanded document.

    w_j = MLP(h_i),   i the first WordPiece of the first occurrence of the word j

Terms are words: the tokenizer splits a text into words before it splits the words into WordPieces.
Punctuation is left out. Queries are boolean and consist of words, too. The model expects documents
that docT5query has expanded (`spade encode --expansions`).

- Mallia, Khattab, Suel, Tonellotto: Learning passage impacts for inverted indexes, SIGIR 2021,
  https://doi.org/10.1145/3404835.3463030
"""

from __future__ import annotations

from torch import nn

from spade_pyserini.models.queries import WordQueries
from spade_pyserini.models.systems.checkpoint import Checkpoint
from spade_pyserini.models.systems.encoder import SystemConfig, SystemEncoder
from spade_pyserini.models.systems.source import Source
from spade_pyserini.models.systems.transformer import (
    linear,
    load_transformer,
    load_wordpieces,
    max_length,
    new_linear,
)
from spade_pyserini.models.systems.word_system import WordSystem

HEAD = "impact_score_encoder."


class DeepImpact(WordSystem):
    """A multi-layer perceptron with ReLU on the first WordPiece of each word."""

    name = "deepimpact"
    architecture = "DeepImpact"
    first = True

    @classmethod
    def new_head(cls, width: int) -> nn.Module:
        return nn.Sequential(new_linear(width, width), nn.ReLU(), new_linear(width, 1), nn.ReLU())

    def named_heads(self) -> dict[str, nn.Module]:
        return {HEAD.rstrip("."): self.head}


def load_deepimpact(source: Source) -> SystemEncoder:
    """Load a DeepImpact checkpoint with any number of layers in its head; queries are boolean."""
    folder = source.folder
    transformer, tensors = load_transformer(Checkpoint(folder))
    numbers = sorted({int(key.split(".")[1]) for key in tensors if key.startswith(HEAD)})
    layers: list[nn.Module] = []
    for number in numbers:  # a ReLU follows each layer
        layers += [linear(tensors, f"{HEAD}{number}", folder), nn.ReLU()]
    wordpieces = load_wordpieces(folder, transformer.config.vocab_size)
    system = DeepImpact(transformer, nn.Sequential(*layers), wordpieces)
    longest = max_length(folder, transformer.config)
    return SystemEncoder(system, SystemConfig(longest), WordQueries(wordpieces), longest)

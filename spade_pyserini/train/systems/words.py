"""Losses of systems whose terms are words: DeepImpact and DeepCT."""

from __future__ import annotations

import torch
from torch import Tensor

from spade_pyserini.train.systems.objective import SystemObjective


class WordObjective(SystemObjective):
    """A loss on vectors that have a column for each of the words that `words` returns."""

    def words(self, samples: list[int]) -> list[str]:
        """Return the word of each vector column: all words in the queries of the batch, sorted."""
        texts = self.data.query_texts(samples)
        return sorted({word for text in texts for word in self.wordpieces.words(text)})

    def vectors(
        self, samples: list[int], input_ids: Tensor, attention_mask: Tensor, is_query: bool
    ) -> Tensor:
        rows: Tensor = self.model(input_ids, attention_mask, self.words(samples))
        return rows

    def boolean_queries(self, samples: list[int]) -> Tensor:
        """Return vectors [Q, words], with 1 for the words of each query and 0 for all others."""
        columns = {word: column for column, word in enumerate(self.words(samples))}
        vectors = self.model.kept.new_zeros(len(samples), len(columns), dtype=torch.float)
        for row, text in enumerate(self.data.query_texts(samples)):
            vectors[row, [columns[word] for word in self.wordpieces.words(text)]] = 1
        return vectors

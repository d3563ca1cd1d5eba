"""Systems whose terms are words: DeepImpact, DeepCT."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from spade_pyserini.models.systems.pooling import distinct_words, pool_by_word
from spade_pyserini.models.systems.system import System
from spade_pyserini.models.wordpieces import WordPieces


class WordSystem(System):
    """A system whose terms are the words of the text. A word with an unknown token has no term.

    ``first``: only the first occurrence of a word counts; otherwise, the maximum over all.
    """

    terms_are_words = True
    first: bool

    def __init__(
        self, transformer: PreTrainedModel, head: nn.Module, wordpieces: WordPieces
    ) -> None:
        super().__init__(wordpieces, transformer.config.vocab_size)
        self.transformer, self.head = transformer, head

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Encode documents, [batch, length] to [batch, words of the batch]."""
        hidden = self.transformer(input_ids=input_ids, attention_mask=attention_mask)[0]
        weights = self.head(hidden).squeeze(-1).relu()
        lengths = attention_mask.sum(dim=1).tolist()
        batch = [ids[:length] for ids, length in zip(input_ids.tolist(), lengths, strict=True)]
        documents = [self.wordpieces.words_of(ids) for ids in batch]
        words = distinct_words(self.wordpieces, batch)
        return pool_by_word(weights, documents, words, first=self.first)

    def columns(self, batch: list[list[int]]) -> Sequence[str]:
        """Return the words of the documents, in alphabetical order."""
        return distinct_words(self.wordpieces, batch)

    def own_terms(self, batch: list[list[int]]) -> Tensor:
        """Return True for all words: other words of the batch have weight 0 in a document."""
        size = len(batch), len(self.columns(batch))
        return torch.ones(size, dtype=torch.bool, device=self.kept.device)

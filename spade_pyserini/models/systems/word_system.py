"""Systems whose terms are words: DeepImpact, DeepCT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from spade_pyserini.models.backbone import Backbone
from spade_pyserini.models.systems.pooling import distinct_words, pool_by_word
from spade_pyserini.models.systems.system import Part, Published, System
from spade_pyserini.models.systems.transformer import bert_tensors
from spade_pyserini.models.wordpieces import WordPieces


class WordSystem(System):
    """A system whose terms are the words of the text. Words with an unknown token are left out.

    ``first``: if True, a word has the weight of its first occurrence; if False, the largest weight
    of its occurrences.
    """

    terms_are_words = True
    first: bool

    def __init__(
        self, transformer: PreTrainedModel, head: nn.Module, wordpieces: WordPieces
    ) -> None:
        super().__init__(wordpieces, transformer.config.vocab_size)
        self.transformer, self.head = transformer, head

    @classmethod
    def new_head(cls, width: int) -> nn.Module:
        """Return an untrained head for hidden states of ``width`` dimensions."""
        raise NotImplementedError

    def named_heads(self) -> dict[str, nn.Module]:
        """Return the layers of the head by their names in published models."""
        raise NotImplementedError

    @classmethod
    def from_backbone(cls, backbone: Backbone) -> Self:
        """Build a system with an untrained head."""
        head = cls.new_head(backbone.transformer.config.hidden_size)
        return cls(backbone.transformer, head, backbone.wordpieces)

    @property
    def transformers(self) -> list[Part]:
        return [Part(self, "transformer")]

    def published(self) -> Published:
        tensors = bert_tensors(self.transformer, self.named_heads())
        return Published(self.transformer.config.to_dict(), tensors)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, words: Sequence[str] | None = None
    ) -> Tensor:
        """Encode documents, [batch, length] to [batch, words].

        ``words``: the word of each column of the result, by default the words that `columns`
        returns. All other words are ignored.
        """
        hidden = self.transformer(input_ids=input_ids, attention_mask=attention_mask)[0]
        weights = self.head(hidden).squeeze(-1).relu()
        lengths = attention_mask.sum(dim=1).tolist()
        batch = [ids[:length] for ids, length in zip(input_ids.tolist(), lengths, strict=True)]
        documents = [self.wordpieces.words_of(ids) for ids in batch]
        columns = self.columns(batch) if words is None else words
        return pool_by_word(weights, documents, columns, first=self.first)

    def columns(self, batch: list[list[int]]) -> Sequence[str]:
        """Return the words of the documents, in alphabetical order."""
        return distinct_words(self.wordpieces, batch)

    def own_terms(self, batch: list[list[int]]) -> Tensor:
        """Return a mask [batch, words] that is True everywhere, because no words are added.

        A document has weight 0 for words that are only in other documents of the batch.
        """
        size = len(batch), len(self.columns(batch))
        return torch.ones(size, dtype=torch.bool, device=self.kept.device)

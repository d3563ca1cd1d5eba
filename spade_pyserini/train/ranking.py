"""The documents of a batch, and the ranking loss (Eq. 11 of the SpaDE paper)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.train import losses
from spade_pyserini.train.data import TrainingData
from spade_pyserini.train.recipe import Recipe


class RankingObjective:
    """Returns the documents and the ranking loss of a batch.

    The samples of a batch are given as indexes into ``data.samples``.
    """

    def __init__(self, recipe: Recipe, data: TrainingData, wordpieces: WordPieces) -> None:
        self.recipe, self.data, self.wordpieces = recipe, data, wordpieces
        self.relevant: dict[str, set[str]] = {}
        for sample in data.samples:
            relevant = self.relevant.setdefault(sample.qid, set())
            relevant.add(sample.positive)
            scores = data.teacher.get(sample.qid, {})
            # A negative that the teacher scores above the positive is assumed to be relevant.
            relevant |= {
                x for x in sample.negatives if scores and scores[x] > scores[sample.positive]
            }

    def documents(self, samples: Sequence[int]) -> list[str]:
        """Return the docids of a batch: all positives, then all hard negatives."""
        batch = [self.data.samples[sample] for sample in samples]
        positives = [sample.positive for sample in batch]
        return positives + [docid for sample in batch for docid in sample.negatives]

    def ids(self, docids: list[str]) -> list[list[int]]:
        """Return the WordPiece ids of documents."""
        texts = [self.data.documents[docid] for docid in docids]
        return self.wordpieces.document_ids(texts, self.recipe.model.max_length)

    def ranking_loss(self, samples: list[int], docids: list[str], relevance: Tensor) -> Tensor:
        """Return the ranking loss (Eq. 11), multiplied by ``ranking_weight`` of the recipe.

        relevance [Q, D]: the scores of the documents ``docids`` for the queries of the samples.
        The other relevant documents of a query in the batch are not used as its negatives.
        """
        columns = torch.arange(len(samples), device=relevance.device)
        judged = [self.relevant[self.data.samples[sample].qid] for sample in samples]
        ignored = torch.tensor([[docid in relevant for docid in docids] for relevant in judged])
        ignored[columns.cpu(), columns.cpu()] = False
        relevance = relevance.masked_fill(ignored.to(relevance.device), float("-inf"))
        return self.recipe.losses.ranking_weight * losses.ranking_loss(relevance, columns)

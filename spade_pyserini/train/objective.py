"""The loss of a batch: Eq. 11 or Eq. 12 on all its documents."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from spade_pyserini.models import SpadeModel
from spade_pyserini.train import losses
from spade_pyserini.train.data import TrainingData
from spade_pyserini.train.extension import Extensions, ScoredBatch
from spade_pyserini.train.queries import query_vectors
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.step import LossParts


class Objective:
    """Losses of samples, which are given as indexes into ``data.samples``."""

    def __init__(
        self, recipe: Recipe, data: TrainingData, model: SpadeModel, extensions: Extensions
    ) -> None:
        self.recipe, self.data, self.model = recipe, data, model
        self.extensions = extensions
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
        """The docids of a batch: all positives, then all hard negatives."""
        batch = [self.data.samples[sample] for sample in samples]
        positives = [sample.positive for sample in batch]
        return positives + [docid for sample in batch for docid in sample.negatives]

    def ids(self, docids: list[str]) -> list[list[int]]:
        """The WordPiece ids of documents."""
        texts = [self.data.documents[docid] for docid in docids]
        return self.model.wordpieces.document_ids(texts, self.recipe.model.max_length)

    def queries(self, samples: list[int]) -> Tensor:
        """The query vectors of samples, [Q, |V|]."""
        qids = [self.data.samples[sample].qid for sample in samples]
        texts = [self.extensions.query_text(qid, self.data.queries[qid]) for qid in qids]
        return query_vectors(self.model, texts)

    def loss(
        self, samples: list[int], documents: Tensor, *, expansion: bool, pruning: bool = True
    ) -> LossParts:
        """Eq. 11, or with ``expansion`` Eq. 12, and the losses of the extensions.

        documents [D, |V|]: vectors of `documents(samples)`.
        """
        docids, queries = self.documents(samples), self.queries(samples)
        relevance = self.extensions.scores(samples, queries, documents)
        parts = {"ranking": self._ranking_loss(samples, docids, relevance)}
        if expansion:
            # A removed term is in no document, so documents cannot be trained to have it.
            terms = queries * self.model.kept
            pointwise = losses.pointwise_loss(terms, documents[: len(samples)])
            parts["pointwise"] = self.recipe.losses.lambda_ * pointwise
        batch = ScoredBatch(samples, docids, queries, documents, relevance, expansion, pruning)
        return parts | self.extensions.losses(batch)

    def sample_losses(self, samples: list[int], positives: Tensor, negatives: Tensor) -> Tensor:
        """Eq. 11 of each sample with a single negative, [Q]; positives, negatives [Q, |V|]."""
        queries = self.queries(samples)
        good, bad = (
            self.extensions.pair_scores(samples, queries, vectors)
            for vectors in (positives, negatives)
        )
        return losses.sample_losses(good, bad)

    def _ranking_loss(self, samples: list[int], docids: list[str], relevance: Tensor) -> Tensor:
        """Eq. 11. A query's other relevant documents in the batch are not among its negatives."""
        columns = torch.arange(len(samples), device=relevance.device)
        judged = [self.relevant[self.data.samples[sample].qid] for sample in samples]
        ignored = torch.tensor([[docid in relevant for docid in docids] for relevant in judged])
        ignored[columns.cpu(), columns.cpu()] = False
        relevance = relevance.masked_fill(ignored.to(relevance.device), float("-inf"))
        return self.recipe.losses.ranking_weight * losses.ranking_loss(relevance, columns)

"""The loss of a system on a batch: which texts are encoded, their vectors, scores and losses.

A subclass for a system overrides the methods that differ. By default, queries are boolean, the
system encodes documents, a score is the inner product of both vectors (Eq. 1), and the loss is the
ranking loss (Eq. 11).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from spade_pyserini.models.systems.system import System
from spade_pyserini.models.tensors import pad_batch
from spade_pyserini.train import losses
from spade_pyserini.train.cotraining import rival
from spade_pyserini.train.data import TrainingData
from spade_pyserini.train.encoders import SIMILAR
from spade_pyserini.train.extension import Extensions, ScoredBatch
from spade_pyserini.train.queries import query_vectors
from spade_pyserini.train.ranking import RankingObjective
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.step import LossParts


class Text(NamedTuple):
    """The WordPiece ids of a text that the system encodes: a document or a query."""

    ids: list[int]
    is_query: bool = False


EncodeTexts = Callable[[list[Text]], Tensor]


class SystemObjective(RankingObjective):
    """The loss of a system.

    encodes_queries: whether the system encodes queries, too. If it does not, queries are boolean.
    ranks: whether the loss compares the scores of documents. Only then can training use a teacher.
    """

    encodes_queries: ClassVar[bool] = False
    ranks: ClassVar[bool] = True

    def __init__(
        self, recipe: Recipe, data: TrainingData, model: System, extensions: Extensions
    ) -> None:
        super().__init__(recipe, data, model.wordpieces)
        self.model, self.extensions = model, extensions

    # Encoding

    def texts(self, samples: list[int]) -> list[Text]:
        """Return the texts of a batch that the system encodes.

        These are the queries, if the system encodes queries, followed by the documents.
        """
        documents = [Text(ids) for ids in self.ids(self.documents(samples))]
        if not self.encodes_queries:
            return documents
        queries = self.data.query_texts(samples)
        ids = self.wordpieces.document_ids(queries, self.recipe.model.max_length)
        return [*(Text(query, True) for query in ids), *documents]

    def encoder(self, samples: list[int]) -> EncodeTexts:
        """Return a function that encodes texts of this batch: it returns their vectors [texts, n].

        Row i is the vector of text i. Texts of similar length are encoded together.
        """

        def encode(texts: list[Text]) -> Tensor:
            order = sorted(range(len(texts)), key=lambda n: (texts[n].is_query, len(texts[n].ids)))
            kinds = [[n for n in order if texts[n].is_query == kind] for kind in (False, True)]
            device, vectors = self.model.kept.device, []
            for kind, numbers in zip((False, True), kinds, strict=True):
                for start in range(0, len(numbers), SIMILAR):
                    similar = [texts[n].ids for n in numbers[start : start + SIMILAR]]
                    vectors.append(self.vectors(samples, *pad_batch(similar, device), kind))
            return torch.cat(vectors)[torch.tensor(order, device=device).argsort()]

        return encode

    def vectors(
        self, samples: list[int], input_ids: Tensor, attention_mask: Tensor, is_query: bool
    ) -> Tensor:
        """Encode queries or documents, [batch, length] to [batch, n]."""
        encode = self.model.query_vectors if is_query else self.model
        rows: Tensor = encode(input_ids, attention_mask)
        return rows

    # The loss

    def loss(self, samples: list[int], rows: Tensor) -> LossParts:
        """Return the parts of the loss of a batch.

        rows [texts, n]: vectors of `texts(samples)`.
        """
        queries, documents = self.split(samples, rows)
        docids = self.documents(samples)
        relevance = losses.scores(queries, documents)
        parts = {"ranking": self.ranking_loss(samples, docids, relevance)}
        parts |= self.further_losses(samples, queries, documents)
        batch = ScoredBatch(samples, docids, queries, documents, relevance, True, True)
        return parts | self.extensions.losses(batch)

    def split(self, samples: list[int], rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return the vectors of the queries, [Q, n], and of the documents, [D, n]."""
        if self.encodes_queries:
            return rows[: len(samples)], rows[len(samples) :]
        return self.boolean_queries(samples), rows

    def boolean_queries(self, samples: list[int]) -> Tensor:
        """Return vectors [Q, n], with 1 for the terms of each query and 0 for all others."""
        return query_vectors(self.model, self.data.query_texts(samples))

    def further_losses(self, samples: list[int], queries: Tensor, documents: Tensor) -> LossParts:
        """Return losses to add to the ranking loss, by name. By default, there are none."""
        return {}


def pairwise_loss(objective: SystemObjective, samples: list[int], relevance: Tensor) -> Tensor:
    """Return the mean over the queries of -log(e^s(q, d+) / (e^s(q, d+) + e^s(q, d-))).

    ``relevance`` [Q, D] holds the scores. d+ is the positive of the query, and d- its first hard
    negative. If a query has no hard negatives, d- is the positive of another query.
    """
    docids, data = objective.documents(samples), objective.data
    rows = torch.arange(len(samples), device=relevance.device)
    others = torch.tensor([docids.index(rival(data, samples, n)) for n in range(len(samples))])
    negatives = relevance[rows, others.to(relevance.device)]
    pairs = losses.sample_losses(relevance[rows, rows], negatives)
    return objective.recipe.losses.ranking_weight * pairs.mean()

"""The loss of a batch: Eq. 11 or Eq. 12, with all documents of the batch."""

from __future__ import annotations

from torch import Tensor

from spade_pyserini.models import SpadeModel
from spade_pyserini.train import losses
from spade_pyserini.train.data import TrainingData
from spade_pyserini.train.extension import Extensions, ScoredBatch
from spade_pyserini.train.queries import query_vectors
from spade_pyserini.train.ranking import RankingObjective
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.step import LossParts


class Objective(RankingObjective):
    """Losses of SpaDE's encoders for samples, which are indexes into ``data.samples``."""

    def __init__(
        self, recipe: Recipe, data: TrainingData, model: SpadeModel, extensions: Extensions
    ) -> None:
        super().__init__(recipe, data, model.wordpieces)
        self.model, self.extensions = model, extensions

    def queries(self, samples: list[int]) -> Tensor:
        """Return the query vectors of samples, [Q, |V|]."""
        qids = [self.data.samples[sample].qid for sample in samples]
        texts = [self.extensions.query_text(qid, self.data.queries[qid]) for qid in qids]
        return query_vectors(self.model, texts)

    def loss(
        self, samples: list[int], documents: Tensor, *, expansion: bool, pruning: bool = True
    ) -> LossParts:
        """Return the parts of the loss by name, including the losses of extensions.

        Without ``expansion``, the loss is that of Eq. 11. With ``expansion``, it is that of Eq. 12.

        documents [D, |V|]: vectors of `documents(samples)`.
        """
        docids, queries = self.documents(samples), self.queries(samples)
        relevance = self.extensions.scores(samples, queries, documents)
        parts = {"ranking": self.ranking_loss(samples, docids, relevance)}
        if expansion:
            # Pruning has removed some terms from all document vectors. These terms are ignored.
            terms = queries * self.model.kept
            pointwise = losses.pointwise_loss(terms, documents[: len(samples)])
            parts["pointwise"] = self.recipe.losses.lambda_ * pointwise
        batch = ScoredBatch(samples, docids, queries, documents, relevance, expansion, pruning)
        return parts | self.extensions.losses(batch)

    def sample_losses(self, samples: list[int], positives: Tensor, negatives: Tensor) -> Tensor:
        """Return the loss of Eq. 11 for each sample, computed with one negative, [Q].

        positives [Q, |V|]: the vector of each sample's positive. negatives [Q, |V|]: the vector of
        one negative of each sample.
        """
        queries = self.queries(samples)
        good, bad = (
            self.extensions.pair_scores(samples, queries, vectors)
            for vectors in (positives, negatives)
        )
        return losses.sample_losses(good, bad)

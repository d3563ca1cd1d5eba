"""The loss of a batch: Eq. 11 and 12 on all its documents, and what a teacher says about them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from spade_pyserini.models import SpadeModel
from spade_pyserini.models.term_counts import TermCounts
from spade_pyserini.train import losses
from spade_pyserini.train.data import TrainingData
from spade_pyserini.train.beyond.query_templates import wrap_query
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.step import LossParts
from spade_pyserini.train.beyond.teachers import BM25Teacher, DenseTeacher
from spade_pyserini.train.validate import query_vectors


class Objective:
    """Samples are given as places in ``data.samples``."""

    def __init__(
        self, recipe: Recipe, data: TrainingData, model: SpadeModel, counts: list[TermCounts]
    ) -> None:
        """``counts``: of each collection, where they are needed."""
        self.recipe, self.data, self.model = recipe, data, model
        self.relevant: dict[str, set[str]] = {}
        for sample in data.samples:
            self.relevant.setdefault(sample.qid, set()).add(sample.positive)
        self.dense: DenseTeacher | None = None
        if recipe.dense_teacher:
            self.dense = DenseTeacher(recipe.dense_teacher, model.kept.device, recipe.max_length)
        self.lexical = [
            BM25Teacher(model.wordpieces, one, recipe.max_length)
            for one in counts
            if recipe.teacher_bm25
        ]
        known: list[TermCounts | None] = [*counts] or [None] * len(data.sizes)
        self.corpus_weights = torch.stack([model.weights_for(one) for one in known])

    def documents(self, places: Sequence[int]) -> list[str]:
        """The documents of a batch: all positives, then all negatives."""
        samples = [self.data.samples[place] for place in places]
        positives = [sample.positive for sample in samples]
        return positives + [docid for sample in samples for docid in sample.negatives]

    def ids(self, docids: list[str]) -> list[list[int]]:
        """Their WordPieces."""
        texts = [self.data.documents[docid] for docid in docids]
        return self.model.wordpieces.document_ids(texts, self.recipe.max_length)

    def loss(
        self,
        places: list[int],
        docids: list[str],
        pointwise: bool,
        documents: Tensor,
        pruned: bool = True,
    ) -> LossParts:
        """Eq. 11, or Eq. 12 with its point-wise term. documents [D, |V|]: those of docids.

        FLOPS are counted where documents are ``pruned``: before that they have nearly all terms.
        """
        queries = query_vectors(self.model, self._requests(places))
        relevance = self._relevance(places, queries, documents)
        own = torch.arange(len(places), device=documents.device)
        # What is relevant too is no negative, be it a copy of the positive or another document.
        known = [self.relevant[self.data.samples[place].qid] for place in places]
        relevant = torch.tensor([[docid in judged for docid in docids] for judged in known])
        relevant[own.cpu(), own.cpu()] = False
        rivals = relevance.masked_fill(relevant.to(documents.device), float("-inf"))
        parts = {"ranking": self.recipe.ranking_weight * losses.ranking_loss(rivals, own)}
        if self.dense or self.data.teacher:
            parts["distillation"] = self._distillation(places, docids, relevance)
        if pointwise:
            asked = queries * self.model.kept  # no document can have a term that was removed
            point = losses.pointwise_loss(asked, documents[: len(places)])
            parts["pointwise"] = self.recipe.lambda_ * point
            if self.recipe.flops and pruned:
                weights = documents.log1p() if self.model.config.saturate else documents
                parts["flops"] = self.recipe.flops * losses.flops_loss(weights)
        return parts

    def hardness(self, places: list[int], positives: Tensor, negatives: Tensor) -> Tensor:
        """The loss of each sample alone, [samples]."""
        queries, weights = query_vectors(self.model, self._requests(places)), self._weights(places)
        positives, negatives = positives * weights, negatives * weights
        if self.model.config.saturate:
            positives, negatives = positives.log1p(), negatives.log1p()
        return losses.hardness(queries, positives, negatives)

    def _relevance(self, places: list[int], queries: Tensor, documents: Tensor) -> Tensor:
        """The scores of all documents for all samples, as an index would give them."""
        if not self.model.config.saturate:
            return losses.scores(queries * self._weights(places), documents)
        collections = [self.data.collection(place) for place in places]
        asked = queries.any(dim=0)
        scores = documents.new_zeros(len(queries), len(documents))
        for number in set(collections):  # what a term is worth is not the same in all
            rows = [row for row, one in enumerate(collections) if one == number]
            worth = (self.model.query_weights * self.corpus_weights[number])[asked]
            saturated = (documents[:, asked] * worth).log1p()
            scores[rows] = losses.scores(queries[rows][:, asked], saturated)
        return scores

    def _weights(self, places: list[int]) -> Tensor:
        """What each term counts for each sample, [samples, |V|]."""
        collections = [self.data.collection(place) for place in places]
        return self.model.query_weights * self.corpus_weights[collections]

    def _texts(self, places: list[int]) -> list[str]:
        return [self.data.queries[self.data.samples[place].qid] for place in places]

    def _requests(self, places: list[int]) -> list[str]:
        """The queries as the pupil is asked; teachers see what they are about only."""
        qids = [self.data.samples[place].qid for place in places]
        return [wrap_query(qid, self.data.queries[qid], self.recipe.requests) for qid in qids]

    def _distillation(self, places: list[int], docids: list[str], relevance: Tensor) -> Tensor:
        """How far our scores are from the teacher's."""
        compare = self._with_dense if self.dense else self._with_file
        student, teacher = compare(places, docids, relevance)
        loss = losses.kl_loss if self.recipe.distillation == "kl" else losses.margin_mse_loss
        return self.recipe.distillation_weight * loss(student, teacher)

    def _with_dense(
        self, places: list[int], docids: list[str], relevance: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Every query with every document of the batch, its positive first."""
        assert self.dense is not None
        queries = self._texts(places)
        texts = [self.data.documents[docid] for docid in docids]
        teacher = self.recipe.teacher_scale * self.dense.scores(queries, texts)
        if self.lexical:
            teacher = teacher + self.recipe.teacher_bm25 * self._lexical(places, texts).to(teacher)
        columns = torch.arange(len(docids)).repeat(len(places), 1)
        for row in range(len(places)):
            columns[row, [0, row]] = columns[row, [row, 0]]
        columns = columns.to(relevance.device)
        return relevance.gather(1, columns), teacher.to(relevance).gather(1, columns)

    def _lexical(self, places: list[int], documents: list[str]) -> Tensor:
        """BM25 as each query's own collection has it, [samples, documents]."""
        collections = [self.data.collection(place) for place in places]
        scores = torch.zeros(len(places), len(documents))
        for number in set(collections):
            rows = [row for row, one in enumerate(collections) if one == number]
            queries = self._texts([places[row] for row in rows])
            scores[rows] = self.lexical[number].scores(queries, documents)
        return scores

    def _with_file(
        self, places: list[int], docids: list[str], relevance: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Every query with its own documents."""
        student, teacher = [], []
        first = len(places)
        for row, place in enumerate(places):
            sample = self.data.samples[place]
            columns = [row, *range(first, first + len(sample.negatives))]
            first += len(sample.negatives)
            student.append(relevance[row, columns])
            known = self.data.teacher[sample.qid]
            teacher.append([known[docids[column]] for column in columns])
        return torch.stack(student), torch.tensor(teacher, device=relevance.device)

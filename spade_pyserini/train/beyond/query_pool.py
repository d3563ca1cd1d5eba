"""A pool of queries: every document of a batch is compared with the pool's nearest queries.

Queries of SpaDE are not encoded by a model, so scoring a document for one more query costs almost
nothing. A batch of 64 documents is therefore compared with hundreds of queries, not only with its
own queries. No judgements are needed: bi-encoders score all queries and documents.

    T(q, d) = sum over teachers of weight * cosine(q, d), plus ``teacher_bm25`` * BM25(q, d)

For each document, the queries with the largest sum of weighted cosines are chosen; BM25 does not
count in this choice. The loss is the sum of two Kullback-Leibler divergences from the teachers'
distribution: over the documents for each query, and over the queries for each document. Long
queries have larger scores, so for the second part, the mean over the documents is subtracted from
the scores of each query.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from spade_pyserini.corpora.topics import read_topics
from spade_pyserini.errors import UsageError
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.train.beyond.losses import kl_loss
from spade_pyserini.train.beyond.score_cache import ScoreCache
from spade_pyserini.train.beyond.scorers import open_embedder
from spade_pyserini.train.beyond.teachers import BM25Teacher
from spade_pyserini.train.data import TrainingData
from spade_pyserini.train.extension import Extension, ScoredBatch
from spade_pyserini.train.extension_settings import DistillationSettings
from spade_pyserini.train.run import Run
from spade_pyserini.train.step import LossParts

logger = logging.getLogger(__name__)
Scores = Callable[[list[int], Tensor, Tensor], Tensor]


class PoolEmbeddings(NamedTuple):
    """The embeddings of all teachers, scaled and concatenated.

    The inner product of a query and a document is the weighted sum of the teachers' cosines.
    ``queries`` is [pool, m]. ``documents`` is [documents, m] and has the order of
    ``TrainingData.documents``.
    """

    queries: Tensor
    documents: Tensor


class QueryPool(Extension):
    """Adds the loss of the pool. ``queries``: the vocabulary ids of each query of the pool."""

    def __init__(
        self,
        settings: DistillationSettings,
        data: TrainingData,
        queries: Sequence[Tensor],
        embeddings: PoolEmbeddings,
        scores: Scores,
        bm25: list[BM25Teacher],
    ) -> None:
        """``scores`` computes the scores of the model, and is called like `Extensions.scores`.

        ``bm25`` is a list with a BM25 teacher for each collection, or an empty list.
        """
        self.settings, self.data = settings, data
        self.queries, self.embeddings = queries, embeddings
        self.student_scores, self.bm25 = scores, bm25
        self.rows = {docid: row for row, docid in enumerate(data.documents)}

    def losses(self, batch: ScoredBatch) -> LossParts:
        rows = [self.rows[docid] for docid in batch.docids]
        teacher = self.embeddings.queries @ self.embeddings.documents[rows].T  # [pool, D]
        nearest = teacher.topk(min(self.settings.pool_queries, len(teacher)), dim=0).indices
        chosen = torch.unique(nearest)
        teacher = teacher[chosen]
        queries = torch.zeros(len(chosen), batch.documents.shape[1])
        for row, query in enumerate(chosen.tolist()):
            queries[row, self.queries[query]] = 1
        if self.bm25:
            texts = [self.data.documents[docid] for docid in batch.docids]
            bm25 = self.bm25[self.data.collection(batch.samples[0])]
            teacher = teacher + self.settings.teacher_bm25 * queries @ bm25.vectors(texts).T
        # Batches come from one collection, whose idf is used for the queries of the pool.
        samples = [batch.samples[0]] * len(chosen)
        student = self.student_scores(samples, queries.to(batch.documents), batch.documents)
        loss = pool_loss(student, teacher.to(student))
        return {"pool": self.settings.pool_weight * loss}


def open_query_pool(
    run: Run, data: TrainingData, wordpieces: WordPieces, scores: Scores, bm25: list[BM25Teacher]
) -> QueryPool:
    """Read the pool of a recipe and embed its queries and the training documents.

    The embeddings are cached in the folder ``cache`` of the run.
    """
    settings = run.recipe.distillation
    teachers = [x for x in run.recipe.teaching.teachers if x.kind == "bi-encoder" and x.weight]
    if not teachers:
        message = "pool_queries needs a bi-encoder; add a table [[teaching.teachers]]"
        raise UsageError(f"recipe: {message} with kind = 'bi-encoder' and a weight")
    further = (read_topics(name, data_dir=run.data_dir) for name in settings.pool)
    texts = list(
        dict.fromkeys([*data.queries.values(), *(x.text for topics in further for x in topics)])
    )
    logger.info("%d queries in the pool, %d documents", len(texts), len(data.documents))
    cache = ScoreCache(run.folder / "cache")
    queries, documents = [], []
    for teacher in teachers:
        model = open_embedder(teacher, cache)
        queries.append(torch.from_numpy(teacher.weight * model.embed_queries(texts)))
        embeddings = model.embed_documents(list(data.documents.values()))
        documents.append(torch.from_numpy(embeddings))
    embedded = PoolEmbeddings(torch.cat(queries, dim=1), torch.cat(documents, dim=1))
    bags = [torch.tensor(wordpieces.query_ids(text), dtype=torch.long) for text in texts]
    return QueryPool(settings, data, bags, embedded, scores, bm25)


def pool_loss(student: Tensor, teacher: Tensor) -> Tensor:
    """Return the sum of both divergences. The scores are [queries, documents] each."""
    by_document = (scores - scores.mean(dim=1, keepdim=True) for scores in (student, teacher))
    return kl_loss(student, teacher) + kl_loss(*(scores.T for scores in by_document))

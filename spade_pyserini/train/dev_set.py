"""A validation collection, and the exact scores of all its documents for all its queries."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from ir_measures import RR, nDCG
from torch import Tensor

from spade_pyserini.corpora import apply_transforms
from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.corpora.topics import read_topics
from spade_pyserini.encode.batches import batches
from spade_pyserini.encode.options import BATCH_TOKENS
from spade_pyserini.errors import InputError
from spade_pyserini.evaluate import evaluate_run
from spade_pyserini.evaluate.measures import evaluate_queries
from spade_pyserini.formats.qrels import Qrels
from spade_pyserini.formats.runs import read_run
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.aggregation import mix
from spade_pyserini.models.extensions import corpus_weights
from spade_pyserini.models.precision import autocast
from spade_pyserini.models.pruning import drop_small_weights
from spade_pyserini.models.tensors import pad_batch
from spade_pyserini.models.term_counts import count_terms
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.progress import counting_bar
from spade_pyserini.records import Document, Hit, Ranking, Topic
from spade_pyserini.train.documents import open_documents
from spade_pyserini.train.queries import query_vectors
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.samples import DataDir, spread
from spade_pyserini.train.settings import DevCollection

logger = logging.getLogger(__name__)
DEPTH = 100  # documents that are ranked for each query
COUNTED_LENGTH = 256  # documents are cut to this many WordPieces to count their terms


class Mixture(NamedTuple):
    """How the two vectors of a document are aggregated: alpha (Eq. 10), and the pruning ratio."""

    alpha: float
    prune_ratio: float = 0.0


class Scores(NamedTuple):
    """The result of `DevSet.scores`.

    relevance [mixtures, topics, documents]: the score of each document for each topic.
    terms [mixtures]: the number of weights above 0 in the aggregated vectors of all documents.
    expanded: the number of weights above 0 in the expansion vectors of all documents.
    weighting_sum: the sum of all weights in the weighting vectors of all documents.
    expansion_sum: the sum of all weights in the expansion vectors of all documents.
    """

    relevance: Tensor
    terms: Tensor
    expanded: int
    weighting_sum: float
    expansion_sum: float


class DevSet:
    """A validation collection in memory: topics, judgements, documents and term counts."""

    def __init__(
        self, collection: DevCollection, wordpieces: WordPieces, data_dir: DataDir = None
    ) -> None:
        self.topics, self.qrels = _read_judged_topics(collection, data_dir)
        corpus = open_documents(collection, data_dir)
        corpus = apply_transforms(corpus, expansions=collection.expansions)
        self.name = corpus.name
        documents = list(corpus)
        _check_relevant_documents(collection, self.qrels, documents)
        texts = (document.contents for document in documents)
        size = wordpieces.vocabulary_size
        self.counts = count_terms(wordpieces, texts, size, COUNTED_LENGTH)
        if collection.pool:
            pool = _pool(collection.pool, collection.depth, self.qrels)
            documents = [document for document in documents if document.docid in pool]
        self.docids = [document.docid for document in documents]
        self.texts = [document.contents for document in documents]

    def scores(
        self, model: SpadeModel, mixtures: Sequence[Mixture], precision: str = "no"
    ) -> Scores:
        """Encode all documents once; for each mixture, score all documents for all topics."""
        weights = model.query_weights * corpus_weights(model, self.counts)
        queries = query_vectors(model, [topic.text for topic in self.topics])
        terms = queries.any(dim=0)  # terms that are in no query do not change the scores
        queries = queries[:, terms]
        relevance = torch.zeros(len(mixtures), len(self.topics), len(self.texts))
        ids = model.wordpieces.document_ids(self.texts, model.config.max_length)
        pruned = any(ratio for _, ratio in mixtures)
        numbers, expanded = torch.zeros(len(mixtures), dtype=torch.long), 0
        sums = [0.0, 0.0]
        for batch, positions in self.batches(ids):
            with autocast(precision, model.kept.device):
                both = model(*pad_batch(batch, model.kept.device))
            own, added = (vectors.float() for vectors in both)
            expanded += int((added > 0).sum())
            for encoder, vectors in enumerate((own, added)):
                sums[encoder] += float((vectors * weights).sum())
            if not pruned:
                numbers += _count_terms(own, added, [alpha for alpha, _ in mixtures])
            # Pruning needs all terms: the term with the largest weight may be in no query.
            columns = slice(None) if pruned else terms
            own, added = (vectors[:, columns] * weights[columns] for vectors in (own, added))
            for number, (alpha, ratio) in enumerate(mixtures):
                mixed = mix(own, added, alpha, model.config.saturate)
                if pruned:
                    mixed = drop_small_weights(mixed, ratio) if ratio else mixed
                    numbers[number] += (mixed > 0).sum()
                    mixed = mixed[:, terms]
                relevance[number][:, positions] = (queries @ mixed.T).cpu()
        return Scores(relevance, numbers, expanded, *sums)

    def batches(self, ids: list[list[int]]) -> Iterator[tuple[list[list[int]], list[int]]]:
        """Yield batches of documents, each with the positions of its documents in ``ids``.

        A progress bar is shown below the progress bar of the training.
        """
        with counting_bar(f"validating {self.name}", "documents", len(ids), leave=False) as bar:
            for batch, positions in batches(ids, BATCH_TOKENS):
                yield batch, positions
                bar.update(len(batch))

    def documents(self) -> Iterator[tuple[str, str]]:
        """Yield the id and the text of each document."""
        yield from zip(self.docids, self.texts, strict=True)

    def measure(self, relevance: Tensor) -> tuple[float, float]:
        """Return MRR@10 and nDCG@10 of the scores [topics, documents]."""
        figures = evaluate_run(self.qrels, self._rank(relevance), [RR @ 10, nDCG @ 10])
        return figures[RR @ 10], figures[nDCG @ 10]

    def query_scores(self, relevance: Tensor) -> dict[str, float]:
        """Return MRR@10 of each query, by its id, for the scores [topics, documents]."""
        return evaluate_queries(self.qrels, self._rank(relevance), [RR @ 10])[RR @ 10]

    def _rank(self, relevance: Tensor) -> list[Ranking]:
        best = relevance.topk(min(DEPTH, relevance.shape[1]), dim=1)
        rows = zip(self.topics, best.values.tolist(), best.indices.tolist(), strict=True)
        return [
            Ranking(
                topic.qid,
                [
                    Hit(self.docids[position], score)
                    for score, position in zip(scores, positions, strict=True)
                    if score > 0
                ],
            )
            for topic, scores, positions in rows
        ]


def _count_terms(own: Tensor, added: Tensor, alphas: list[float]) -> Tensor:
    """Return the number of terms of the aggregated vectors for each alpha, [alphas]."""
    only = {0.0: own > 0, 1.0: added > 0}  # with alpha 0 or 1, only one encoder contributes
    numbers = {alpha: int(terms.sum()) for alpha, terms in only.items()}
    either = int((only[0.0] | only[1.0]).sum())
    return torch.tensor([numbers.get(alpha, either) for alpha in alphas])


def load_dev_sets(recipe: Recipe, wordpieces: WordPieces, data_dir: DataDir = None) -> list[DevSet]:
    """Read all validation collections of a recipe; names are looked up below ``data_dir``."""
    return [DevSet(collection, wordpieces, data_dir) for collection in recipe.dev_collections]


def _read_judged_topics(collection: DevCollection, data_dir: DataDir) -> tuple[list[Topic], Qrels]:
    """Return the topics that have judgements, and these judgements.

    If ``collection.sample`` is set, the topics are a sample, spread evenly over the file.
    """
    judged = read_qrels(collection.qrels, data_dir=data_dir)
    topics = read_topics(collection.queries, data_dir=data_dir)
    topics = [topic for topic in topics if topic.qid in judged]
    if not topics:
        raise InputError(f"no topic has judgements in {collection.qrels}", collection.queries)
    topics = spread(topics, collection.sample)
    return topics, {topic.qid: judged[topic.qid] for topic in topics}


def _check_relevant_documents(
    collection: DevCollection, qrels: Qrels, documents: list[Document]
) -> None:
    relevant = {docid for judged in qrels.values() for docid, grade in judged.items() if grade > 0}
    missing = relevant.difference(document.docid for document in documents)
    if missing == relevant:
        message = f"none of the {len(relevant)} relevant documents of {collection.qrels}"
        raise InputError(f"{message} is in this corpus", collection.corpus)
    if missing:
        message = "%s: %d of %d relevant documents of %s are not in this corpus"
        counts = len(missing), len(relevant)
        logger.warning(message, collection.corpus, *counts, collection.qrels)


def _pool(path: str, depth: int, qrels: Qrels) -> set[str]:
    """Return the ids of all judged documents, and of the first documents in the run ``path``.

    For each query, these are the first ``depth`` documents of the run, or all if ``depth`` is 0.
    """
    pool = {docid for judged in qrels.values() for docid in judged}
    for ranking in read_run(path):
        if ranking.qid in qrels:
            pool.update(hit.docid for hit in ranking.hits[: depth or None])
    return pool

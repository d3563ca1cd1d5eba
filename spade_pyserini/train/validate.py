"""Exact validation: every query against every document, for every alpha of the paper's grid."""

from __future__ import annotations

import copy
import logging
import time
from statistics import fmean
from typing import NamedTuple

import torch
from ir_measures import RR, nDCG
from torch import Tensor

from spade_pyserini.corpora import apply_transforms, open_corpus
from spade_pyserini.corpora.qrels import Qrels, read_qrels
from spade_pyserini.corpora.topics import read_topics
from spade_pyserini.encode.batches import batches
from spade_pyserini.encode.options import BATCH_TOKENS
from spade_pyserini.errors import InputError
from spade_pyserini.evaluate import evaluate_run
from spade_pyserini.formats.runs import read_run
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.adapters import merge_adapters
from spade_pyserini.models.aggregation import mix
from spade_pyserini.models.extensions import corpus_weights
from spade_pyserini.models.precision import autocast
from spade_pyserini.models.tensors import pad_batch
from spade_pyserini.models.term_counts import count_terms
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.records import Hit, Ranking, Topic
from spade_pyserini.train.recipe import DevCollection

logger = logging.getLogger(__name__)
ALPHAS = tuple(step / 10 for step in range(11))
DEPTH = 100
COUNTED_LENGTH = 256  # WordPieces of a document that rarity is counted in


class Validation(NamedTuple):
    """The best alpha and its figures, means over the collections.

    by_alpha: MRR@10 for each alpha; by_collection: MRR@10 of the best alpha. terms and expanded:
    of a document, in all and by the expansion encoder. expansion_share: of the sum of a document's
    weights, at the best alpha.
    """

    alpha: float
    mrr: float
    ndcg: float
    by_alpha: dict[str, float]
    by_collection: dict[str, float]
    terms: float
    expanded: float
    expansion_share: float
    documents_per_second: float


class Scores(NamedTuple):
    """[alphas, topics, documents], and totals over the documents.

    terms: in all, by either encoder or both; weighted, expanded: by one of them.
    """

    relevance: Tensor
    terms: int
    weighted: int
    expanded: int
    weighting_sum: float
    expansion_sum: float


class DevSet:
    """A validation collection, read once."""

    def __init__(self, collection: DevCollection, wordpieces: WordPieces) -> None:
        judged = read_qrels(collection.qrels)
        topics = [topic for topic in read_topics(collection.queries) if topic.qid in judged]
        if not topics:
            raise InputError(f"no topic has judgements in {collection.qrels}", collection.queries)
        if 0 < collection.sample < len(topics):  # evenly spread over the file
            spread = range(collection.sample)
            topics = [topics[place * len(topics) // collection.sample] for place in spread]
        self.topics: list[Topic] = topics
        self.qrels: Qrels = {topic.qid: judged[topic.qid] for topic in topics}
        corpus = apply_transforms(open_corpus(collection.corpus), expansions=collection.expansions)
        self.name = corpus.name
        documents = list(corpus)
        relevant = {x for known in self.qrels.values() for x, grade in known.items() if grade > 0}
        missing = relevant.difference(document.docid for document in documents)
        if missing == relevant:
            message = (
                f"none of the {len(relevant)} relevant documents of {collection.qrels} is in it"
            )
            raise InputError(message, collection.corpus)
        if missing:
            message = "%s: %d of %d relevant documents of %s are not in it"
            counts = len(missing), len(relevant)
            logger.warning(message, collection.corpus, *counts, collection.qrels)
        texts = (document.contents for document in documents)
        size = wordpieces.vocabulary_size
        self.counts = count_terms(wordpieces, texts, size, COUNTED_LENGTH)
        if collection.pool:
            wanted = {docid for known in self.qrels.values() for docid in known}
            for ranking in read_run(collection.pool):
                if ranking.qid in self.qrels:
                    hits = ranking.hits[: collection.depth or None]
                    wanted.update(hit.docid for hit in hits)
            documents = [document for document in documents if document.docid in wanted]
        self.docids = [document.docid for document in documents]
        self.texts = [document.contents for document in documents]

    def scores(self, model: SpadeModel, alphas: tuple[float, ...], precision: str = "no") -> Scores:
        """Encode all documents and compare them with all topics."""
        weights = model.query_weights * corpus_weights(model, self.counts)
        queries = query_vectors(model, [topic.text for topic in self.topics])
        asked = queries.any(dim=0)  # all others can be left out
        queries = queries[:, asked]
        relevance = torch.zeros(len(alphas), len(self.topics), len(self.texts))
        ids = model.wordpieces.document_ids(self.texts, model.config.max_length)
        saturate = model.config.saturate
        terms = weighted = expanded = 0
        sums = [0.0, 0.0]
        for batch, places in batches(ids, BATCH_TOKENS):
            with autocast(precision, model.kept.device):
                both = model(*pad_batch(batch, model.kept.device))
            own, added = (vectors.float() for vectors in both)
            terms += int(((own > 0) | (added > 0)).sum())
            weighted += int((own > 0).sum())
            expanded += int((added > 0).sum())
            for number, vectors in enumerate((own, added)):
                sums[number] += float((vectors * weights).sum())
            own, added = (vectors[:, asked] * weights[asked] for vectors in (own, added))
            for found, alpha in zip(relevance, alphas, strict=True):
                found[:, places] = (queries @ mix(own, added, alpha, saturate).T).cpu()
        return Scores(relevance, terms, weighted, expanded, sums[0], sums[1])

    def measure(self, relevance: Tensor) -> tuple[float, float]:
        """MRR@10 and nDCG@10 of scores [topics, documents]."""
        found = evaluate_run(self.qrels, self._rank(relevance), [RR @ 10, nDCG @ 10])
        return found[RR @ 10], found[nDCG @ 10]

    def _rank(self, relevance: Tensor) -> list[Ranking]:
        best = relevance.topk(min(DEPTH, relevance.shape[1]), dim=1)
        return [
            Ranking(
                topic.qid,
                [
                    Hit(self.docids[place], value)
                    for value, place in zip(values, places, strict=True)
                    if value > 0
                ],
            )
            for topic, values, places in zip(
                self.topics, best.values.tolist(), best.indices.tolist(), strict=True
            )
        ]


@torch.inference_mode()
def validate(
    model: SpadeModel,
    sets: list[DevSet],
    alphas: tuple[float, ...] = ALPHAS,
    precision: str = "no",
) -> Validation:
    """Measure the float scores for each alpha; the best one with all its figures."""
    start = time.perf_counter()
    tried = as_shipped(model)
    with tried.expansion.fixed(tried.kept):
        scores = [one.scores(tried, alphas, precision) for one in sets]
    seconds = time.perf_counter() - start
    figures = {
        alpha: [
            dev.measure(found.relevance[place]) for dev, found in zip(sets, scores, strict=True)
        ]
        for place, alpha in enumerate(alphas)
    }
    by_alpha = {alpha: fmean(mrr for mrr, _ in found) for alpha, found in figures.items()}
    best = max(alphas, key=by_alpha.__getitem__)
    documents = sum(len(dev.texts) for dev in sets)
    weighting = (1 - best) * sum(found.weighting_sum for found in scores)
    expansion = best * sum(found.expansion_sum for found in scores)
    counted = {0.0: "weighted", 1.0: "expanded"}.get(best, "terms")  # what has no share has no term
    return Validation(
        alpha=best,
        mrr=by_alpha[best],
        ndcg=fmean(ndcg for _, ndcg in figures[best]),
        by_alpha={f"{alpha:g}": value for alpha, value in by_alpha.items()},
        by_collection={dev.name: mrr for dev, (mrr, _) in zip(sets, figures[best], strict=True)},
        terms=sum(getattr(found, counted) for found in scores) / documents,
        expanded=sum(found.expanded for found in scores) / documents,
        expansion_share=expansion / (weighting + expansion) if weighting + expansion else 0.0,
        documents_per_second=round(documents / seconds, 2),
    )


def as_shipped(model: SpadeModel) -> SpadeModel:
    """A copy as it will be loaded: layers that both encoders have in common computed once."""
    copied = merge_adapters(model) if model.config.adapter_rank else copy.deepcopy(model)
    return copied.eval()


def query_vectors(model: SpadeModel, texts: list[str]) -> Tensor:
    """Boolean vectors [queries, |V|] of 0 and 1."""
    vectors = torch.zeros(len(texts), len(model.kept))
    for row, text in enumerate(texts):
        vectors[row, model.wordpieces.query_ids(text)] = 1
    return vectors.to(model.kept.device)

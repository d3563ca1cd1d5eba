"""Exact validation: every query against every document, for every alpha of the paper's grid."""

from __future__ import annotations

from typing import NamedTuple

import torch
from ir_measures import RR, nDCG
from torch import Tensor

from spade_pyserini.corpora import open_corpus
from spade_pyserini.encode.shard import BATCH_TOKENS, batches
from spade_pyserini.errors import InputError
from spade_pyserini.evaluate import evaluate_run, read_qrels
from spade_pyserini.evaluate.qrels import Qrels
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.spade import padded
from spade_pyserini.records import Hit, Ranking, Topic
from spade_pyserini.topics import read_topics

ALPHAS = tuple(step / 10 for step in range(11))
DEPTH = 100


class Validation(NamedTuple):
    """The best alpha and its figures; ``terms`` and ``expanded`` are means per document."""

    alpha: float
    mrr: float
    ndcg: float
    by_alpha: dict[str, float]
    terms: float
    expanded: float


class DevSet:
    """A validation collection, read once."""

    def __init__(self, corpus: str, queries: str, qrels: str) -> None:
        self.qrels: Qrels = read_qrels(qrels)
        self.topics: list[Topic] = [
            topic for topic in read_topics(queries) if topic.qid in self.qrels
        ]
        if not self.topics:
            raise InputError(f"no topic has judgements in {qrels}", queries)
        documents = list(open_corpus(corpus))
        self.docids = [document.docid for document in documents]
        self.texts = [document.contents for document in documents]

    @torch.inference_mode()
    def validate(self, model: SpadeModel, alphas: tuple[float, ...] = ALPHAS) -> Validation:
        """MRR@10 of the float scores for each alpha; the best one with all its figures."""
        training = model.training
        model.eval()
        weighting, expansion, terms, expanded = self._scores(model)
        model.train(training)
        results = {}
        for alpha in alphas:
            run = self._rank((1 - alpha) * weighting + alpha * expansion)
            results[alpha] = evaluate_run(self.qrels, run, [RR @ 10, nDCG @ 10])
        best = max(alphas, key=lambda alpha: results[alpha][RR @ 10])
        return Validation(
            alpha=best,
            mrr=results[best][RR @ 10],
            ndcg=results[best][nDCG @ 10],
            by_alpha={f"{alpha:g}": results[alpha][RR @ 10] for alpha in alphas},
            terms=terms,
            expanded=expanded,
        )

    def _scores(self, model: SpadeModel) -> tuple[Tensor, Tensor, float, float]:
        """Scores [topics, documents] of each encoder, and mean numbers of terms."""
        queries = query_vectors(model, [topic.text for topic in self.topics])
        shape = (len(self.topics), len(self.texts))
        weighting, expansion = torch.zeros(shape), torch.zeros(shape)
        ids = model.wordpieces.document_ids(self.texts, model.config.max_length)
        terms = expanded = 0
        for batch, places in batches(ids, BATCH_TOKENS):
            own, added = model(*padded(batch, model.kept.device))
            weighting[:, places] = (queries @ own.T).cpu()
            expansion[:, places] = (queries @ added.T).cpu()
            terms += int(((own > 0) | (added > 0)).sum())
            expanded += int((added > 0).sum())
        return weighting, expansion, terms / len(ids), expanded / len(ids)

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


def query_vectors(model: SpadeModel, texts: list[str]) -> Tensor:
    """Boolean vectors [queries, |V|] of 0 and 1."""
    places = {term: place for place, term in enumerate(model.wordpieces.terms)}
    vectors = torch.zeros(len(texts), len(model.kept))
    for row, text in enumerate(texts):
        for term in model.wordpieces.query_terms(text):
            vectors[row, places[term]] = 1
    return vectors.to(model.kept.device)

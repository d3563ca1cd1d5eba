"""Exact validation: all queries are scored against all documents, for several values of alpha."""

from __future__ import annotations

import copy
import time
from statistics import fmean
from typing import NamedTuple

import torch

from spade_pyserini.models import SpadeModel
from spade_pyserini.models.adapters import merge_adapters
from spade_pyserini.train.dev_set import DevSet, Mixture, Scores

ALPHAS = tuple(step / 10 for step in range(11))


class Validation(NamedTuple):
    """Figures of the best alpha.

    mrr, ndcg: means over the collections. by_alpha: the mean MRR@10 for each alpha. by_collection:
    MRR@10 of each collection with the best alpha. terms: mean number of terms in a document vector.
    expanded: mean number of terms that the expansion encoder gives a document. expansion_share: the
    expansion encoder's share of the sum of all weights. by_query: MRR@10 of each query with the
    best alpha, by the name of its collection and its id.
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
    by_query: dict[str, float]


@torch.inference_mode()
def validate(
    model: SpadeModel,
    sets: list[DevSet],
    alphas: tuple[float, ...] = ALPHAS,
    precision: str = "no",
) -> Validation:
    """Measure MRR@10 with float scores for each alpha; returns the figures of the best alpha."""
    start = time.perf_counter()
    shipped = as_shipped(model)
    with shipped.expansion.fixed(shipped.kept):
        mixtures = [Mixture(alpha, shipped.config.prune_ratio) for alpha in alphas]
        scores = [dev.scores(shipped, mixtures, precision) for dev in sets]
    seconds = time.perf_counter() - start
    measured = list(zip(sets, scores, strict=True))
    figures = {
        alpha: [dev.measure(scores.relevance[number]) for dev, scores in measured]
        for number, alpha in enumerate(alphas)
    }
    by_alpha = {alpha: fmean(mrr for mrr, _ in values) for alpha, values in figures.items()}
    best = max(alphas, key=by_alpha.__getitem__)
    documents = sum(len(dev.texts) for dev in sets)
    return Validation(
        alpha=best,
        mrr=by_alpha[best],
        ndcg=fmean(ndcg for _, ndcg in figures[best]),
        by_alpha={f"{alpha:g}": value for alpha, value in by_alpha.items()},
        by_collection={dev.name: mrr for dev, (mrr, _) in zip(sets, figures[best], strict=True)},
        terms=sum(int(part.terms[alphas.index(best)]) for part in scores) / documents,
        expanded=sum(part.expanded for part in scores) / documents,
        expansion_share=_expansion_share(scores, best),
        documents_per_second=round(documents / seconds, 2),
        by_query={
            f"{dev.name} {qid}": score
            for dev, part in measured
            for qid, score in dev.query_scores(part.relevance[alphas.index(best)]).items()
        },
    )


def _expansion_share(scores: list[Scores], alpha: float) -> float:
    weighting = (1 - alpha) * sum(part.weighting_sum for part in scores)
    expansion = alpha * sum(part.expansion_sum for part in scores)
    return expansion / (weighting + expansion) if weighting + expansion else 0.0


def as_shipped(model: SpadeModel) -> SpadeModel:
    """Return a copy of the model as users load it: adapters merged, in eval mode."""
    if model.config.adapter_rank:
        return merge_adapters(model).eval()
    return copy.deepcopy(model).eval()

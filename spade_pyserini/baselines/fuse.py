"""Fuse several runs into one, by ranks or by scores."""

from __future__ import annotations

import logging
import math
from collections import defaultdict

from spade_pyserini.errors import NoCommonTopicError, UsageError
from spade_pyserini.records import Hit, Ranking

MAX_WEIGHT = 1e30  # keeps sums in the range of 32-bit floats, which trec_eval uses
METHODS = ("rrf", "interpolation")
logger = logging.getLogger(__name__)


def fuse(
    runs: list[list[Ranking]],
    method: str = "rrf",
    k: int = 60,
    weights: list[float] | None = None,
    hits: int = 1000,
) -> list[Ranking]:
    """Fuse runs into one ranking per topic; topics are in order of appearance.

    ``rrf`` adds up weight / (k + rank) (Cormack et al., SIGIR 2009). ``interpolation`` adds up
    weight * score, with the scores of each topic scaled to 0..1 (Pyserini's ``normalize``). A run
    adds nothing to the score of a document that it does not contain. Weights are 1 by default. Ties
    are ordered by docid.
    """
    weights = [1.0] * len(runs) if weights is None else weights
    _check_arguments(runs, method, weights)
    hits_by_topic = [{ranking.qid: ranking.hits for ranking in run} for run in runs]
    topics = list(dict.fromkeys(qid for run in hits_by_topic for qid in run))
    if missing := len(topics) - len(_common_topics(hits_by_topic)):
        message = "%d of %d topics are not in all runs; each is fused from the runs that contain it"
        logger.warning(message, missing, len(topics))
    fused = []
    for qid in topics:
        summands: dict[str, list[float]] = defaultdict(list)
        for run, weight in zip(hits_by_topic, weights, strict=True):
            ranked = run.get(qid, [])
            values = _reciprocal_ranks(ranked, k) if method == "rrf" else _normalised(ranked)
            for hit, value in zip(ranked, values, strict=True):
                summands[hit.docid].append(weight * value)
        # The sum is exact, so that the order of the runs does not matter.
        summed = [Hit(docid, math.fsum(values)) for docid, values in summands.items()]
        summed.sort(key=lambda hit: (-hit.score, hit.docid))
        fused.append(Ranking(qid, summed[:hits]))
    return fused


def _check_arguments(runs: list[list[Ranking]], method: str, weights: list[float]) -> None:
    if len(runs) < 2:
        raise UsageError("fusion needs two runs or more")
    if method not in METHODS:
        raise UsageError(f"there is no fusion method {method!r}; choose {' or '.join(METHODS)}")
    if len(weights) != len(runs):
        raise UsageError(f"{len(weights)} weights for {len(runs)} runs; give one for each run")
    if not all(abs(weight) <= MAX_WEIGHT for weight in weights):
        raise UsageError(
            f"weights must be numbers from -{MAX_WEIGHT:g} to {MAX_WEIGHT:g}, not {weights}"
        )


def _common_topics(runs: list[dict[str, list[Hit]]]) -> set[str]:
    """The topics that are in all runs; raises `NoCommonTopicError` if there is none."""
    common = set(runs[0]).intersection(*runs[1:])
    if not common:
        raise NoCommonTopicError("no topic is in all runs; fuse runs of the same topics")
    return common


def _reciprocal_ranks(hits: list[Hit], k: int) -> list[float]:
    return [1 / (k + rank) for rank in range(1, len(hits) + 1)]


def _normalised(hits: list[Hit]) -> list[float]:
    """The scores, scaled so that the lowest is 0 and the highest is 1; all 1 if they are equal."""
    scores = [hit.score for hit in hits]
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]

"""Several runs to one, by ranks or by scores."""

from __future__ import annotations

import logging
import math
from collections import defaultdict

from spade_pyserini.errors import NoCommonTopicError, UsageError
from spade_pyserini.records import Hit, Ranking

LARGEST = 1e30  # of a weight; sums stay within the 32 bits of trec_eval
METHODS = ("rrf", "interpolation")
logger = logging.getLogger(__name__)


def fuse(
    runs: list[list[Ranking]],
    method: str = "rrf",
    k: int = 60,
    weights: list[float] | None = None,
    hits: int = 1000,
) -> list[Ranking]:
    """One ranking a topic, in the order in which the runs bring the topics; ties by docid.

    ``rrf`` adds weight / (k + rank) (Cormack et al., SIGIR 2009). ``interpolation`` adds
    weight * score, the scores of each topic brought to 0 to 1 first (Pyserini's ``normalize``).
    A document that a run does not have gets 0 from it. All weights are 1 unless given.
    """
    if len(runs) < 2:
        raise UsageError("fusion takes two runs or more")
    if method not in METHODS:
        raise UsageError(f"no fusion is called {method!r}; there are {' and '.join(METHODS)}")
    weights = [1.0] * len(runs) if weights is None else weights
    if len(weights) != len(runs):
        raise UsageError(f"{len(weights)} weights for {len(runs)} runs; give one for each run")
    if not all(abs(weight) <= LARGEST for weight in weights):
        raise UsageError(f"weights are numbers up to {LARGEST:g}, not {weights}")
    found = [{ranking.qid: ranking.hits for ranking in run} for run in runs]
    topics = list(dict.fromkeys(qid for run in found for qid in run))
    if partial := len(topics) - len(_common(found)):
        logger.warning("%d of %d topics are in some of the runs only", partial, len(topics))
    fused = []
    for qid in topics:
        parts: dict[str, list[float]] = defaultdict(list)
        for run, weight in zip(found, weights, strict=True):
            ranked = run.get(qid, [])
            values = _reciprocal_ranks(ranked, k) if method == "rrf" else _normalised(ranked)
            for hit, value in zip(ranked, values, strict=True):
                parts[hit.docid].append(weight * value)
        # An exact sum: the order of the runs breaks no tie.
        summed = [Hit(docid, math.fsum(values)) for docid, values in parts.items()]
        summed.sort(key=lambda hit: (-hit.score, hit.docid))
        fused.append(Ranking(qid, summed[:hits]))
    return fused


def _common(found: list[dict[str, list[Hit]]]) -> set[str]:
    common = set(found[0]).intersection(*found[1:])
    if not common:
        raise NoCommonTopicError("no topic is in all runs; fuse runs of the same topics")
    return common


def _reciprocal_ranks(hits: list[Hit], k: int) -> list[float]:
    return [1 / (k + rank) for rank in range(1, len(hits) + 1)]


def _normalised(hits: list[Hit]) -> list[float]:
    """From 0 for the lowest score to 1 for the highest; where all are the same, 1."""
    scores = [hit.score for hit in hits]
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]

"""Comparison of two runs, a baseline and a candidate, topic by topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spade_pyserini.formats.qrels import Qrels
from spade_pyserini.records import Ranking

if TYPE_CHECKING:
    from ir_measures import Measure

    from spade_pyserini.evaluate.significance import PairedTest

MEASURE = "nDCG@10"


class TopicDifference(NamedTuple):
    """A topic's scores in both runs; the difference is above 0 if the candidate is better."""

    qid: str
    baseline: float
    candidate: float
    difference: float


class Tally(NamedTuple):
    """The numbers of topics on which the candidate is better, equal and worse."""

    wins: int
    ties: int
    losses: int


def compare_topics(
    qrels: Qrels,
    baseline: list[Ranking],
    candidate: list[Ranking],
    measure: Measure,
    level: int = 1,
) -> list[TopicDifference]:
    """Score both runs and return the differences of all judged topics, largest gain first."""
    from spade_pyserini.evaluate.measures import at_level, evaluate_queries

    leveled = at_level(measure, level)
    scores = (evaluate_queries(qrels, run, [leveled])[leveled] for run in (baseline, candidate))
    return topic_differences(*scores)


def topic_differences(
    baseline: dict[str, float], candidate: dict[str, float]
) -> list[TopicDifference]:
    """Return the differences of scores by topic, largest gain first."""
    differences = [
        TopicDifference(qid, before, candidate[qid], candidate[qid] - before)
        for qid, before in baseline.items()
    ]
    return sorted(differences, key=lambda topic: (-topic.difference, topic.qid))


def tally(differences: list[TopicDifference]) -> Tally:
    """Count wins, ties and losses of the candidate."""
    wins = sum(topic.difference > 0 for topic in differences)
    losses = sum(topic.difference < 0 for topic in differences)
    return Tally(wins, len(differences) - wins - losses, losses)


def extremes(
    differences: list[TopicDifference], top: int
) -> tuple[list[TopicDifference], list[TopicDifference]]:
    """Return two lists: the ``top`` largest gains and the ``top`` largest losses, largest first."""
    gains = [topic for topic in differences if topic.difference > 0]
    losses = [topic for topic in reversed(differences) if topic.difference < 0]
    return gains[:top], losses[:top]


def t_test(differences: list[TopicDifference]) -> PairedTest:
    """Return the paired t-test over the topics."""
    from spade_pyserini.evaluate.significance import paired_t_test

    baseline = {topic.qid: topic.baseline for topic in differences}
    return paired_t_test(baseline, {topic.qid: topic.candidate for topic in differences})

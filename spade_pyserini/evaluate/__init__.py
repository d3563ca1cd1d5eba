"""Scoring runs against relevance judgements."""

from spade_pyserini.evaluate.comparison import Comparison, compare_runs, read_runs
from spade_pyserini.evaluate.measures import DEFAULT_MEASURES, evaluate_run, parse_measures
from spade_pyserini.evaluate.qrels import read_qrels, relevance_level

__all__ = [
    "DEFAULT_MEASURES",
    "Comparison",
    "compare_runs",
    "evaluate_run",
    "parse_measures",
    "read_qrels",
    "read_runs",
    "relevance_level",
]

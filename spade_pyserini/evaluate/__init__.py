"""Scoring runs against relevance judgements."""

from spade_pyserini.evaluate.measures import DEFAULT_MEASURES, evaluate_run, parse_measures
from spade_pyserini.evaluate.qrels import read_qrels

__all__ = ["DEFAULT_MEASURES", "evaluate_run", "parse_measures", "read_qrels"]

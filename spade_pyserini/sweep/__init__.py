"""Effectiveness, latency and index size over alpha, gamma and k."""

from spade_pyserini.sweep.run import sweep

__all__ = ["sweep"]

"""Lucene indexes, built by Anserini through Pyserini and checked afterwards."""

from spade_pyserini.index.build import build_bm25_index, build_impact_index
from spade_pyserini.index.manifest import IndexManifest

__all__ = ["IndexManifest", "build_bm25_index", "build_impact_index"]

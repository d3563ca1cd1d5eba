"""Searching a Lucene index with boolean WordPieces: a tokenizer, a JVM, no model."""

from spade_pyserini.formats.runs import read_run, write_run
from spade_pyserini.search.batch import search_topics
from spade_pyserini.search.impact import Bm25Searcher, ImpactSearcher, open_searcher

__all__ = [
    "Bm25Searcher",
    "ImpactSearcher",
    "open_searcher",
    "read_run",
    "search_topics",
    "write_run",
]

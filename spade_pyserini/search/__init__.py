"""Search a Lucene index. Boolean queries need a tokenizer and a JVM, but no model."""

from spade_pyserini.formats.runs import read_run, write_run
from spade_pyserini.search.batch import SearchOptions, search_topics
from spade_pyserini.search.bm25 import Bm25Searcher
from spade_pyserini.search.impact import ImpactSearcher
from spade_pyserini.search.open import open_searcher

__all__ = [
    "Bm25Searcher",
    "ImpactSearcher",
    "SearchOptions",
    "open_searcher",
    "read_run",
    "search_topics",
    "write_run",
]

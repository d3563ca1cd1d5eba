"""SpaDE on Pyserini: learned sparse retrieval without a neural network at query time.

The flow of the data through the packages::

    corpora -> encode (models) -> index -> search -> evaluate
                  ^
                train

Each public name is imported when it is first used: a search with SpaDE does not import torch.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spade_pyserini._lazy import lazy

if TYPE_CHECKING:
    from spade_pyserini.corpora import open_corpus
    from spade_pyserini.corpora.qrels import read_qrels
    from spade_pyserini.corpora.topics import read_topics
    from spade_pyserini.encode import EncodeOptions, encode_corpus
    from spade_pyserini.errors import SpadeError
    from spade_pyserini.evaluate import evaluate_run
    from spade_pyserini.formats.vectors import read_vectors
    from spade_pyserini.index import IndexOptions, build_bm25_index, build_impact_index
    from spade_pyserini.integrations.memory import rank
    from spade_pyserini.models import SpadeConfig, SpadeEncoder, SpadeModel
    from spade_pyserini.records import Document, Hit, ImpactVector, Ranking, Topic
    from spade_pyserini.search import (
        Bm25Searcher,
        ImpactSearcher,
        SearchOptions,
        read_run,
        search_topics,
        write_run,
    )
    from spade_pyserini.search.wordpiece_topics import write_wordpiece_topics

    __version__: str

# Lets `python -m spade_pyserini.stats` run cli/stats.py. The other commands work the same way.
__path__.append(str(Path(__file__).with_name("cli")))

_HOMES = {
    "corpora": ["open_corpus"],
    "models": ["SpadeConfig", "SpadeEncoder", "SpadeModel"],
    "encode": ["EncodeOptions", "encode_corpus"],
    "formats.vectors": ["read_vectors"],
    "index": ["IndexOptions", "build_bm25_index", "build_impact_index"],
    "corpora.topics": ["read_topics"],
    "search.wordpiece_topics": ["write_wordpiece_topics"],
    "search": [
        *("Bm25Searcher", "ImpactSearcher", "SearchOptions"),
        *("read_run", "search_topics", "write_run"),
    ],
    "integrations.memory": ["rank"],
    "evaluate": ["evaluate_run"],
    "corpora.qrels": ["read_qrels"],
    "records": ["Document", "Hit", "ImpactVector", "Ranking", "Topic"],
    "errors": ["SpadeError"],
}

__all__ = [
    "Bm25Searcher",
    "Document",
    "EncodeOptions",
    "Hit",
    "ImpactSearcher",
    "ImpactVector",
    "IndexOptions",
    "Ranking",
    "SearchOptions",
    "SpadeConfig",
    "SpadeEncoder",
    "SpadeError",
    "SpadeModel",
    "Topic",
    "build_bm25_index",
    "build_impact_index",
    "encode_corpus",
    "evaluate_run",
    "open_corpus",
    "rank",
    "read_qrels",
    "read_run",
    "read_topics",
    "read_vectors",
    "search_topics",
    "write_run",
    "write_wordpiece_topics",
]


_load = lazy(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    if name == "__version__":  # read from the metadata of the installed package
        return version("spade_pyserini")
    return _load(name)


def __dir__() -> list[str]:
    return sorted(__all__)

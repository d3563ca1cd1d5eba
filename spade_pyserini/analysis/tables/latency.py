"""Milliseconds per query of an index, without the time to encode queries, as in the paper."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from pathlib import Path

from spade_pyserini.models.queries import PreEncodedQueries
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.records import Topic

HITS = 1000
TIMED_QUERIES = 500  # minimum number of timed queries; each topic is searched equally often
WARM_UP = 2  # passes over the topics before the first timed pass


def milliseconds(search: Callable[[Topic], object], topics: list[Topic]) -> float:
    """Search one topic at a time; return the milliseconds per query of the fastest pass."""
    seconds = []
    for _ in range(WARM_UP + -(-TIMED_QUERIES // len(topics))):
        start = time.perf_counter()
        for topic in topics:
            search(topic)
        seconds.append(time.perf_counter() - start)
    return round(min(seconds[WARM_UP:]) / len(topics) * 1000, 3)


def has_pisa() -> bool:
    """Return whether PISA is installed."""
    return importlib.util.find_spec("pyterrier_pisa") is not None


def pisa_milliseconds(index: Path, folder: Path, vectors: dict[str, dict[str, int]]) -> float:
    """Convert an impact index to a PISA index in ``folder``; return the milliseconds per query.

    vectors: the weights of query terms, by topic id.
    """
    from spade_pyserini.export.folder import TOKENIZER
    from spade_pyserini.export.pisa import PisaSearcher, write_pisa

    write_pisa(index, folder, overwrite=True)
    queries = PreEncodedQueries(WordPieces.load(folder / TOKENIZER), vectors)
    searcher = PisaSearcher(folder, queries=queries)
    topics = [Topic(qid, qid) for qid in vectors]
    return milliseconds(lambda topic: searcher.batch_search([topic], HITS), topics)

"""Measure one setting: write its vectors, build a Lucene index, and search it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.analysis.sweep.components import Components
from spade_pyserini.analysis.sweep.options import Setting
from spade_pyserini.analysis.sweep.results import Row
from spade_pyserini.formats.paths import folder_bytes, remove
from spade_pyserini.index import IndexOptions, build_impact_index
from spade_pyserini.index.queries import MakeQueries
from spade_pyserini.records import Ranking, Topic
from spade_pyserini.search import ImpactSearcher

HITS = 1000
TIMED_QUERIES = 500  # minimum number of timed queries; each topic is searched equally often


class Measurement(NamedTuple):
    """The rankings of a setting and its costs: latency and sizes."""

    rankings: list[Ranking]
    costs: Row


def measure_setting(
    components: Components,
    setting: Setting,
    topics: list[Topic],
    work: Path,
    warm_up: int,
    queries: MakeQueries | None = None,
) -> Measurement:
    """Build and search the index of a setting in the folder ``work``; then remove the folder.

    ``warm_up`` is the number of passes over the topics before the first timed pass. ``queries``
    creates the query encoder, if the vectors need a neural one.
    """
    with _temporary(work):
        sizes = _build(components, setting, work)
        rankings, latency = _search(work / "index", topics, warm_up, queries)
    return Measurement(rankings, {"ms per query": round(latency, 3), **sizes})


@contextmanager
def _temporary(folder: Path) -> Iterator[None]:
    remove(folder)  # left by a killed run
    try:
        yield
    finally:
        remove(folder)


def _build(components: Components, setting: Setting, work: Path) -> Row:
    """Build the index and return its sizes."""
    removed = components.frequent(setting.gamma)
    scale = components.scale(setting.alpha, removed)
    vectors = components.write_vectors(
        work / "vectors", setting.alpha, removed, scale, setting.prune_ratio
    )
    build_impact_index(work / "vectors", work / "index", IndexOptions(optimize=True))
    return {
        "index MB": round(folder_bytes(work / "index") / 1e6, 3),
        "terms per document": round(vectors.terms_per_document, 2),
        "documents": vectors.documents,
        "removed terms": len(removed),
    }


def _search(
    index: Path, topics: list[Topic], warm_up: int, queries: MakeQueries | None
) -> tuple[list[Ranking], float]:
    """Search one query at a time; return the rankings and the milliseconds per query.

    The latency is that of the fastest pass over the topics, which is least disturbed by other
    processes on the machine.
    """
    seconds = []
    with ImpactSearcher(index, queries=queries) as searcher:
        for _ in range(warm_up + -(-TIMED_QUERIES // len(topics))):
            start = time.perf_counter()
            rankings = [Ranking(topic.qid, searcher.search(topic.text, HITS)) for topic in topics]
            seconds.append(time.perf_counter() - start)
    return rankings, min(seconds[warm_up:]) / len(topics) * 1000

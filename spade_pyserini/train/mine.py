"""Hard negatives: what BM25 ranks high for a query and nobody judged relevant."""

from __future__ import annotations

import logging
from pathlib import Path

from spade_pyserini.corpora import open_corpus
from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.corpora.topics import read_topics
from spade_pyserini.errors import OutputExistsError, UsageError
from spade_pyserini.index import build_bm25_index
from spade_pyserini.search import Bm25Searcher, SearchOptions, search_topics, write_run
from spade_pyserini.train.recipe import Recipe

logger = logging.getLogger(__name__)
HITS = 100


def mine_negatives(recipe: Recipe, output: str | Path, hits: int = HITS) -> list[Path]:
    """Search the recipe's queries with BM25; returns the runs that were written.

    ``negatives.<corpus>.txt`` is for the setting ``negatives``: relevant documents are left out
    when samples are made from it. ``pool.<corpus>.txt`` is for a validation's ``pool``.
    """
    folder = Path(output)
    wanted: list[tuple[str, str, str, str | None]] = []
    for collection in recipe.collections:
        if not collection.queries:
            raise UsageError("the recipe names no queries; add --set queries=...")
        name = f"negatives.{open_corpus(collection.corpus).name}.txt"
        wanted.append((name, collection.corpus, collection.queries, collection.qrels))
    for dev in recipe.dev_collections:
        name = f"pool.{open_corpus(dev.corpus).name}.txt"
        wanted.append((name, dev.corpus, dev.queries, dev.qrels))
    wanted = list(dict.fromkeys(wanted))
    corpora: dict[str, str] = {}
    for number, (name, corpus, *_) in enumerate(wanted):
        if name in (other for other, *_ in wanted[:number]):
            raise UsageError(f"two collections of the recipe would write {name}; mine them apart")
        same = corpora.setdefault(open_corpus(corpus).name, corpus)
        if same != corpus:
            raise UsageError(f"{same} and {corpus} have the same name; mine them apart")
    for name, corpus, queries, qrels in wanted:
        _search(corpus, queries, qrels, folder / name, hits)
    return [folder / name for name, *_ in wanted]


def _search(corpus: str, queries: str, qrels: str | None, path: Path, hits: int) -> None:
    topics = read_topics(queries)
    if qrels is not None:
        judged = read_qrels(qrels)
        topics = [topic for topic in topics if topic.qid in judged]
    documents = open_corpus(corpus)
    index = path.parent / f"bm25.{documents.name}"
    try:
        build_bm25_index(documents, index, threads=2)
    except OutputExistsError:  # of a corpus that has changed since
        build_bm25_index(documents, index, threads=2, overwrite=True)
    with Bm25Searcher(index) as searcher:
        rankings = search_topics(searcher, topics, SearchOptions(hits=hits, threads=2))
        without = write_run(rankings, path, "bm25", overwrite=True)
    logger.info("%s: %d topics, %d of them without a hit", path, len(topics), without)

"""Hard negatives: documents that BM25 ranks high for a query and that are not judged relevant."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.corpora.topics import read_topics
from spade_pyserini.errors import OutputExistsError, UsageError
from spade_pyserini.index import build_bm25_index
from spade_pyserini.records import Topic
from spade_pyserini.search import Bm25Searcher, SearchOptions, search_topics, write_run
from spade_pyserini.train.documents import CorpusSource, corpus_source
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.samples import DataDir

logger = logging.getLogger(__name__)
HITS = 100


class MinedRun(NamedTuple):
    """A run to write: its file name, and the corpus, queries and qrels that it is made from."""

    file: str
    corpus: CorpusSource
    queries: str
    qrels: str | None


def mine_negatives(
    recipe: Recipe, output: str | Path, *, hits: int = HITS, data_dir: DataDir = None
) -> list[Path]:
    """Search the recipe's queries with BM25; returns the runs that were written.

    ``negatives.<corpus>.txt`` is for the setting ``negatives``. It also contains relevant
    documents, which training skips. Collections with a ``teacher`` have none: the stage ``teach``
    writes their candidates. ``pool.<corpus>.txt`` is for the setting ``pool`` of a
    validation collection.
    """
    folder = Path(output)
    runs = _runs_to_mine(recipe, data_dir)
    for run in runs:
        _search(run, folder, hits, data_dir)
    return [folder / run.file for run in runs]


def _runs_to_mine(recipe: Recipe, data_dir: DataDir) -> list[MinedRun]:
    def name(corpus: CorpusSource) -> str:
        return corpus.open(data_dir).name

    runs: list[MinedRun] = []
    for collection in recipe.training_collections:
        if collection.teacher:
            continue
        corpus, queries = corpus_source(collection), collection.queries
        if not queries:
            raise UsageError("the recipe names no queries; add queries=NAME")
        file = f"negatives.{name(corpus)}.txt"
        runs.append(MinedRun(file, corpus, queries, collection.qrels))
    for dev in recipe.dev_collections:
        corpus = corpus_source(dev)
        runs.append(MinedRun(f"pool.{name(corpus)}.txt", corpus, dev.queries, dev.qrels))
    runs = list(dict.fromkeys(runs))
    files: set[str] = set()
    corpora: dict[str, CorpusSource] = {}
    for run in runs:
        if run.file in files:
            message = f"two collections of the recipe would write {run.file}"
            raise UsageError(f"{message}; mine them with two recipes")
        files.add(run.file)
        other = corpora.setdefault(name(run.corpus), run.corpus)
        if other != run.corpus:
            message = f"{other.corpus} and {run.corpus.corpus} have the same name"
            if other.corpus == run.corpus.corpus:
                message = f"{other.corpus} is used with different columns"
            raise UsageError(f"{message}; mine them with two recipes")
    return runs


def _search(run: MinedRun, folder: Path, hits: int, data_dir: DataDir) -> None:
    topics = read_topics(run.queries, data_dir=data_dir)
    if run.qrels is not None:
        judged = read_qrels(run.qrels, data_dir=data_dir)
        topics = [topic for topic in topics if topic.qid in judged]
    path = folder / run.file
    with _bm25(run.corpus, folder, data_dir) as searcher:
        rankings = search_topics(searcher, topics, SearchOptions(hits=hits, threads=2))
        without = write_run(rankings, path, "bm25", overwrite=True)
    logger.info("%s: %d topics, %d of them without a hit", path, len(topics), without)


def bm25_hits(
    corpus: CorpusSource, topics: list[Topic], folder: Path, hits: int, data_dir: DataDir
) -> dict[str, list[str]]:
    """Return the docids of BM25's first hits for each topic. The index is kept in ``folder``."""
    with _bm25(corpus, folder, data_dir) as searcher:
        rankings = search_topics(searcher, topics, SearchOptions(hits=hits, threads=2))
        return {ranking.qid: [hit.docid for hit in ranking.hits] for ranking in rankings}


def _bm25(corpus: CorpusSource, folder: Path, data_dir: DataDir) -> Bm25Searcher:
    """A searcher of the corpus, whose index is built in ``folder`` unless it is there already."""
    documents = corpus.open(data_dir)
    index = folder / f"bm25.{documents.name}"
    try:
        build_bm25_index(documents, index, threads=2)
    except OutputExistsError:  # the corpus has changed since the index was built
        build_bm25_index(documents, index, threads=2, overwrite=True)
    return Bm25Searcher(index)

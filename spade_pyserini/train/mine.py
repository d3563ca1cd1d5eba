"""Hard negatives: documents that BM25 ranks high for a query and that are not judged relevant.

If BM25 finds too few such documents for a training query, random documents are added.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.corpora.topics import read_topics
from spade_pyserini.errors import OutputExistsError, UsageError
from spade_pyserini.formats.qrels import Qrels
from spade_pyserini.index import build_bm25_index
from spade_pyserini.records import Topic
from spade_pyserini.search import Bm25Searcher, SearchOptions, search_topics, write_run
from spade_pyserini.train.documents import CorpusSource, corpus_source
from spade_pyserini.train.random_negatives import (
    lacks_negatives,
    random_pool,
    with_random_negatives,
)
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.samples import DataDir

logger = logging.getLogger(__name__)
HITS = 100
TRAINING, VALIDATION = "training", "validation"
WITHOUT_HITS = "BM25 finds no document for %d of the %d %s queries; %s"
TOO_FEW = "for %d of the %d %s queries, BM25 finds too few documents that are not relevant; %s"
RANDOM = "random documents are used as their negatives"
SCORE_0 = "they stay in the validation set, where BM25 gets the score 0 for them"
UNLABELLED = "training does not use them"


class MinedRun(NamedTuple):
    """A run to write: its file name, and the corpus, queries and qrels that it is made from.

    ``purpose`` is what the queries are for: training or validation.
    """

    purpose: str
    file: str
    corpus: CorpusSource
    queries: str
    qrels: str | None


def negatives_file(corpus: str) -> str:
    """Return the file name of the run with the hard negatives from a corpus."""
    return f"negatives.{corpus}.txt"


def pool_file(corpus: str) -> str:
    """Return the file name of the run with the validation pool from a corpus."""
    return f"pool.{corpus}.txt"


def mine_negatives(
    recipe: Recipe, output: str | Path, *, hits: int = HITS, data_dir: DataDir = None
) -> list[Path]:
    """Search the recipe's queries with BM25; returns the runs that were written.

    ``negatives.<corpus>.txt`` is for the setting ``negatives``. It also contains relevant
    documents, which training skips. If a judged query has fewer than ``hard_negatives`` hits that
    are not relevant, random documents follow its hits. Collections with a ``teacher`` are skipped:
    the stage ``teach`` writes their candidates. ``pool.<corpus>.txt`` is for the setting ``pool``
    of a validation collection.
    """
    folder = Path(output)
    runs = _runs_to_mine(recipe, data_dir)
    searchers: dict[CorpusSource, Bm25Searcher] = {}
    with ExitStack() as stack:
        for run in runs:
            if run.corpus not in searchers:
                searchers[run.corpus] = stack.enter_context(_bm25(run.corpus, folder, data_dir))
            _search(run, searchers[run.corpus], recipe, folder, hits, data_dir)
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
        file = negatives_file(name(corpus))
        runs.append(MinedRun(TRAINING, file, corpus, queries, collection.qrels))
    for dev in recipe.dev_collections:
        corpus = corpus_source(dev)
        file = pool_file(name(corpus))
        runs.append(MinedRun(VALIDATION, file, corpus, dev.queries, dev.qrels))
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
            raise UsageError(f"{message}; mine these two collections with two recipes")
    return runs


def _search(
    run: MinedRun,
    searcher: Bm25Searcher,
    recipe: Recipe,
    folder: Path,
    hits: int,
    data_dir: DataDir,
) -> None:
    """Search the queries of a run, add random negatives where they are needed, write the run."""
    topics = read_topics(run.queries, data_dir=data_dir)
    judged: Qrels | None = None
    if run.qrels is not None:
        judged = read_qrels(run.qrels, data_dir=data_dir)
        topics = [topic for topic in topics if topic.qid in judged]
    path = folder / run.file
    rankings = list(search_topics(searcher, topics, SearchOptions(hits=hits, threads=2)))
    logger.info("%s: the BM25 hits of %d %s queries", path, len(topics), run.purpose)
    without = {ranking.qid for ranking in rankings if not ranking.hits}
    random = run.purpose == TRAINING and judged is not None
    if without:
        use = RANDOM if random else SCORE_0 if run.purpose == VALIDATION else UNLABELLED
        logger.info(WITHOUT_HITS, len(without), len(topics), run.purpose, use)
    if random and judged is not None:
        wanted = recipe.data.hard_negatives
        lacking = {x.qid for x in rankings if lacks_negatives(x, judged[x.qid], wanted)}
        if few := lacking - without:
            logger.info(TOO_FEW, len(few), len(topics), run.purpose, RANDOM)
        if lacking:
            seed = recipe.optimization.seed
            pool = random_pool(run.corpus.open(data_dir), seed)
            rankings = [
                with_random_negatives(x, judged[x.qid], pool, hits, seed) if x.qid in lacking else x
                for x in rankings
            ]
    write_run(rankings, path, "bm25", overwrite=True)


def bm25_hits(
    corpus: CorpusSource, topics: list[Topic], folder: Path, hits: int, data_dir: DataDir
) -> dict[str, list[str]]:
    """Return the docids of BM25's first hits for each topic. The index is kept in ``folder``."""
    with _bm25(corpus, folder, data_dir) as searcher:
        rankings = search_topics(searcher, topics, SearchOptions(hits=hits, threads=2))
        return {ranking.qid: [hit.docid for hit in ranking.hits] for ranking in rankings}


def _bm25(corpus: CorpusSource, folder: Path, data_dir: DataDir) -> Bm25Searcher:
    """Return a BM25 searcher of the corpus; its index in ``folder`` is built if it is missing."""
    documents = corpus.open(data_dir)
    index = folder / f"bm25.{documents.name}"
    try:
        build_bm25_index(documents, index, threads=2)
    except OutputExistsError:  # the corpus has changed since the index was built
        build_bm25_index(documents, index, threads=2, overwrite=True)
    return Bm25Searcher(index)

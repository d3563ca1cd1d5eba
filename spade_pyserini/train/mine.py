"""Hard negatives: what BM25 ranks high for a query and nobody judged relevant."""

from __future__ import annotations

import logging
from pathlib import Path

from spade_pyserini.corpora import open_corpus
from spade_pyserini.evaluate import read_qrels
from spade_pyserini.index import build_bm25_index
from spade_pyserini.search import Bm25Searcher, search_topics, write_run
from spade_pyserini.topics import read_topics
from spade_pyserini.train.recipe import Recipe

logger = logging.getLogger(__name__)
HITS = 100


def mine_negatives(recipe: Recipe, output: str | Path, hits: int = HITS) -> Path:
    """Index the recipe's corpus for BM25, search its queries, and write ``negatives.txt``.

    The run is what the setting ``negatives`` takes; relevant documents are left out when samples
    are made from it, so it can serve several sets of judgements.
    """
    folder = Path(output)
    recipe.require("corpus", "queries")
    topics = read_topics(recipe.queries)
    if recipe.qrels is not None:
        judged = read_qrels(recipe.qrels)
        topics = [topic for topic in topics if topic.qid in judged]
    build_bm25_index(open_corpus(recipe.corpus), folder / "bm25", threads=2)
    path = folder / "negatives.txt"
    with Bm25Searcher(folder / "bm25") as searcher:
        rankings = search_topics(searcher, topics, hits=hits, threads=2)
        without = write_run(rankings, path, "bm25", overwrite=True)
    logger.info("%s: %d topics, %d of them without a hit", path, len(topics), without)
    return path

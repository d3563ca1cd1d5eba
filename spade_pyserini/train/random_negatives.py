"""Random negatives, for training queries with too few BM25 hits that are not relevant."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

from spade_pyserini.records import Document, Hit, Ranking

POOL = 10_000  # documents of the corpus from which the negatives of all queries are drawn


def lacks_negatives(ranking: Ranking, grades: Mapping[str, int], wanted: int) -> bool:
    """Return whether a ranking has fewer than ``wanted`` hits that are not relevant.

    Returns False if the query has no relevant document.
    """
    others = sum(grades.get(hit.docid, 0) <= 0 for hit in ranking.hits)
    return others < wanted and any(grade > 0 for grade in grades.values())


def random_pool(documents: Iterable[Document], seed: int, size: int = POOL) -> list[str]:
    """Return ``size`` random docids, or all if there are fewer; reads the documents once."""
    generator = random.Random(seed)
    pool: list[str] = []
    for number, document in enumerate(documents):
        if number < size:
            pool.append(document.docid)
        elif (position := generator.randrange(number + 1)) < size:
            pool[position] = document.docid
    return pool


def with_random_negatives(
    ranking: Ranking, grades: Mapping[str, int], pool: list[str], number: int, seed: int
) -> Ranking:
    """Append up to ``number`` documents of the pool to a ranking, and return the new ranking.

    The added documents depend only on the pool, the seed, the judgements and the ranking. None of
    them is relevant.
    """
    excluded = {hit.docid for hit in ranking.hits}
    excluded.update(docid for docid, grade in grades.items() if grade > 0)
    drawn = random.Random(f"{seed} {ranking.qid}").sample(
        pool, min(len(pool), number + len(excluded))
    )
    added = [docid for docid in drawn if docid not in excluded][:number]
    lowest = min([0.0, *(hit.score for hit in ranking.hits)])
    hits = [Hit(docid, lowest - rank) for rank, docid in enumerate(added, start=1)]
    return Ranking(ranking.qid, [*ranking.hits, *hits])

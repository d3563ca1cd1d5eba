"""Search all topics of a file in batches."""

from __future__ import annotations

from collections.abc import Iterator

from spade_pyserini.errors import UsageError
from spade_pyserini.progress import progress_bar
from spade_pyserini.records import Hit, Ranking, Topic
from spade_pyserini.search.impact import MOST_HITS, Bm25Searcher, ImpactSearcher


def search_topics(
    searcher: ImpactSearcher | Bm25Searcher,
    topics: list[Topic],
    *,
    hits: int = 1000,
    threads: int = 1,
    batch_size: int = 64,
    remove_query: bool = False,
    max_passage: bool = False,
    max_passage_hits: int = 100,
    max_passage_delimiter: str = "#",
) -> Iterator[Ranking]:
    """Search all topics in batches; yields a ranking a topic, in their order.

    The options are Pyserini's: ``remove_query`` drops the document whose id is the topic's (as
    ArguAna needs), ``max_passage`` ranks each document by its best passage ``doc#0``.
    """
    if not max_passage_delimiter:
        raise UsageError("the delimiter between document and passage is empty")
    # One more where the query itself may be among them.
    asked = min(hits + remove_query, max(hits, MOST_HITS))
    starts = range(0, len(topics), batch_size)
    with progress_bar(topics, "searching", "topics", len(topics)) as bar:
        for start in starts:
            batch = topics[start : start + batch_size]
            for ranking in searcher.batch_search(batch, asked, threads):
                found = ranking.hits
                if remove_query:
                    found = [hit for hit in found if hit.docid != ranking.qid][:hits]
                if max_passage:
                    found = best_passages(found, max_passage_delimiter)[:max_passage_hits]
                yield Ranking(ranking.qid, found)
            bar.update(len(batch))


def best_passages(hits: list[Hit], delimiter: str = "#") -> list[Hit]:
    """Each document once, at the place and with the score of its best passage (MaxP)."""
    best: dict[str, Hit] = {}
    for hit in hits:
        docid = hit.docid.split(delimiter, 1)[0]
        best.setdefault(docid, Hit(docid, hit.score))
    return list(best.values())

"""Search many topics in batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spade_pyserini.errors import UsageError
from spade_pyserini.progress import progress_bar
from spade_pyserini.records import Hit, Ranking, Topic
from spade_pyserini.search.base import MOST_HITS, LuceneSearcher


@dataclass(frozen=True)
class SearchOptions:
    """How to search topics. The names are those of Pyserini's options.

    - ``hits``: hits per topic; with ``max_passage``, passages per topic.
    - ``threads``: search threads in Java.
    - ``batch_size``: topics per Java call.
    - ``remove_query``: drop the document that has the id of the topic, as ArguAna requires.
    - ``max_passage``: rank documents by their best passage (MaxP); a passage id is the docid, the
      ``max_passage_delimiter`` and a suffix, as in ``doc#0``.
    - ``max_passage_hits``: documents per topic with ``max_passage``.
    """

    hits: int = 1000
    threads: int = 1
    batch_size: int = 64
    remove_query: bool = False
    max_passage: bool = False
    max_passage_hits: int = 100
    max_passage_delimiter: str = "#"

    def __post_init__(self) -> None:
        if not self.max_passage_delimiter:
            raise UsageError(
                "max_passage_delimiter='' is empty; give the text between docid and passage "
                "number, such as #"
            )


def search_topics(
    searcher: LuceneSearcher, topics: list[Topic], options: SearchOptions | None = None
) -> Iterator[Ranking]:
    """Search all topics in batches; yield a ranking for each topic, in the order of ``topics``."""
    options = options or SearchOptions()
    # With `remove_query`, request one more hit, because one hit may be removed.
    k = min(options.hits + options.remove_query, max(options.hits, MOST_HITS))
    with progress_bar(topics, "searching", "topics", len(topics)) as bar:
        for start in range(0, len(topics), options.batch_size):
            batch = topics[start : start + options.batch_size]
            for ranking in searcher.batch_search(batch, k, options.threads):
                yield Ranking(ranking.qid, _select(ranking, options))
            bar.update(len(batch))


def _select(ranking: Ranking, options: SearchOptions) -> list[Hit]:
    """Apply ``remove_query`` and ``max_passage`` to the hits of a topic."""
    hits = ranking.hits
    if options.remove_query:
        hits = [hit for hit in hits if hit.docid != ranking.qid][: options.hits]
    if options.max_passage:
        hits = best_passages(hits, options.max_passage_delimiter)[: options.max_passage_hits]
    return hits


def search_documents(
    searcher: LuceneSearcher, query: str, hits: int, delimiter: str = "#"
) -> list[Hit]:
    """Search passages; return the ``hits`` best documents, each represented by its best passage.

    The docid of a hit is the id of the passage.
    """
    k = min(10 * hits, MOST_HITS)
    while True:
        passages = searcher.search(query, k)
        best: dict[str, Hit] = {}
        for hit in passages:
            best.setdefault(document_id(hit.docid, delimiter), hit)
        if len(best) >= hits or len(passages) < k or k == MOST_HITS:
            return list(best.values())[:hits]
        k = min(10 * k, MOST_HITS)


def document_id(docid: str, delimiter: str = "#") -> str:
    """The id of the document that a passage belongs to: ``doc`` for ``doc#0``."""
    if not delimiter:
        raise UsageError(
            "max_passage_delimiter='' is empty; give the text between docid and passage number"
        )
    return docid.split(delimiter, 1)[0]


def best_passages(hits: list[Hit], delimiter: str = "#") -> list[Hit]:
    """Return each document once, at the position and with the score of its best passage (MaxP)."""
    best: dict[str, Hit] = {}
    for hit in hits:
        docid = document_id(hit.docid, delimiter)
        best.setdefault(docid, Hit(docid, hit.score))
    return list(best.values())

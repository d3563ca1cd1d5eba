"""The base class of the searchers: it opens an index in Java and searches batches of topics.

It does not import pyserini, torch or transformers, so a search starts quickly.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from spade_pyserini.errors import ArtifactError, UsageError
from spade_pyserini.formats.index_manifest import IndexManifest
from spade_pyserini.formats.unicode import is_valid_unicode
from spade_pyserini.index.opening import IndexFiles, follow_link, open_index
from spade_pyserini.lucene import jvm
from spade_pyserini.lucene.errors import translate_java_errors
from spade_pyserini.records import Hit, Ranking, Topic
from spade_pyserini.search.hits import HitList
from spade_pyserini.search.results import Queries, Results, as_topics

MOST_HITS = 1_000_000


def check_hits(k: int) -> int:
    """Return the number of hits ``k``; raise `UsageError` if it is not from 1 to `MOST_HITS`."""
    if not 1 <= k <= MOST_HITS:
        raise UsageError(f"the number of hits must be from 1 to {MOST_HITS:,}, not {k:,}")
    return k


def check_queries(topics: list[Topic]) -> None:
    """Raise `UsageError` if the text of a query is not valid Unicode."""
    for topic in topics:
        if not is_valid_unicode(topic.text):
            raise UsageError(f"the query {topic.text!r} is not valid Unicode; correct its encoding")


class OpenedIndex(NamedTuple):
    """The manifest of an index and its searcher in Java."""

    manifest: IndexManifest
    searcher: Any

    def close(self) -> None:
        """Close the searcher."""
        self.searcher.close()


class LuceneSearcher:
    """Searches an index of one ``kind``. Hits are ordered by score; ties are ordered by docid.

    Use a searcher in a ``with`` statement, or close it. This class calls a searcher of Anserini,
    unless a subclass overrides `_batch_search`. Subclasses define how queries and hits are
    converted.
    """

    kind: str

    def __init__(
        self, index: str | Path, java_searcher: Any, *, check: bool = True, foreign: bool = False
    ) -> None:
        """Open ``index`` with the Java class ``java_searcher``.

        With ``check``, files that were not checked before are compared with their checksums. With
        ``foreign``, an index without a manifest is accepted.
        """
        self.index, self._java_searcher = follow_link(Path(index)), java_searcher
        # Lucene accepts at most 1,024 terms per query by default.
        jvm.java_class("org.apache.lucene.search.IndexSearcher").setMaxClauseCount(2**31 - 1)
        opened = open_index(self.index, self._open, check=check, foreign=foreign)
        self.manifest = opened.manifest

    def _open(self, files: IndexFiles) -> OpenedIndex:
        """Open an index in Java; raise `ArtifactError` for a wrong kind or number of documents."""
        manifest = files.manifest
        if manifest.kind != self.kind:
            raise ArtifactError(
                f"{self.index} is an index of the kind {manifest.kind}, not {self.kind}; "
                "give another index"
            )
        with translate_java_errors(self.index, "open"):
            self._searcher = self._java_searcher(jvm.java_path(files.folder))
            documents = self._count_documents()
        if documents != manifest.documents:
            self._searcher.close()
            message = f"{self.index} has {documents} documents, but its manifest says"
            cure = "build the index again with overwrite=True"
            raise ArtifactError(f"{message} {manifest.documents}; {cure}")
        return OpenedIndex(manifest, self._searcher)

    def search(self, query: str, k: int = 10) -> HitList[Hit]:
        """Return the ``k`` best documents for ``query``. Notebooks show the list as a table."""
        (ranking,) = self.batch_search([Topic("query", query)], k)
        return HitList(ranking.hits)

    def search_many(self, queries: Queries, k: int = 10, threads: int = 1) -> Results:
        """Search several queries; the results can be converted to a pandas or polars frame.

            searcher.search_many(["delete a folder", "read a file"]).to_pandas()

        ``queries`` are texts, topics, or a mapping from ids to texts. If a text has no id, its
        position in ``queries``, counted from 0, is the id.
        """
        topics = as_topics(queries)
        return Results(topics, self.batch_search(topics, k, threads))

    def batch_search(self, topics: list[Topic], k: int = 1000, threads: int = 1) -> list[Ranking]:
        """Search several topics in one Java call; return their rankings in the same order."""
        check_hits(k)
        check_queries(topics)
        # Lucene allocates a heap of k entries per query: do not request more hits than documents.
        k = min(k, max(self.manifest.documents, 1))
        with jvm.deferred_interrupt(), self._translate_errors():
            results = self._batch_search([topic.text for topic in topics], k, threads)
        return [Ranking(topic.qid, hits) for topic, hits in zip(topics, results, strict=True)]

    def _translate_errors(self) -> AbstractContextManager[None]:
        cure = "open the index again, or check it with `spade index --verify`"
        return translate_java_errors(self.index, "search", cure)

    def _count_documents(self) -> int:
        return int(self._searcher.get_total_num_docs())

    def _batch_search(self, texts: list[str], k: int, threads: int) -> list[list[Hit]]:
        """Search with Anserini's searcher; return the hits of each text."""
        queries = jvm.java_class("java.util.ArrayList")()
        qids = jvm.java_class("java.util.ArrayList")()
        for number, text in enumerate(texts):
            queries.add(self._query(text))
            qids.add(str(number))
        results = self._searcher.batch_search(queries, qids, k, threads)
        return [list(self._hits(results.get(str(number)))) for number in range(len(texts))]

    def _query(self, text: str) -> Any:
        """Convert a query to the Java object that the searcher expects."""
        raise NotImplementedError

    def _hits(self, scored: Any) -> Iterator[Hit]:
        """Convert the hits of the Java searcher."""
        for hit in scored:
            yield Hit(hit.docid, hit.score)

    def close(self) -> None:
        """Close the index."""
        self._searcher.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

"""The results of several queries as a table: rows, a pandas frame or a polars frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from spade_pyserini.errors import NotFoundError, UsageError
from spade_pyserini.formats.notebook import html_table
from spade_pyserini.records import Ranking, Topic

if TYPE_CHECKING:
    import pandas
    import polars

Queries = Mapping[str, str] | Iterable[str | Topic]
SHOWN = 50  # largest number of rows of a table in a notebook


class ResultRow(NamedTuple):
    """A hit of a query; ``rank`` counts from 1."""

    qid: str
    query: str
    rank: int
    docid: str
    score: float


TYPES = {"qid": str, "query": str, "rank": int, "docid": str, "score": float}


class Results(NamedTuple):
    """The rankings of several queries, in the order of the queries.

        results = searcher.search_many({"q1": "delete a folder", "q2": "read a file"}, k=10)
        results.to_pandas()

    Frames have the columns of `ResultRow`, and a row for each hit. A query without hits has no row.
    """

    topics: list[Topic]
    rankings: list[Ranking]

    def rows(self) -> Iterator[ResultRow]:
        """Yield a row for each hit."""
        for topic, ranking in zip(self.topics, self.rankings, strict=True):
            for rank, hit in enumerate(ranking.hits, start=1):
                yield ResultRow(topic.qid, topic.text, rank, hit.docid, float(hit.score))

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas frame."""
        import pandas

        return pandas.DataFrame(self._columns()).astype({"rank": int, "score": float})

    def to_polars(self) -> polars.DataFrame:
        """Return a polars frame; raises `NotFoundError` if polars is not installed."""
        try:
            import polars
        except ModuleNotFoundError:
            message = "polars is not installed: pip install 'spade_pyserini[polars]'"
            raise NotFoundError(message) from None
        return polars.DataFrame(self._columns(), schema=TYPES)

    def _columns(self) -> dict[str, list[Any]]:
        rows = list(self.rows())
        return {name: [getattr(row, name) for row in rows] for name in ResultRow._fields}

    def _repr_html_(self) -> str:
        rows = list(self.rows())
        more = f", the first {SHOWN} are shown" if len(rows) > SHOWN else ""
        caption = f"{len(rows)} hits of {len(self.topics)} queries{more}"
        shown = [row._replace(score=f"{row.score:.6g}") for row in rows[:SHOWN]]  # type: ignore[arg-type]
        return html_table(ResultRow._fields, shown, caption)


def as_topics(queries: Queries) -> list[Topic]:
    """Convert queries to topics. If a text has no id, its position, from 0, is the id."""
    if isinstance(queries, str):
        raise UsageError("queries=TEXT is a single text; give a list of texts")
    if isinstance(queries, Mapping):
        return [Topic(str(qid), text) for qid, text in queries.items()]
    topics = [
        entry if isinstance(entry, Topic) else Topic(str(position), entry)
        for position, entry in enumerate(queries)
    ]
    if len({topic.qid for topic in topics}) < len(topics):
        raise UsageError("two queries have the same id; ids must be unique")
    return topics

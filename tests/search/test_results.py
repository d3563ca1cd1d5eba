"""Results of many queries as data frames, and hits in notebooks."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from spade_pyserini import ImpactSearcher
from spade_pyserini.errors import NotFoundError, UsageError
from spade_pyserini.records import Hit, Topic
from spade_pyserini.search.hits import HitList
from spade_pyserini.search.results import ResultRow, Results

pytestmark = pytest.mark.java
QUERIES = {"q1": "the old dog", "q2": "", "q3": "fish and bird"}
COLUMNS = ["qid", "query", "rank", "docid", "score"]


@pytest.fixture(scope="module")
def searcher(tiny_index: Path) -> Iterator[ImpactSearcher]:
    with ImpactSearcher(tiny_index) as searcher:
        yield searcher


def expected_rows(searcher: ImpactSearcher, k: int) -> list[ResultRow]:
    return [
        ResultRow(qid, query, rank, hit.docid, hit.score)
        for qid, query in QUERIES.items()
        for rank, hit in enumerate(searcher.search(query, k), start=1)
    ]


def test_a_pandas_frame(searcher: ImpactSearcher) -> None:
    frame = searcher.search_many(QUERIES, k=4).to_pandas()
    assert list(frame.columns) == COLUMNS
    assert [tuple(row) for row in frame.itertuples(index=False)] == expected_rows(searcher, 4)
    assert (frame["rank"].dtype, frame["score"].dtype) == (int, float)
    empty = searcher.search_many([""]).to_pandas()
    assert list(empty.columns) == COLUMNS and len(empty) == 0
    assert (empty["rank"].dtype, empty["score"].dtype) == (int, float)


def test_a_polars_frame(searcher: ImpactSearcher) -> None:
    pytest.importorskip("polars", reason="needs pip install 'spade_pyserini[polars]'")
    frame = searcher.search_many(QUERIES, k=4).to_polars()
    assert frame.columns == COLUMNS
    assert frame.rows() == expected_rows(searcher, 4)
    assert searcher.search_many([""]).to_polars().schema == frame.schema


def test_polars_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(NotFoundError, match=r"pip install 'spade_pyserini\[polars\]'"):
        Results([], []).to_polars()


def test_kinds_of_queries(searcher: ImpactSearcher) -> None:
    by_id = searcher.search_many(QUERIES, threads=2)
    topics = [Topic(qid, text) for qid, text in QUERIES.items()]
    assert by_id == searcher.search_many(topics) and by_id.topics == topics
    assert [topic.qid for topic in searcher.search_many(["cat", "dog"]).topics] == ["0", "1"]
    with pytest.raises(UsageError, match="a single text; give a list"):
        searcher.search_many("cat")
    with pytest.raises(UsageError, match="the same id"):
        searcher.search_many([Topic("1", "cat"), Topic("1", "dog")])


def test_hits_in_a_notebook(searcher: ImpactSearcher) -> None:
    hits = searcher.search("the old dog", 3)
    page = hits._repr_html_()
    assert page.count("<tr>") == 4
    assert all(f">{hit.docid}<" in page and f" {hit.score}<" in page for hit in hits)
    assert searcher.search("")._repr_html_() == "<p>no hits</p>"
    results = searcher.search_many(QUERIES, k=30)
    count = len(list(results.rows()))
    assert f"{count} hits of 3 queries, the first 50" in results._repr_html_() or count <= 50


class LongHit(NamedTuple):
    docid: str
    score: float
    matched: dict[str, int]
    text: str


def test_texts_of_hits_are_escaped_and_cut() -> None:
    hostile = "<script>alert(1)</script>"
    page = HitList([LongHit(hostile, 3, {hostile: 3}, hostile + "word " * 99)])._repr_html_()
    assert "<script" not in page and page.count("&lt;script&gt;") == 3
    assert "…" in page and len(re.findall("word", page)) < 40
    assert HitList([Hit("a", 0)])._repr_html_().count("<td") == 3

"""Search topics in batches."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from spade_pyserini import ImpactSearcher, search_topics
from spade_pyserini.errors import UsageError
from spade_pyserini.index import build_foreign_index
from spade_pyserini.records import Hit, Topic
from spade_pyserini.search import SearchOptions
from spade_pyserini.search.batch import best_passages

pytestmark = pytest.mark.java

QUERIES = [
    "cat",
    "the old cat sleeps in the house",
    "a big red dog and a small blue bird",
    "delete the folder, delete it",
    "open close read write copy move",
    "s t u v w x y z",
]


def test_batches_and_threads_change_nothing(tiny_index: Path) -> None:
    topics = [Topic(str(number), text) for number, text in enumerate(QUERIES * 5)]
    with ImpactSearcher(tiny_index) as searcher:
        serial = [searcher.search(topic.text, 20) for topic in topics]
        for threads, batch_size in ((1, 64), (4, 7), (8, 1)):
            options = SearchOptions(hits=20, threads=threads, batch_size=batch_size)
            rankings = list(search_topics(searcher, topics, options))
            assert [ranking.qid for ranking in rankings] == [topic.qid for topic in topics]
            assert [ranking.hits for ranking in rankings] == serial


def test_more_hits_than_documents(tiny_index: Path) -> None:
    with ImpactSearcher(tiny_index) as searcher:
        everything = searcher.search("the cat", 1_000_000)
        assert len(everything) <= 30
        topics = [Topic("d0", "the cat")]
        options = SearchOptions(hits=1_000_000, remove_query=True)
        (ranking,) = search_topics(searcher, topics, options)
        assert ranking.hits == [hit for hit in everything if hit.docid != "d0"]
        with pytest.raises(UsageError, match="not 2,000,000"):
            list(search_topics(searcher, topics, replace(options, hits=2_000_000)))


def test_max_passage(tiny_index: Path, tmp_path: Path) -> None:
    """Passages of the same document give one hit; `max_passage_hits` limits the documents."""
    lines = [
        {"id": f"doc{number % 3}#{number}", "vector": {"cat": 10 + number}} for number in range(9)
    ]
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    build_foreign_index(tmp_path / "v", tmp_path / "x", tiny_index.with_name("tiny.tokenizer.json"))
    options = SearchOptions(max_passage=True, max_passage_hits=2)
    with ImpactSearcher(tmp_path / "x") as searcher:
        (ranking,) = search_topics(searcher, [Topic("q", "cat")], options)
    assert ranking.hits == [Hit("doc2", 18), Hit("doc1", 17)]
    with pytest.raises(UsageError, match="max_passage_delimiter='' is empty"):
        SearchOptions(max_passage_delimiter="")


def test_best_passages() -> None:
    hits = [Hit("d2#1", 9), Hit("d1#0", 8), Hit("d2#0", 7), Hit("d3", 1)]
    assert best_passages(hits) == [Hit("d2", 9), Hit("d1", 8), Hit("d3", 1)]

"""`spade topics --to ENGINE`: the queries of a topics file for other engines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spade_pyserini.errors import UsageError
from spade_pyserini.export.queries import QueryOptions
from spade_pyserini.models.wordpieces import WordPieces
from tests.commands import Commands

TOPICS = "id,query\n7,the old cat cat\n8,[SEP]\n"


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    (tmp_path / "topics.csv").write_text(TOPICS)
    return tmp_path / "topics.csv"


def call(topics: Path, tiny_index: Path, name: str) -> tuple[object, ...]:
    output = topics.with_name(name)
    return ("--topics", topics, "--index", tiny_index, "--output", output)


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.java
def test_opensearch(topics: Path, tiny_index: Path, run: Commands) -> None:
    flags = ("--to", "opensearch", "--hits", 5, "--with-text", "--field", "sparse_vector")
    result = run("topics", *call(topics, tiny_index, "q.ndjson"), *flags)
    assert result.code == 0 and "1 topics have no WordPiece and therefore no hits: 8" in result.err
    header, body, _, empty = lines_of(topics.with_name("q.ndjson"))
    assert header == {} and body["size"] == 5 and body["_source"] == ["title", "text"]
    vector = {"the": 1.0, "old": 1.0, "cat": 1.0}
    expected = {"sparse_vector": {"field": "impacts", "query_vector": vector}}
    assert body["query"] == expected and empty["query"] == {"match_none": {}}
    again = run("topics", *call(topics, tiny_index, "q.ndjson"), "--to", "opensearch")
    assert again.code == 1 and "--overwrite" in again.err


@pytest.mark.java
def test_pisa_and_milvus(topics: Path, tiny_index: Path, run: Commands) -> None:
    assert run("topics", *call(topics, tiny_index, "p.jsonl"), "--to", "pisa").code == 0
    (line,) = lines_of(topics.with_name("p.jsonl"))
    assert line == {"qid": "7", "query": "", "query_toks": {"the": 1, "old": 1, "cat": 1}}
    assert run("topics", *call(topics, tiny_index, "m.jsonl"), "--to", "milvus").code == 0
    (query,) = lines_of(topics.with_name("m.jsonl"))
    ids = WordPieces.load(tiny_index.with_name("tiny.tokenizer.json")).term_ids
    assert query["vector"] == {str(ids[term]): 1.0 for term in ("the", "old", "cat")}


@pytest.mark.parametrize(
    "flags",
    [
        ("q.tsv", "--to", "opensearch"),
        ("q.ndjson", "--to", "milvus"),
        ("q.ndjson",),
        ("q.tsv", "--hits", "5"),
        ("q.jsonl", "--to", "pisa", "--with-text"),
        ("q.tsv", "--to", "vespa"),
    ],
)
def test_wrong_calls(topics: Path, tiny_index: Path, flags: tuple[str, ...], run: Commands) -> None:
    name, *others = flags
    assert run("topics", *call(topics, tiny_index, name), *others).code == 2
    with pytest.raises(UsageError, match="engine must be one of opensearch, pisa, milvus"):
        QueryOptions("vespa")

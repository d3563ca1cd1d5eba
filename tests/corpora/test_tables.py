"""Queries and judgements in tables: CSV, TSV, JSON and Parquet with various column names."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.corpora.topics import read_topics, topics_name
from spade_pyserini.errors import InputError
from spade_pyserini.records import Topic

QUERIES: list[dict[str, Any]] = [{"qid": 1, "question": "red fish"}, {"qid": 2, "question": "a, b"}]
JUDGEMENTS: list[dict[str, Any]] = [
    {"query_id": 1, "doc_id": "x", "label": 2},
    {"query_id": 2, "doc_id": "y", "label": 0},
]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        mark = "," if path.suffix == ".csv" else "\t"
        quoted = [
            [f'"{value}"' if "," in str(value) else str(value) for value in row.values()]
            for row in rows
        ]
        path.write_text("".join(mark.join(row) + "\n" for row in [[*rows[0]], *quoted]))
    return path


@pytest.mark.parametrize("name", ["q.csv", "q.tsv", "q.jsonl", "q.json", "q.parquet"])
def test_queries(tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    path = write(tmp_path / name, QUERIES)
    assert read_topics(path) == [Topic("1", "red fish"), Topic("2", "a, b")]
    assert topics_name(path) == "q"
    if name != "q.jsonl":
        assert "ids from `qid`, queries from `question`" in caplog.text


@pytest.mark.parametrize("name", ["j.csv", "j.tsv", "j.txt", "j.jsonl", "j.json", "j.parquet"])
def test_judgements(tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert read_qrels(write(tmp_path / name, JUDGEMENTS)) == {"1": {"x": 2}, "2": {"y": 0}}
    assert "queries from `query_id`, documents from `doc_id`, grades from `label`" in caplog.text


def test_columns_that_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    queries = write(tmp_path / "q.csv", [{"query": "red"}, {"query": "blue"}])
    assert read_topics(queries) == [Topic("1", "red"), Topic("2", "blue")]
    assert "the id of a topic is the number of its row, from 1" in caplog.text
    judged = write(tmp_path / "j.csv", [{"qid": 1, "docid": "x"}])
    assert read_qrels(judged) == {"1": {"x": 1}}
    assert "all judged documents are relevant (grade 1)" in caplog.text


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("q.csv", "id,words\n1,red\n", r"no column for the queries among `id`, `words`; name the"),
        ("q.csv", "id,query\n1,\n", r"q\.csv:2: the query in `query` is empty"),
        ("q.csv", "id,query\n1,a\n1,b\n", r"q\.csv:3: the topic id '1' was used before"),
        ("q.tsv", "id\ttext\n", "contains no topic"),
        ("q.xlsx", "x", r"must end in .*\.csv, \.parquet"),
    ],
)
def test_queries_with_faults(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        read_topics(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("j.csv", "qid,x\n1,2\n", r"no column for the ids of the documents among `qid`, `x`"),
        ("j.csv", "qid,docid,score\n1,a,0.5\n", r"j\.csv:2: the grade '0\.5' is not an integer"),
        ("j.csv", "qid,docid\n,a\n", r"j\.csv:2: the id in `qid` is empty"),
        ("j.tsv", "1\ta\n", r"j\.tsv:1: .*found 2 columns; .* query-id corpus-id score"),
    ],
)
def test_judgements_with_faults(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        read_qrels(tmp_path / name)


def test_topics_without_a_header_are_read_as_before(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("7\tquery\nid2\ttext\n")
    assert read_topics(tmp_path / "t.tsv") == [Topic("7", "query"), Topic("id2", "text")]

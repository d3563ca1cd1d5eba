"""Tables of topics whose columns the user names, as arguments of `read_topics`."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spade_pyserini import Topic, read_topics
from spade_pyserini.errors import InputError, SpadeError, UsageError

ROWS = [{"nr": "7", "frage": "red fish"}, {"nr": "8", "frage": "old cat"}]
TOPICS = [Topic("7", "red fish"), Topic("8", "old cat")]


def write(path: Path) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    elif path.suffix == ".json":
        path.write_text(json.dumps(ROWS))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    else:
        mark = "," if path.suffix == ".csv" else "\t"
        path.write_text(
            "".join(mark.join(row) + "\n" for row in [[*ROWS[0]], *map(dict.values, ROWS)])
        )
    return path


@pytest.mark.parametrize("name", ["q.csv", "q.tsv", "q.txt", "q.jsonl", "q.json", "q.parquet"])
def test_named_columns(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name)
    assert read_topics(path, query_id_field="nr", query_field="frage") == TOPICS
    numbered = read_topics(path, query_id_field=":row", query_field="frage")
    assert numbered == [Topic("1", "red fish"), Topic("2", "old cat")]
    with pytest.raises(InputError, match="there is no column 'x'; the columns are `nr`, `frage`"):
        read_topics(path, query_field="x")


def test_named_columns_are_not_guessed_again(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("id,query,text\na,b,c\n")
    path = tmp_path / "q.csv"
    assert read_topics(path, query_id_field="query") == [Topic("b", "c")]
    assert read_topics(path, query_field="text") == [Topic("a", "c")]


def test_a_tsv_file_with_the_id_in_the_last_column(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("question\tid\nred fish\t7\n")
    assert read_topics(tmp_path / "q.tsv") == [Topic("7", "red fish")]


def test_a_header_is_never_a_topic(tmp_path: Path) -> None:
    rows = "".join(f"q{number}\tred fish\n" for number in range(3))
    (tmp_path / "q.tsv").write_text(f"nr\tfrage\n{rows}")
    with pytest.raises(InputError, match="among `nr`, `frage`; name the column with query_field="):
        read_topics(tmp_path / "q.tsv")
    (tmp_path / "q.tsv").write_text(f"q7\tfrage\n{rows}")
    assert [topic.qid for topic in read_topics(tmp_path / "q.tsv")] == ["q7", "q0", "q1", "q2"]


def test_json_lines_with_other_fields(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The guess is printed, except for the formats of BEIR and Anserini."""
    caplog.set_level(logging.INFO)
    path = tmp_path / "q.jsonl"
    path.write_text('{"_id": "7", "text": "red fish"}\n')
    assert read_topics(path) == TOPICS[:1] and not caplog.text
    path.write_text('{"id": 7, "question": "red fish"}\n')
    assert read_topics(path) == TOPICS[:1]
    assert "q.jsonl: ids from `id`, queries from `question`" in caplog.text
    path.write_text('{"nr": 7, "frage": "red fish"}\n')
    with pytest.raises(InputError, match="among `nr`, `frage`; name the column with query_field="):
        read_topics(path)
    path.write_text('{"nr": 7')
    with pytest.raises(InputError, match=r"q\.jsonl:1: not valid JSON"):
        read_topics(path)


@pytest.mark.parametrize(
    ("name", "text", "error", "message"),
    [
        ("t.trec", "<top><num> 1 <title> a</top>", UsageError, r"t\.trec has no named columns"),
        ("t.json", '{"1": {"title": "a"}}', UsageError, r"t\.json has no named columns; leave out"),
        (
            "t.tsv",
            "1\tred fish\n",
            InputError,
            "no column 'frage'; the columns are `1`, `red ",
        ),
        ("t.csv", "nr,frage\n1,\n", InputError, r"t\.csv:2: the query in `frage` is empty"),
    ],
)
def test_faults(
    tmp_path: Path, name: str, text: str, error: type[SpadeError], message: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(error, match=message):
        read_topics(tmp_path / name, query_field="frage")


def test_a_split_is_not_a_table() -> None:
    with pytest.raises(UsageError, match="pydoc/dev is a split of a collection, not a table"):
        read_topics("pydoc/dev", query_field="frage")

from __future__ import annotations

from pathlib import Path

from spade_pyserini.corpora.qrels_tables import GUESSED_QRELS, QrelsColumns
from spade_pyserini.corpora.topic_tables import GUESSED_TOPICS, TopicColumns
from spade_pyserini.train.judged_queries import judged_queries, present_columns

COLUMNS = TopicColumns("nr", "frage"), QrelsColumns(qrels_doc_field="artikel")


def test_only_tables_with_named_columns_are_written_again(tmp_path: Path) -> None:
    queries, qrels = str(tmp_path / "q.csv"), str(tmp_path / "j.csv")
    Path(queries).write_text("nr,frage\n1,red fish\n")
    Path(qrels).write_text("qid,artikel\n1,d1\n")
    named = judged_queries(queries, qrels, COLUMNS, tmp_path / "inputs", None)
    assert named.contents == {
        tmp_path / "inputs" / "queries.tsv": "1\tred fish\n",
        tmp_path / "inputs" / "qrels.txt": "1 0 d1 1\n",
    }
    assert [named.queries, named.qrels] == [str(path) for path in named.contents]
    guessed = (GUESSED_TOPICS, GUESSED_QRELS)
    split = judged_queries("pydoc/dev", "pydoc/dev", guessed, tmp_path / "inputs", None)
    assert (split.queries, split.qrels, dict(split.contents)) == ("pydoc/dev", "pydoc/dev", {})


def test_validation_data_in_another_format(tmp_path: Path) -> None:
    queries, qrels = str(tmp_path / "q.tsv"), str(tmp_path / "j.csv")
    Path(queries).write_text("1\tred fish\n")
    Path(qrels).write_text("qid,artikel\n1,d1\n")
    assert present_columns(queries, qrels, COLUMNS, None) == (GUESSED_TOPICS, COLUMNS[1])
    assert present_columns("pydoc/dev", "pydoc/dev", COLUMNS, None) == (
        GUESSED_TOPICS,
        GUESSED_QRELS,
    )

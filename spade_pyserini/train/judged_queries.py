"""Queries and judgements in tables whose columns the user names, for `finetune`.

Training reads queries and judgements several times and does not know the columns that the user
names. A table with such columns is therefore written again, in a format whose columns are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from spade_pyserini.corpora.data_directory import find_file
from spade_pyserini.corpora.fields import ROW
from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.corpora.qrels_tables import GUESSED_QRELS, QrelsColumns
from spade_pyserini.corpora.tables import table_format
from spade_pyserini.corpora.topic_tables import GUESSED_TOPICS, TopicColumns
from spade_pyserini.corpora.topics import read_topics
from spade_pyserini.train.samples import DataDir
from spade_pyserini.train.written_inputs import qrels_lines, topic_lines

Columns = tuple[TopicColumns, QrelsColumns]


class JudgedQueries(NamedTuple):
    """Queries and judgements for training or validation.

    queries, qrels: names or paths. contents: the files that do not exist yet, each as its path and
    the text to write to it.
    """

    queries: str
    qrels: str
    contents: Mapping[Path, str] = MappingProxyType({})


def judged_queries(
    queries: str, qrels: str, columns: Columns, folder: Path, data_dir: DataDir
) -> JudgedQueries:
    """Check queries and judgements; return the names or paths that training reads.

    For tables with named columns, these are paths in ``folder``. The files are not written yet.
    """
    topic_columns, qrels_columns = columns
    topics = read_topics(queries, data_dir=data_dir, **topic_columns._asdict())
    judged = read_qrels(qrels, data_dir=data_dir, **qrels_columns._asdict())
    contents = {}
    if topic_columns != GUESSED_TOPICS:
        queries = str(folder / "queries.tsv")
        contents[Path(queries)] = topic_lines(topics)
    if qrels_columns != GUESSED_QRELS:
        qrels = str(folder / "qrels.txt")
        contents[Path(qrels)] = qrels_lines(judged)
    return JudgedQueries(queries, qrels, contents)


def present_columns(queries: str, qrels: str, columns: Columns, data_dir: DataDir) -> Columns:
    """Return the columns to read from validation data.

    Validation data can have another format than training data: if a file has none of the named
    columns, its columns are guessed.
    """
    topic_columns, qrels_columns = columns
    return (
        topic_columns if _has_any(queries, topic_columns, data_dir) else GUESSED_TOPICS,
        qrels_columns if _has_any(qrels, qrels_columns, data_dir) else GUESSED_QRELS,
    )


def _has_any(name: str, columns: TopicColumns | QrelsColumns, data_dir: DataDir) -> bool:
    """Return whether ``name`` is a table with at least one of the columns."""
    named = {column for column in columns if column and column != ROW}
    path = find_file(name, data_dir)
    form = table_format(path, lambda cells: not named.isdisjoint(cells)) if path else None
    return path is not None and form is not None and not named.isdisjoint(form.columns(path))

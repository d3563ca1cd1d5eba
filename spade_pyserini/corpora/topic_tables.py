"""Read topics from tables with a column of queries and, optionally, a column of ids."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.corpora.delimited import has_header
from spade_pyserini.corpora.fields import ROW, guess_column, id_value, listed, text_value
from spade_pyserini.corpora.json_rows import JsonLines
from spade_pyserini.corpora.rows import RowFormat, require_columns
from spade_pyserini.corpora.tables import (
    log_columns,
    refuse_columns,
    require_column,
    table_format,
    table_rows,
)
from spade_pyserini.errors import InputError
from spade_pyserini.formats.lines import unpacked_name
from spade_pyserini.formats.topics import Reader
from spade_pyserini.records import Topic

IDS = ("_id", "qid", "query_id", "query-id", "queryid", "topic_id", "id")
TEXTS = ("query", "text", "question", "title", "topic")
# Objects with these fields are topics of BEIR and of Anserini, which `formats.topics` reads.
KNOWN_OBJECTS = ({"_id", "text"}, {"qid", "query"})
logger = logging.getLogger(__name__)


class TopicColumns(NamedTuple):
    """The columns that the user names in a table of topics; other columns are guessed.

    query_id_field: the column of the ids, or ``:row`` for the number of the row, from 1.
    query_field: the column of the texts.
    """

    query_id_field: str | None = None
    query_field: str | None = None

    def refuse(self, reason: str) -> None:
        """Raise `UsageError` if the user named a column. ``reason`` says why that is a mistake."""
        refuse_columns(self._asdict(), reason)


GUESSED_TOPICS = TopicColumns()


def topic_table(path: Path, chosen: TopicColumns = GUESSED_TOPICS) -> Reader | None:
    """Return a function that reads the topics of a table.

    Returns None for files that are not tables. JSON lines in the formats of BEIR and Anserini are
    not tables, either: `formats.topics` reads them. If columns are ``chosen``, the file must be a
    table.
    """

    def has_names(cells: list[str]) -> bool:
        return chosen != GUESSED_TOPICS or _is_header(cells) or has_header(path)

    form = table_format(path, has_names)
    if isinstance(form, JsonLines) and not _is_table(form, path, chosen):
        form = None
    if form is not None:
        return partial(_read, form, chosen)
    chosen.refuse(f"{path} has no named columns")
    return None


def _is_header(cells: list[str]) -> bool:
    names = {cell.casefold() for cell in cells}
    return (not names.isdisjoint(IDS) and not names.isdisjoint(TEXTS)) or cells == ["query"]


def _is_table(form: JsonLines, path: Path, chosen: TopicColumns) -> bool:
    """Whether JSON objects are the rows of a table, not topics in BEIR's or Anserini's format."""
    if unpacked_name(path).endswith(".json"):  # not an array, but {id: {"title": text}, ...}
        return False
    names = set(form.columns(path))
    known = any(fields <= names for fields in KNOWN_OBJECTS)
    return chosen != GUESSED_TOPICS or (bool(names) and not known)


def _columns(path: Path, names: Sequence[str], chosen: TopicColumns) -> tuple[str | None, str]:
    """Return the column of ids (None if there is none) and the column of texts."""
    qids, texts = chosen
    require_columns([name for name in (qids, texts) if name not in (None, ROW)], names, path)
    if qids is None:
        qids = guess_column([name for name in names if name != texts], IDS)
    if texts is None:
        texts = require_column(names, TEXTS, "the queries", path, "query_field", [qids])
    return None if qids == ROW else qids, texts


def _numbered(names: Sequence[str], chosen: TopicColumns) -> str:
    """Return a message: the topics have row numbers as ids, unless the user names a column."""
    numbered = "the id of a topic is the number of its row, from 1"
    if chosen.query_id_field == ROW:
        return numbered
    known = f"none of the columns {listed(names)} is known as a column of ids"
    return f"{known}, so {numbered}; to read ids, name their column with query_id_field=COLUMN"


def _read(form: RowFormat, chosen: TopicColumns, path: Path) -> Iterator[tuple[int, Topic]]:
    names = form.columns(path)
    qids, texts = _columns(path, names, chosen)
    log_columns(path, ids=qids, queries=texts)
    if qids is None:
        logger.info("%s: %s", path, _numbered(names, chosen))
    columns = [name for name in (qids, texts) if name]
    for number, row in enumerate(table_rows(form, path, columns), start=1):
        try:
            qid = str(number) if qids is None else id_value(row.values, qids)
            text = text_value(row.values, texts)
        except ValueError as error:
            raise InputError(str(error), path, row.line) from None
        if not text:
            raise InputError(f"the query in `{texts}` is empty", path, row.line)
        yield row.line, Topic(qid, text)

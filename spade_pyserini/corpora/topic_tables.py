"""Read topics from tables with a column of queries and, optionally, a column of ids."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from spade_pyserini.corpora.fields import guess_column, id_value, text_value
from spade_pyserini.corpora.json_rows import JsonLines
from spade_pyserini.corpora.rows import RowFormat
from spade_pyserini.corpora.tables import log_columns, require_column, table_format, table_rows
from spade_pyserini.errors import InputError
from spade_pyserini.formats.topics import Reader
from spade_pyserini.records import Topic

IDS = ("_id", "qid", "query_id", "query-id", "queryid", "topic_id", "id")
TEXTS = ("query", "text", "question", "title", "topic")
logger = logging.getLogger(__name__)


def topic_table(path: Path) -> Reader | None:
    """Return a function that reads the topics of a table.

    Returns None for JSON lines and for files that are not tables: `formats.topics` reads them.
    """
    form = table_format(path, _is_header)
    if form is None or isinstance(form, JsonLines):
        return None
    return partial(_read, form)


def _is_header(cells: list[str]) -> bool:
    first, *others = [cell.casefold() for cell in cells]
    return (first in IDS and any(cell in TEXTS for cell in others)) or cells == ["query"]


def _read(form: RowFormat, path: Path) -> Iterator[tuple[int, Topic]]:
    names = form.columns(path)
    qids, texts = guess_column(names, IDS), require_column(names, TEXTS, "the queries", path)
    log_columns(path, ids=qids, queries=texts)
    if qids is None:
        logger.info("%s: no id column; the id is the number of the row, from 1", path)
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

"""Read judgements from tables: columns of topic ids, document ids and, optionally, grades."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.corpora.fields import guess_column, id_value
from spade_pyserini.corpora.rows import RowFormat, require_columns
from spade_pyserini.corpora.tables import (
    log_columns,
    refuse_columns,
    require_column,
    table_format,
    table_rows,
)
from spade_pyserini.errors import InputError
from spade_pyserini.formats.qrels import BEIR_HEADER, Reader, parse_grade

QIDS = ("query-id", "query_id", "qid", "queryid", "topic_id", "query")
DOCIDS = (
    *("corpus-id", "corpus_id", "docid", "doc_id", "document_id", "docno", "pid", "passage_id"),
    *("sku", "_id", "id"),
)
GRADES = ("score", "grade", "relevance", "rel", "label")
logger = logging.getLogger(__name__)


class QrelsColumns(NamedTuple):
    """The columns that the user names in a table of judgements; other columns are guessed.

    qrels_query_field: the column of the topic ids.
    qrels_doc_field: the column of the document ids.
    qrels_grade_field: the column of the grades, or an empty string for no grades.
    """

    qrels_query_field: str | None = None
    qrels_doc_field: str | None = None
    qrels_grade_field: str | None = None

    def refuse(self, reason: str) -> None:
        """Raise `UsageError` if the user named a column. ``reason`` says why that is a mistake."""
        refuse_columns(self._asdict(), reason)


GUESSED_QRELS = QrelsColumns()


def qrels_table(path: Path, chosen: QrelsColumns = GUESSED_QRELS) -> Reader | None:
    """Return a function that reads judgements from a table; None for TREC and BEIR files.

    If columns are ``chosen``, the file must be a table.
    """
    form = table_format(path, _is_header if chosen == GUESSED_QRELS else lambda _: True)
    if form is not None:
        return partial(_read, form, chosen)
    chosen.refuse(f"{path} has no named columns")
    return None


def _is_header(cells: list[str]) -> bool:
    names = [cell.casefold() for cell in cells]
    return names != BEIR_HEADER and names[0] in QIDS and any(name in DOCIDS for name in names[1:])


def _columns(path: Path, names: Sequence[str], chosen: QrelsColumns) -> tuple[str, str, str | None]:
    """Return the columns of topic ids, document ids and grades (None if there are no grades)."""
    require_columns([name for name in chosen if name], names, path)
    qids, docids, grades = chosen
    if qids is None:
        what = "the ids of the queries"
        qids = require_column(names, QIDS, what, path, "qrels_query_field", chosen)
    if docids is None:
        what, taken = "the ids of the documents", (qids, *chosen)
        docids = require_column(names, DOCIDS, what, path, "qrels_doc_field", taken)
    if grades is None:
        grades = guess_column([name for name in names if name not in (qids, docids)], GRADES)
    return qids, docids, grades or None


def _read(form: RowFormat, chosen: QrelsColumns, path: Path) -> Iterator[tuple[int, str, str, int]]:
    qids, docids, grades = _columns(path, form.columns(path), chosen)
    log_columns(path, queries=qids, documents=docids, grades=grades)
    if grades is None:
        logger.info("%s: no column of grades; all judged documents are relevant (grade 1)", path)
    columns = [name for name in (qids, docids, grades) if name]
    for row in table_rows(form, path, columns):
        try:
            qid, docid = id_value(row.values, qids), id_value(row.values, docids)
        except ValueError as error:
            raise InputError(str(error), path, row.line) from None
        grade = 1 if grades is None else parse_grade(str(row.values.get(grades)), path, row.line)
        yield row.line, qid, docid, grade

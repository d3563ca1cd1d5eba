"""Read judgements from tables: columns of topic ids, document ids and, optionally, grades."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from spade_pyserini.corpora.fields import guess_column, id_value
from spade_pyserini.corpora.rows import RowFormat
from spade_pyserini.corpora.tables import log_columns, require_column, table_format, table_rows
from spade_pyserini.errors import InputError
from spade_pyserini.formats.qrels import BEIR_HEADER, Reader, parse_grade

QIDS = ("query-id", "query_id", "qid", "queryid", "topic_id", "query")
DOCIDS = (
    *("corpus-id", "corpus_id", "docid", "doc_id", "document_id", "docno", "pid", "passage_id"),
    *("sku", "_id", "id"),
)
GRADES = ("score", "grade", "relevance", "rel", "label")
logger = logging.getLogger(__name__)


def qrels_table(path: Path) -> Reader | None:
    """Return a function that reads judgements from a table; None for TREC's and BEIR's formats."""
    form = table_format(path, _is_header)
    return None if form is None else partial(_read, form)


def _is_header(cells: list[str]) -> bool:
    names = [cell.casefold() for cell in cells]
    return names != BEIR_HEADER and names[0] in QIDS and any(name in DOCIDS for name in names[1:])


def _read(form: RowFormat, path: Path) -> Iterator[tuple[int, str, str, int]]:
    names = form.columns(path)
    qids = require_column(names, QIDS, "the ids of the queries", path)
    docids = require_column(names, DOCIDS, "the ids of the documents", path)
    grades = guess_column(names, GRADES)
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

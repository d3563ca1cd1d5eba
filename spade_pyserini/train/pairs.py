"""Divide a table of pairs (query, relevant text) into queries, judgements and documents.

The files on the right are written from the table on the left::

    question,answer                        pairs/queries.tsv   q1 <tab> how do I ...
    how do I reset it?,Press both ...      pairs/qrels.txt     q1 0 p1 1
                                           pairs/corpus.jsonl  {"_id": "p1", "text": "Press ..."}

A table is CSV, TSV, JSON lines, a JSON array or Parquet, or a folder of such files; a TSV file
without a header has lines ``query <tab> text``. The same query may have several texts. With a
corpus, the pairs contain ids of its documents, and no ``corpus.jsonl`` is written.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.corpora import Corpus
from spade_pyserini.corpora.fields import (
    NO_CHOICE,
    FieldChoice,
    guess_column,
    id_value,
    listed,
    text_value,
)
from spade_pyserini.corpora.first_line import refuse_data
from spade_pyserini.corpora.layout import corpus_layout, file_kind
from spade_pyserini.corpora.rows import Row, RowFormat, require_columns
from spade_pyserini.corpora.tables import log_columns, table_format, table_rows
from spade_pyserini.errors import InputError
from spade_pyserini.formats.ids import id_problem
from spade_pyserini.formats.lines import read_lines
from spade_pyserini.formats.qrels import parse_grade
from spade_pyserini.formats.unicode import SURROGATE, is_valid_unicode
from spade_pyserini.records import Document
from spade_pyserini.train.written_inputs import write_inputs

logger = logging.getLogger(__name__)
QUERIES = ("query", "question", "queries", "anchor", "search", "q")
DOCIDS = ("docid", "doc_id", "document_id", "corpus-id", "corpus_id", "sku", "pid", "passage_id")
TITLES = ("title",)
TEXTS = (
    *("text", "answer", "passage", "document", "positive", "contents", "content", "body"),
    *("description", "response"),
)
GRADES = ("grade", "relevance", "label")


class PairFiles(NamedTuple):
    """The files that were written.

    corpus: the folder of ``corpus.jsonl``, or None if the pairs belong to a given corpus.
    """

    queries: Path
    qrels: Path
    corpus: Path | None


class PairFields(NamedTuple):
    """The columns that the user names; the others are guessed.

    query: the column of the queries.
    docid: the column of the document ids.
    grade: the column of the grades, or an empty string for no grades.
    """

    query: str | None = None
    docid: str | None = None
    grade: str | None = None


NO_FIELDS = PairFields()


class _Columns(NamedTuple):
    query: str
    docid: str | None
    title: str | None
    texts: tuple[str, ...]
    grade: str | None


@dataclass
class _Collected:
    """The contents of all pairs.

    queries: the id of each query text.
    docids: the id of each document, by title and text.
    documents: the documents by id.
    grades: the grade of each pair, by query id and document id.
    places: the file and the line that each document id comes from.
    """

    queries: dict[str, str] = field(default_factory=dict)
    docids: dict[tuple[str, str], str] = field(default_factory=dict)
    documents: dict[str, Document] = field(default_factory=dict)
    grades: dict[tuple[str, str], int] = field(default_factory=dict)
    places: dict[str, tuple[Path, int]] = field(default_factory=dict)


def split_pairs(
    path: Path,
    folder: Path,
    fields: PairFields = NO_FIELDS,
    choice: FieldChoice = NO_CHOICE,
    *,
    corpus: Corpus | None = None,
) -> PairFiles:
    """Write the pairs of ``path`` as queries, judgements and documents to ``folder``.

    ``fields`` and ``choice`` name columns; the others are guessed, and the guess is logged.
    With ``corpus``, the pairs contain ids of its documents, and texts in the pairs are not read.
    Pairs whose document is not in the corpus are left out, with a warning. `InputError` is raised
    if no pair is left. The parent of ``folder`` is the folder of the run, see `write_inputs`.
    """
    with_corpus = corpus is not None
    collected = _Collected()
    for file in corpus_layout(path).files if path.is_dir() else [path]:
        _collect(file, fields, choice, with_corpus, collected)
    if corpus is not None:
        _leave_out_unknown(collected, corpus)
    files = PairFiles(folder / "queries.tsv", folder / "qrels.txt", None if with_corpus else folder)
    contents = {
        files.queries: _lines(f"{qid}\t{text}" for text, qid in collected.queries.items()),
        files.qrels: _lines(f"{q} 0 {d} {grade}" for (q, d), grade in collected.grades.items()),
    }
    if files.corpus:
        contents[folder / "corpus.jsonl"] = _lines(map(_json, collected.documents.values()))
    write_inputs(contents, folder.parent)
    count = f"{len(collected.grades)} pairs, {len(collected.queries)} queries"
    documents = len({docid for _, docid in collected.grades})
    logger.info("%s: %s, %d documents", path, count, documents)
    return files


def _leave_out_unknown(pairs: _Collected, corpus: Corpus) -> None:
    """Remove pairs whose documents are not in ``corpus``, and then queries without pairs."""
    missing, example = set(pairs.places), ""
    for document in corpus:
        example = example or document.docid
        missing.discard(document.docid)
        if not missing:
            return
    number = len(pairs.grades)
    grades = {key: grade for key, grade in pairs.grades.items() if key[1] not in missing}
    docid, (path, line) = next(item for item in pairs.places.items() if item[0] in missing)
    problem = f"{corpus.source} has no document with the id {docid!r}"
    if not grades:
        cure = f"each pair must contain the id of a document of the corpus, such as {example!r}"
        raise InputError(f"{problem}; {cure}", path, line)
    message = "%s:%d: %s; %d of %d pairs are left out, because the corpus lacks their documents"
    logger.warning(message, path, line, problem, number - len(grades), number)
    pairs.grades = grades
    judged = {qid for qid, _ in grades}
    pairs.queries = {text: qid for text, qid in pairs.queries.items() if qid in judged}


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _json(document: Document) -> str:
    values = {"_id": document.docid, "title": document.title, "text": document.text}
    return json.dumps(values, ensure_ascii=False)


def _collect(
    path: Path, fields: PairFields, choice: FieldChoice, with_corpus: bool, into: _Collected
) -> None:
    """Add the pairs of a file to ``into``."""
    form, names = _open(path, fields.query)
    columns = _columns(names, fields, choice, with_corpus, path)
    log_columns(
        path,
        queries=columns.query,
        documents=columns.docid,
        titles=columns.title,
        texts=" and ".join(columns.texts) or None,
        grades=columns.grade,
    )
    empty = True
    for row in _rows(form, path):
        empty = False
        try:
            _add(row, columns, path, into)
        except ValueError as error:
            raise InputError(str(error), path, row.line) from None
    if empty:
        raise InputError("the file contains no pair", path)


def _open(path: Path, query_field: str | None) -> tuple[RowFormat | None, list[str]]:
    """Return the format of a table (None for a TSV file without a header) and its columns."""

    def is_header(cells: list[str]) -> bool:
        names = [cell.casefold() for cell in cells]
        return query_field in cells or any(name in QUERIES for name in names)

    form = table_format(path, is_header)
    if form is not None:
        return form, form.columns(path)
    if file_kind(path) in ("tsv", "text"):
        return None, ["query", "text"]
    message = "the format of the pairs is not known; the file name must end in .csv, .tsv, .jsonl"
    raise InputError(f"{message}, .json or .parquet", path)


def _rows(form: RowFormat | None, path: Path) -> Iterator[Row]:
    if form is not None:
        yield from table_rows(form, path)
        return
    for number, line in read_lines(path):
        cells = line.split("\t")
        if len(cells) != 2:
            cure = "for other columns, name them in the first line, such as query and text"
            message = f"expected `query <tab> text`, found {len(cells)} columns; {cure}"
            raise InputError(message, path, number)
        yield Row({"query": cells[0], "text": cells[1]}, number)


def _columns(
    names: list[str], fields: PairFields, choice: FieldChoice, with_corpus: bool, path: Path
) -> _Columns:
    own = () if with_corpus else choice.names  # with a corpus, these are columns of the corpus
    named = [name for name in (*fields, *own) if name]
    require_columns(named, names, path)
    refuse_data(names, path, named)
    query = fields.query or guess_column(names, QUERIES)
    if query is None:
        message = f"no column of queries ({', '.join(QUERIES)}) among {listed(names)}"
        raise InputError(f"{message}; name it with query_field=COLUMN", path)
    grade = fields.grade
    if grade is None:
        grade = guess_column([name for name in names if name != query], GRADES)
    grade = grade or None
    if with_corpus:
        known = (choice.id_field, *DOCIDS) if choice.id_field else DOCIDS
        docid = fields.docid or guess_column(names, known)
        if docid is None:
            message = f"no column of document ids ({', '.join(DOCIDS)}) among {listed(names)}"
            cure = "name it with qrels_doc_field=COLUMN, or leave out corpus=PATH to search the "
            raise InputError(f"{message}; {cure}texts of the pairs", path)
        return _Columns(query, docid, None, (), grade)
    text = guess_column([name for name in names if name != query], TEXTS)
    texts = choice.text_fields or ((text,) if text else ())
    if not texts:
        message = f"no column of texts ({', '.join(TEXTS)}) among {listed(names)}"
        cure = "name it with text_fields=COLUMN, or give corpus=PATH if there are document ids"
        raise InputError(f"{message}; {cure}", path)
    title = choice.title_field
    if title is None:
        title = guess_column([name for name in names if name not in (query, *texts)], TITLES)
    docid = fields.docid or choice.id_field or guess_column(names, DOCIDS)
    return _Columns(query, docid, title or None, texts, grade)


def _add(row: Row, columns: _Columns, path: Path, into: _Collected) -> None:
    query = " ".join((text_value(row.values, columns.query) or "").split())
    if not query:
        raise ValueError(f"the query in `{columns.query}` is empty")
    if not is_valid_unicode(query):
        raise ValueError(f"the query contains {SURROGATE}")
    qid = into.queries.setdefault(query, f"q{len(into.queries) + 1}")
    docid = _document(row, columns, into)
    into.places.setdefault(docid, (path, row.line))
    grade = 1
    if columns.grade is not None:
        grade = parse_grade(str(row.values.get(columns.grade)), path, row.line)
    if into.grades.setdefault((qid, docid), grade) != grade:
        raise ValueError(f"the query {query!r} has two grades for {docid}")


def _document(row: Row, columns: _Columns, into: _Collected) -> str:
    """Return the document id of a row. If the table has texts, add the document to ``into``."""
    docid = None if columns.docid is None else id_value(row.values, columns.docid)
    if docid is not None and (problem := id_problem(docid)):
        raise ValueError(problem)
    if not columns.texts:
        return docid or ""
    texts = [text_value(row.values, name) or "" for name in columns.texts]
    text = " ".join(text for text in texts if text)
    title = (text_value(row.values, columns.title) if columns.title else None) or ""
    if not (title or text).strip():
        raise ValueError(f"no text in {' and '.join(f'`{name}`' for name in columns.texts)}")
    if not is_valid_unicode(title + text):
        raise ValueError(f"the text contains {SURROGATE}")
    if docid is None:
        docid = into.docids.setdefault((title, text), f"p{len(into.docids) + 1}")
    document = Document(docid, title, text)
    if into.documents.setdefault(docid, document) != document:
        raise ValueError(f"the document {docid!r} has two different texts")
    return docid

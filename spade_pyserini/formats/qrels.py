"""Files of relevance judgements, plain or compressed.

====  =====================================================
TREC  ``qid 0 docid grade``
BEIR  ``query-id <tab> corpus-id <tab> score``, with a header
====  =====================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from spade_pyserini.errors import InputError
from spade_pyserini.formats.lines import read_lines

BEIR_HEADER = ["query-id", "corpus-id", "score"]
Qrels = dict[str, dict[str, int]]
"""Grades by topic id and document id."""
Reader = Callable[[Path], Iterator[tuple[int, str, str, int]]]


def read_qrels_files(paths: Iterable[Path], read: Reader | None = None) -> Qrels:
    """Return the judgements of all files together.

    Two different grades for the same topic and document are an error. If the files are neither
    in TREC's nor in BEIR's format, ``read`` is a function that reads a file and yields
    (line number, topic id, document id, grade).
    """
    qrels: Qrels = {}
    for path in paths:
        number = 0
        for number, qid, docid, grade in (read or _read)(path):
            judged = qrels.setdefault(qid, {})
            if judged.setdefault(docid, grade) != grade:
                raise InputError(
                    f"topic {qid} has two grades for {docid}; remove one", path, number
                )
        if not number:
            raise InputError("the file contains no judgement", path)
    return qrels


def _read(path: Path) -> Iterator[tuple[int, str, str, int]]:
    """Yield (line number, topic id, document id, grade)."""
    columns = 4
    for number, line in read_lines(path):
        parts = line.split()
        if number == 1 and parts == BEIR_HEADER:
            columns = 3
            continue
        if not parts:
            continue
        if len(parts) != columns:
            form = "qid 0 docid grade" if columns == 4 else "qid docid grade"
            cure = (
                "a file with other columns needs a header such as query-id corpus-id score; for "
                "other column names, give qrels_query_field=COLUMN and qrels_doc_field=COLUMN"
            )
            message = f"expected `{form}`, found {len(parts)} columns"
            raise InputError(f"{message}; {cure}", path, number)
        yield number, parts[0], parts[-2], parse_grade(parts[-1], path, number)


def parse_grade(text: str, path: Path, number: int) -> int:
    """Return a grade, or raise `InputError` for line ``number`` if ``text`` is not an integer."""
    if not re.fullmatch(r"[+-]?\d{1,9}(\.0*)?", text):
        raise InputError(f"the grade {text!r} is not an integer", path, number)
    return int(text.partition(".")[0])

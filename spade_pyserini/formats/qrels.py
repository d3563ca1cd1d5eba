"""Files of relevance judgements, plain or compressed.

====  =====================================================
TREC  ``qid 0 docid grade``
BEIR  ``query-id <tab> corpus-id <tab> score``, with a header
====  =====================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from spade_pyserini.errors import InputError
from spade_pyserini.formats.lines import read_lines

BEIR_HEADER = ["query-id", "corpus-id", "score"]
Qrels = dict[str, dict[str, int]]
"""Grades by topic id and document id."""


def read_qrels_files(paths: Iterable[Path]) -> Qrels:
    """Return the judgements of all files together; two grades for one document are an error."""
    qrels: Qrels = {}
    for path in paths:
        number = 0
        for number, qid, docid, grade in _read(path):
            judged = qrels.setdefault(qid, {})
            if judged.setdefault(docid, grade) != grade:
                raise InputError(f"topic {qid} has two grades for {docid}", path, number)
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
            raise InputError(f"expected `{form}`, found {len(parts)} columns", path, number)
        qid, docid, grade = parts[0], parts[-2], parts[-1]
        if not re.fullmatch(r"[+-]?\d{1,9}", grade):
            raise InputError(f"the grade {grade!r} is not an integer", path, number)
        yield number, qid, docid, int(grade)

"""Relevance judgements, in TREC's form or BEIR's, plain or ``.gz``."""

from __future__ import annotations

import re
from pathlib import Path

from spade_pyserini.corpora import pydoc
from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.files import read_lines

NAMES = {
    "pydoc": [pydoc.DATA / f"qrels.pydoc-{split}.txt" for split in pydoc.SPLITS],
    **{f"pydoc-{split}": [pydoc.DATA / f"qrels.pydoc-{split}.txt"] for split in pydoc.SPLITS},
}
BEIR_HEADER = ["query-id", "corpus-id", "score"]
Qrels = dict[str, dict[str, int]]


def read_qrels(name: str | Path) -> Qrels:
    """Judgements by name or file: ``qid 0 docid grade``, or BEIR's three columns with a header."""
    files = NAMES.get(str(name)) or [Path(name)]
    if not files[0].exists():
        known = ", ".join(NAMES)
        raise NotFoundError(f"no qrels or file is called {str(name)!r}; known names: {known}")
    qrels: Qrels = {}
    for path in files:
        _read(path, qrels)
    return qrels


def _read(path: Path, qrels: Qrels) -> None:
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
            raise InputError(f"the grade {grade!r} is not a whole number", path, number)
        value = int(grade)
        judged = qrels.setdefault(qid, {})
        if judged.setdefault(docid, value) != value:
            message = f"topic {qid} has two grades for {docid}"
            raise InputError(message, path, number)
    if not qrels:
        raise InputError("the file holds no judgement", path)

"""Relevance judgements, in TREC's form or BEIR's, plain or ``.gz``."""

from __future__ import annotations

import re
from pathlib import Path

from spade_pyserini.corpora import irdatasets
from spade_pyserini.corpora.catalogue import nearest
from spade_pyserini.corpora.data_directory import find_file
from spade_pyserini.corpora.splits import resolve_split, split_names
from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.formats.files import read_lines

BEIR_HEADER = ["query-id", "corpus-id", "score"]
Qrels = dict[str, dict[str, int]]


def read_qrels(name: str | Path, *, data_dir: str | Path | None = None) -> Qrels:
    """Judgements by name or file: ``qid 0 docid grade``, or BEIR's three columns with a header.

    Names are those of splits, see `spade_pyserini.corpora.splits`.
    """
    qrels: Qrels = {}
    if file := find_file(name, data_dir):
        _read(file, qrels)
        return qrels
    split = resolve_split(name, data_dir=data_dir)
    if split is None:
        message = f"no qrels or file is called {str(name)!r}"
        raise NotFoundError(f"{message}; {nearest(str(name), split_names(data_dir))}")
    if split.dataset:
        for qid, docid, grade in irdatasets.qrels(split.dataset):
            qrels.setdefault(qid, {})[docid] = grade
    for path in split.qrels:
        _read(path, qrels)
    return qrels


def relevance_level(name: str | Path, *, data_dir: str | Path | None = None) -> int:
    """The lowest grade that is relevant for binary measures: 2 for TREC DL's passages, else 1."""
    split = None if find_file(name, data_dir) else resolve_split(name, data_dir=data_dir)
    return split.relevance_level if split else 1


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

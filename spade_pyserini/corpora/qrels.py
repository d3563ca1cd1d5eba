"""Read relevance judgements from a file, from a split of a collection, or from ir_datasets."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini.corpora import irdatasets
from spade_pyserini.corpora.catalogue import suggest_names
from spade_pyserini.corpora.data_directory import find_file
from spade_pyserini.corpora.qrels_tables import QrelsColumns, qrels_table
from spade_pyserini.corpora.splits import resolve_split, split_names
from spade_pyserini.errors import NotFoundError
from spade_pyserini.formats.qrels import Qrels, read_qrels_files
from spade_pyserini.formats.similar import did_you_mean


def read_qrels(
    name: str | Path,
    *,
    data_dir: str | Path | None = None,
    qrels_query_field: str | None = None,
    qrels_doc_field: str | None = None,
    qrels_grade_field: str | None = None,
) -> Qrels:
    """Return the judgements of a file or of a split.

    `spade_pyserini.corpora.splits` describes the names of splits. `spade_pyserini.formats.qrels`
    and `spade_pyserini.corpora.qrels_tables` describe the formats of files.

    In a table, the last three arguments name the columns of the topic ids, the document ids and the
    grades. For JSON objects, these names are fields. By default, they are guessed. With an empty
    ``qrels_grade_field``, all documents in the table are relevant.
    """
    chosen = QrelsColumns(qrels_query_field, qrels_doc_field, qrels_grade_field)
    if path := find_file(name, data_dir):
        return read_qrels_files([path], qrels_table(path, chosen))
    split = resolve_split(name, data_dir=data_dir)
    if split is None:
        message = f"there are no qrels and no file with the name {str(name)!r}"
        names = suggest_names(str(name), split_names(data_dir))
        raise NotFoundError(f"{message}; {did_you_mean(name)}{names}")
    chosen.refuse(f"{name} is a split of a collection, not a table")
    if split.dataset is None:
        return read_qrels_files(split.qrels)
    qrels: Qrels = {}
    for qid, docid, grade in irdatasets.qrels(split.dataset):
        qrels.setdefault(qid, {})[docid] = grade
    return qrels


def relevance_level(name: str | Path, *, data_dir: str | Path | None = None) -> int:
    """Return the lowest grade that binary measures count as relevant.

    It is 2 for the passage splits of TREC's deep learning tracks, and 1 for all other splits and
    for files.
    """
    split = None if find_file(name, data_dir) else resolve_split(name, data_dir=data_dir)
    return split.relevance_level if split else 1

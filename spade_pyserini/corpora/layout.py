"""Find the files of a corpus in a folder, and recognize their format by their names.

A folder may have files of several formats. The corpus is the first of the following items that
exists. Items 3 and 4 include subfolders, and have several alternatives. It is an error if a folder
has two alternatives of the same item, such as JSON and TSV files.

1. ``corpus.jsonl`` (BEIR), else ``collection.tsv`` (MS MARCO)
2. a dataset that Hugging Face's ``save_to_disk`` wrote
3. all ``.jsonl``, ``.json`` and ``.ndjson`` files, or all ``.tsv`` files
4. all ``.csv`` files, all ``.parquet`` files, or all ``.txt`` and ``.md`` files
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.corpora.columnar import is_saved_dataset, saved_splits
from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.formats.lines import PACKED, unpacked_name
from spade_pyserini.formats.tables import counted

MAIN_FILES = ("corpus.jsonl", "corpus.jsonl.gz", "collection.tsv", "collection.tsv.gz")
DATASET, TEXT = "dataset", "text"
KINDS = {
    "json": (".jsonl", ".json", ".ndjson"),
    "tsv": (".tsv",),
    "csv": (".csv",),
    "parquet": (".parquet",),
    TEXT: (".txt", ".md"),
}
FIRST = ("json", "tsv")  # if such files exist, other files (README.md) are ignored
EXPECTED = (
    "corpus.jsonl (BEIR), collection.tsv (MS MARCO), .jsonl, .json, .tsv, .csv, .parquet, "
    f"or .txt and .md files, plain or compressed ({', '.join(PACKED)})"
)
logger = logging.getLogger(__name__)


class Layout(NamedTuple):
    """The files of a corpus in reading order, and their kind.

    path: the file or folder of the corpus.
    kind: a key of `KINDS`, or `DATASET`.
    files: the files; for a saved dataset only its folder.
    """

    path: Path
    kind: str
    files: list[Path]


def corpus_layout(path: Path) -> Layout:
    """Find the files of the corpus at ``path``."""
    if path.is_file():
        return Layout(path, _kind_of_file(path), [path])
    if not path.is_dir():
        raise NotFoundError(f"{path}: no such file or folder")
    for name in MAIN_FILES:
        if (path / name).is_file():
            return Layout(path, file_kind(path / name) or "", [path / name])
    if splits := saved_splits(path):
        if len(splits) > 1:
            choices = ", ".join(str(path / split) for split in splits)
            raise InputError(f"the dataset has several splits; give one of {choices}", path)
        path = path / splits[0]
    if is_saved_dataset(path):
        return Layout(path, DATASET, [path])
    return _folder_layout(path)


def file_kind(path: Path) -> str | None:
    """Return the key in `KINDS` that fits the name of a file, or None."""
    name = unpacked_name(path).lower()
    return next((kind for kind, suffixes in KINDS.items() if name.endswith(suffixes)), None)


def _kind_of_file(path: Path) -> str:
    kind = file_kind(path)
    if kind is None:
        endings = ".jsonl, .json, .tsv, .csv, .parquet, .txt or .md"
        packed = ", ".join(PACKED)
        message = (
            f"unknown format: the file name must end in {endings}, plain or compressed ({packed})"
        )
        raise InputError(message, path)
    return kind


def _folder_layout(path: Path) -> Layout:
    files: dict[str, list[Path]] = {kind: [] for kind in KINDS}
    others = []
    for file in sorted(file for file in path.rglob("*") if file.is_file()):
        hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
        kind = file_kind(file)
        if kind is None or (hidden and kind not in FIRST):
            others.append(file)
        else:
            files[kind].append(file)
    kinds = [kind for kind in FIRST if files[kind]] or [kind for kind in KINDS if files[kind]]
    if not kinds:
        raise InputError(f"no corpus in this folder; expected {EXPECTED}", path)
    if len(kinds) > 1:
        first, second = (files[kind][0].name for kind in kinds[:2])
        message = f"the folder has both {first} and {second}"
        cure = "give the path of the file that is the corpus, or move the other files"
        raise InputError(f"{message}; {cure}", path)
    (kind,) = kinds
    others += [file for other in KINDS if other != kind for file in files[other]]
    _log_unread(path, files[kind], others)
    return Layout(path, kind, files[kind])


def _log_unread(path: Path, files: list[Path], others: list[Path]) -> None:
    if others:
        number = f"{counted(len(files), 'file')} such as {files[0].name}"
        unread = f"{counted(len(others), 'other file')} {'is' if len(others) == 1 else 'are'}"
        example = min(others).relative_to(path)
        message = "%s: reading %s; %s not part of the corpus, such as %s"
        logger.info(message, path, number, unread, example)

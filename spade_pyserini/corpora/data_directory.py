"""The data directory: local copies of collections, one folder each.

Many functions have the parameter ``data_dir``, the path of this directory. The default is the value
of the environment variable ``SPADE_DATA_DIR``. A collection has the name of its folder, which is
directly below the data directory. If the files have BEIR's format, the splits have names as well::

    DATA_DIR/insuranceqa/corpus.jsonl.gz       open_corpus("insuranceqa")
    DATA_DIR/insuranceqa/queries.jsonl.gz
    DATA_DIR/insuranceqa/qrels/train.tsv       read_topics("insuranceqa/train")
"""

from __future__ import annotations

import os
from pathlib import Path

from spade_pyserini.corpora.layout import MAIN_FILES
from spade_pyserini.errors import UsageError

VARIABLE = "SPADE_DATA_DIR"


def resolve_data_dir(data_dir: str | Path | None) -> Path | None:
    """Return ``data_dir``, or the directory in ``SPADE_DATA_DIR``, or None if neither is set.

    It is an error if the folder ``data_dir`` does not exist. ``SPADE_DATA_DIR`` is ignored if it
    names a folder that does not exist.
    """
    if data_dir is not None:
        if not Path(data_dir).is_dir():
            raise UsageError(f"data_dir={data_dir}: no such folder")
        return Path(data_dir)
    directory = os.environ.get(VARIABLE)
    return Path(directory) if directory and Path(directory).is_dir() else None


def is_collection(folder: Path) -> bool:
    """Whether the documents of a collection are in this folder."""
    return any((folder / name).is_file() for name in MAIN_FILES)


def collection_folder(name: str, data_dir: str | Path | None) -> Path | None:
    """Return the folder of the collection ``name`` in the data directory, or None."""
    directory = resolve_data_dir(data_dir)
    if directory is None or name in ("", "..") or Path(name).name != name:
        return None
    return directory / name if is_collection(directory / name) else None


def local_collections(data_dir: str | Path | None) -> dict[str, Path]:
    """Return the folders of all collections directly below the data directory, by name."""
    directory = resolve_data_dir(data_dir)
    if directory is None:
        return {}
    return {path.name: path for path in sorted(directory.iterdir()) if is_collection(path)}


def find_file(name: str | Path, data_dir: str | Path | None) -> Path | None:
    """Return the file ``name`` in the current folder or in the data directory, or None."""
    if Path(name).is_file():
        return Path(name)
    directory = resolve_data_dir(data_dir)
    return directory / name if directory and (directory / name).is_file() else None

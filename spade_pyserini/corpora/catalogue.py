"""The catalogue of collections, with the names that Pyserini and ir_datasets use for them.

A local copy of a collection, in BEIR or MS MARCO format, is looked up in the data directory (see
`spade_pyserini.corpora.data_directory`). Without a local copy, ir_datasets downloads the
collection. The collection ``pydoc`` is built in and needs neither a copy nor a download.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from spade_pyserini.corpora.data_directory import collection_folder

CATALOGUE = Path(__file__).with_name("catalogue.toml")
PYSERINI_BEIR = "beir-v1.0.0-"


@dataclass(frozen=True)
class Collection:
    """Documents with topics and judgements.

    name: the name in this package.
    title: the name in full.
    documents: the number of documents.
    licence: the licence of the documents.
    splits: for each split (topics with judgements), ir_datasets' id, then Pyserini's names.
    ids: other names of the collection, in addition to `name` and `dataset`.
    dataset: ir_datasets' id of the documents; None if ir_datasets does not have them.
    """

    name: str
    title: str
    documents: int
    licence: str
    splits: dict[str, list[str]]
    ids: tuple[str, ...] = ()
    dataset: str | None = None

    @property
    def names(self) -> list[str]:
        """All names of the collection, `name` first."""
        others = [self.dataset] if self.dataset else []
        if self.dataset and self.dataset.startswith("beir/"):
            others.append(f"{PYSERINI_BEIR}{self.name}")
        return [self.name, *self.ids, *others]

    def split_names(self, split: str) -> list[str]:
        """All names of the topics and judgements of a split, such as ``scifact/test``."""
        names = [f"{name}/{split}" for name in self.names]
        names += [f"{name}-{split}" for name in self.names if "/" not in name]
        return names + self.splits[split]

    def folder(self, data_dir: str | Path | None = None) -> Path | None:
        """Return the collection's folder in the data directory, or None if it is not there."""
        folders = (collection_folder(name.replace("/", "-"), data_dir) for name in self.names)
        return next((folder for folder in folders if folder), None)


@cache
def catalogue() -> dict[str, Collection]:
    """Return all collections by name."""
    entries = tomllib.loads(CATALOGUE.read_text(encoding="utf-8"))
    for entry in entries.values():
        entry["ids"] = tuple(entry.get("ids", ()))
    return {name: Collection(name=name, **entry) for name, entry in entries.items()}


def find_collection(name: str) -> Collection | None:
    """Return the collection that has ``name`` among its names, or None."""
    matches = (collection for collection in catalogue().values() if name in collection.names)
    return next(matches, None)


def find_split(name: str) -> tuple[Collection, str] | None:
    """Return the collection and the split that ``name`` stands for, or None."""
    for collection in catalogue().values():
        for split in collection.splits:
            if name in collection.split_names(split):
                return collection, split
    return None


def suggest_names(name: str, known: Iterable[str]) -> str:
    """Return the end of an error message: similar names, and the command that lists all names."""
    close = difflib.get_close_matches(name, list(known), 3, 0.6)
    command = "`spade corpora` lists all names"
    return f"did you mean {' or '.join(close)}? {command}" if close else command

"""The catalogue: collections by the names that people know, and where they are on this machine.

A collection's own folder is looked for in the data directory, in BEIR's form or MS MARCO's:
``--data-dir DIR``, or the variable ``SPADE_DATA_DIR``. What is not there comes from ir_datasets,
which downloads it.
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
    """Documents with topics and judgements. See ``catalogue.toml`` for the fields."""

    name: str
    title: str
    documents: int
    licence: str
    splits: dict[str, list[str]]
    ids: tuple[str, ...] = ()
    dataset: str | None = None

    @property
    def names(self) -> list[str]:
        """All names of the documents, ours first."""
        others = [self.dataset] if self.dataset else []
        if self.dataset and self.dataset.startswith("beir/"):
            others.append(f"{PYSERINI_BEIR}{self.name}")
        return [self.name, *self.ids, *others]

    def split_names(self, split: str) -> list[str]:
        """All names of the topics and judgements of a split: ``scifact/test`` is ours."""
        names = [f"{name}/{split}" for name in self.names]
        names += [f"{name}-{split}" for name in self.names if "/" not in name]
        return names + self.splits[split]

    def folder(self, data_dir: str | Path | None = None) -> Path | None:
        """Return the collection's folder in the data directory, or None if it is not there."""
        folders = (collection_folder(name.replace("/", "-"), data_dir) for name in self.names)
        return next((folder for folder in folders if folder), None)


@cache
def catalogue() -> dict[str, Collection]:
    """All collections by our name."""
    entries = tomllib.loads(CATALOGUE.read_text(encoding="utf-8"))
    for entry in entries.values():
        entry["ids"] = tuple(entry.get("ids", ()))
    return {name: Collection(name=name, **entry) for name, entry in entries.items()}


def find_collection(name: str) -> Collection | None:
    """A collection by any of its names."""
    found = (one for one in catalogue().values() if name in one.names)
    return next(found, None)


def find_split(name: str) -> tuple[Collection, str] | None:
    """A collection and the split of it that has this name."""
    for collection in catalogue().values():
        for split in collection.splits:
            if name in collection.split_names(split):
                return collection, split
    return None


def nearest(name: str, known: Iterable[str]) -> str:
    """For error messages: names like this one, or where to see them all."""
    close = difflib.get_close_matches(name, list(known), 3, 0.5)
    listed = "`python -m spade_pyserini.corpora` lists all names"
    return f"did you mean {' or '.join(close)}? {listed}" if close else listed

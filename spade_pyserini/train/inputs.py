"""Check the names of a recipe's collections before torch and the collections are loaded."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini.corpora.catalogue import suggest_names
from spade_pyserini.corpora.data_directory import find_file
from spade_pyserini.corpora.splits import resolve_split, split_names
from spade_pyserini.errors import NotFoundError
from spade_pyserini.train.documents import open_documents
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.settings import DevCollection, TrainingCollection


def check_inputs(recipe: Recipe, data_dir: str | Path | None = None) -> None:
    """Raise `NotFoundError` for a corpus, topics or judgements that do not exist."""
    named = bool(recipe.data.collections or recipe.data.corpus)
    collections: list[TrainingCollection | DevCollection] = [*recipe.dev_collections]
    collections += recipe.training_collections if named else ()
    for collection in collections:
        if collection.corpus:
            open_documents(collection, data_dir)
        for key, name in (("queries", collection.queries), ("qrels", collection.qrels)):
            if name and not _exists(name, data_dir):
                suggestion = suggest_names(name, split_names(data_dir))
                message = f"recipe: there are no {key} and no file with the name {name!r}"
                raise NotFoundError(f"{message}; {suggestion}")


def _exists(name: str, data_dir: str | Path | None) -> bool:
    return bool(find_file(name, data_dir) or resolve_split(name, data_dir=data_dir))

"""Open the documents of a collection in a recipe, with the columns that the recipe names."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Protocol

from spade_pyserini.corpora import Corpus, open_corpus


class HasCorpus(Protocol):
    """A collection of a recipe, see `TrainingCollection` and `DevCollection`."""

    @property
    def corpus(self) -> str: ...
    @property
    def id_field(self) -> str | None: ...
    @property
    def title_field(self) -> str | None: ...
    @property
    def text_fields(self) -> tuple[str, ...]: ...


class CorpusSource(NamedTuple):
    """The name or path of a corpus, and its columns. Columns that are not given are guessed."""

    corpus: str
    id_field: str | None = None
    title_field: str | None = None
    text_fields: tuple[str, ...] = ()

    def open(self, data_dir: str | Path | None = None) -> Corpus:
        """Open the corpus; names are looked up below ``data_dir``."""
        return open_corpus(
            self.corpus,
            data_dir=data_dir,
            id_field=self.id_field,
            title_field=self.title_field,
            text_fields=self.text_fields,
        )


def corpus_source(collection: HasCorpus) -> CorpusSource:
    """Return the corpus of a collection and its columns."""
    columns = collection.id_field, collection.title_field, collection.text_fields
    return CorpusSource(collection.corpus, *columns)


def open_documents(collection: HasCorpus, data_dir: str | Path | None = None) -> Corpus:
    """Open the corpus of a collection."""
    return corpus_source(collection).open(data_dir)

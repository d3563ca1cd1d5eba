"""A corpus as a stream of documents, opened by a name or a path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from spade_pyserini.corpora import huggingface, irdatasets, pydoc, readers
from spade_pyserini.corpora.catalogue import Collection, catalogue, find_collection, suggest_names
from spade_pyserini.corpora.checks import (
    LocatedDocument,
    OnError,
    ReadDocuments,
    check_documents,
    number_documents,
    raise_error,
)
from spade_pyserini.corpora.data_directory import collection_folder, local_collections
from spade_pyserini.errors import NotFoundError
from spade_pyserini.formats.paths import location, safe_file_name
from spade_pyserini.records import Document


def unknown_size() -> None:
    """The ``count`` of a corpus whose size is unknown until it is read."""


@dataclass(frozen=True)
class Corpus:
    """A named stream of documents that can be read repeatedly, in any process.

    Iterating yields the documents and checks them: ids are valid and unique, texts are valid
    Unicode. The first bad document raises `InputError`.

    name: for file names, such as ``encode/NAME.spade``.
    source: the path or id that the documents are read from.
    read: reads the documents, unchecked.
    count: returns the approximate number of documents, or None if it is unknown until they are
        read.
    segment: ``WORDS:STRIDE`` if the documents are passages, see `spade_pyserini.corpora.segment`.
    """

    name: str
    source: str
    read: ReadDocuments
    count: Callable[[], int | None] = unknown_size
    segment: str | None = None

    def __iter__(self) -> Iterator[Document]:
        return self.documents(raise_error)

    def documents(self, on_error: OnError) -> Iterator[Document]:
        """Yield the valid documents; ``on_error`` is called with the errors of the others."""
        return check_documents(self.read(on_error), on_error)


def open_corpus(
    corpus: str, path: str | Path | None = None, *, data_dir: str | Path | None = None
) -> Corpus:
    """Open a corpus by its name, or by the path of a folder or file.

    ``corpus`` is looked up in this order: ``hf:`` with the name of a Hugging Face dataset, a name
    in the catalogue, a folder in the data directory, a path or fsspec URL, an id of ir_datasets.
    With ``path``, the documents are read from there, and ``corpus`` is only the name of the corpus.
    ``data_dir`` defaults to the environment variable ``SPADE_DATA_DIR``.
    """
    if path is not None:
        return _from_files(corpus, location(path))
    if corpus.startswith(huggingface.PREFIX) and "://" not in corpus:
        name = corpus.removeprefix(huggingface.PREFIX).strip("/").replace(":", "-")
        return Corpus(safe_file_name(name), corpus, partial(huggingface.documents, corpus))
    if collection := find_collection(corpus):
        return _from_catalogue(collection, data_dir)
    if folder := collection_folder(corpus, data_dir):
        return _from_files(corpus, folder)
    if "://" in corpus or Path(corpus).exists():
        source = location(corpus)
        stem = source.resolve().name
        for suffix in (".gz", ".jsonl", ".json", ".tsv"):
            stem = stem.removesuffix(suffix)
        return _from_files(stem, source)
    if irdatasets.is_known(corpus):
        return _from_ir_datasets(corpus, corpus)
    names = [name for collection in catalogue().values() for name in collection.names]
    suggestion = suggest_names(corpus, [*names, *local_collections(data_dir)])
    raise NotFoundError(f"no corpus, folder or file is called {corpus!r}; {suggestion}")


def _from_catalogue(collection: Collection, data_dir: str | Path | None) -> Corpus:
    if collection.name == "pydoc":
        return _from_stream(collection.name, collection.name, pydoc.documents)
    if folder := collection.folder(data_dir):
        return _from_files(collection.name, folder)
    return _from_ir_datasets(collection.name, collection.dataset or collection.name)


def _from_files(name: str, path: Path) -> Corpus:
    files = readers.corpus_files(path)
    read, count = partial(readers.read_files, files), partial(readers.count_lines, files)
    return Corpus(safe_file_name(name), str(path), read, count)


def _from_ir_datasets(name: str, dataset: str) -> Corpus:
    corpus = _from_stream(name, dataset, partial(irdatasets.documents, dataset))
    return replace(corpus, count=partial(irdatasets.count, dataset))


def _from_stream(name: str, source: str, read: Callable[[], Iterator[Document]]) -> Corpus:
    return Corpus(safe_file_name(name), source, partial(_read_stream, read, source))


def _read_stream(
    read: Callable[[], Iterator[Document]], source: str, _: OnError
) -> Iterator[LocatedDocument]:
    return number_documents(read(), source)

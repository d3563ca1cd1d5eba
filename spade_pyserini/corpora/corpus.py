"""From the name or path that a user gives to a stream of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from spade_pyserini.corpora import huggingface, irdatasets, pydoc, readers
from spade_pyserini.corpora.catalogue import catalogue, find_collection, nearest
from spade_pyserini.corpora.checks import Located, OnError, check_documents, locate, strict
from spade_pyserini.corpora.data_directory import collection_folder, local_collections
from spade_pyserini.errors import NotFoundError
from spade_pyserini.formats.files import location, safe_file_name
from spade_pyserini.records import Document


def unknown() -> None:
    """The number of documents that cannot be told before they are read."""


@dataclass(frozen=True)
class Corpus:
    """A named stream of documents that can be read again and again, in any process.

    Iterating checks ids as it goes: each is one printable word, and none comes twice. ``count``
    tells about how many documents there are, if that can be told.
    """

    name: str
    source: str
    read: Callable[[OnError], Iterator[Located]]
    count: Callable[[], int | None] = unknown

    def __iter__(self) -> Iterator[Document]:
        return self.documents(strict)

    def documents(self, on_error: OnError) -> Iterator[Document]:
        """The good ones; ``on_error`` hears of the others."""
        return check_documents(self.read(on_error), on_error)


def open_corpus(
    corpus: str, path: str | Path | None = None, *, data_dir: str | Path | None = None
) -> Corpus:
    """Open a corpus by its name, or by the path of a folder or file.

    Names are those of the catalogue, of the folders in the data directory, ir_datasets' ids, and
    ``hf:`` with a Hugging Face dataset. They are tried in this order; a path comes before
    ir_datasets' ids. With ``path`` the documents are read from there and ``corpus`` is only the
    name. ``data_dir`` defaults to the environment variable ``SPADE_DATA_DIR``.
    """
    if path is not None:
        return _local(safe_file_name(corpus), location(path))
    if corpus.startswith(huggingface.PREFIX) and "://" not in corpus:
        plain = corpus.removeprefix(huggingface.PREFIX).strip("/").replace("/", "-")
        name = safe_file_name(plain.replace(":", "-"))
        return Corpus(name, corpus, partial(huggingface.documents, corpus))
    if found := find_collection(corpus):
        if found.name == "pydoc":
            return _stream(found.name, corpus, pydoc.documents)
        if folder := found.folder(data_dir):
            return _local(found.name, folder)
        dataset = found.dataset or found.name
        return _of_ir_datasets(found.name, dataset)
    if folder := collection_folder(corpus, data_dir):
        return _local(safe_file_name(corpus), folder)
    if "://" in corpus or Path(corpus).exists():
        place = location(corpus)
        stem = place.resolve().name
        for suffix in (".gz", ".jsonl", ".json", ".tsv"):
            stem = stem.removesuffix(suffix)
        return _local(safe_file_name(stem), place)
    if irdatasets.is_known(corpus):
        return _of_ir_datasets(corpus.replace("/", "-"), corpus)
    names = [name for collection in catalogue().values() for name in collection.names]
    names += local_collections(data_dir)
    raise NotFoundError(f"no corpus, folder or file is called {corpus!r}; {nearest(corpus, names)}")


def _stream(name: str, source: str, read: Callable[[], Iterator[Document]]) -> Corpus:
    return Corpus(safe_file_name(name), source, partial(_read_stream, read, source))


def _of_ir_datasets(name: str, dataset: str) -> Corpus:
    corpus = _stream(name, dataset, partial(irdatasets.documents, dataset))
    return replace(corpus, count=partial(irdatasets.count, dataset))


def _read_stream(
    read: Callable[[], Iterator[Document]], source: str, _: OnError
) -> Iterator[Located]:
    return locate(read(), source)


def _local(name: str, path: Path) -> Corpus:
    files = readers.corpus_files(path)
    read, count = partial(readers.read_files, files), partial(readers.count_lines, files)
    return Corpus(name, str(path), read, count)

"""A corpus as a stream of documents, opened by a name or a path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from spade_pyserini.corpora import huggingface, irdatasets, pydoc
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
from spade_pyserini.corpora.fields import NO_CHOICE, FieldChoice
from spade_pyserini.corpora.files import open_files
from spade_pyserini.corpora.layout import KINDS
from spade_pyserini.errors import NotFoundError, UsageError
from spade_pyserini.formats.lines import unpacked_name
from spade_pyserini.formats.paths import location, safe_file_name
from spade_pyserini.formats.similar import did_you_mean
from spade_pyserini.records import Document


def unknown_size() -> None:
    """Return None: the size of the corpus is unknown until the corpus is read."""


@dataclass(frozen=True)
class Corpus:
    """A named stream of documents that can be read repeatedly, in any process.

    Iterating yields the documents, and checks that ids are valid and unique and that texts are
    valid Unicode. The first bad document raises `InputError`.

    name: used in file names, such as ``encode/NAME.spade``.
    source: the path or id that the documents are read from.
    read: reads the documents without checking their ids and texts.
    count: returns the approximate number of documents, or None if the number is unknown until the
        documents are read.
    segment: ``WORDS:STRIDE`` if the documents are passages, see `spade_pyserini.corpora.segment`.
    fields: a description of the columns that are read; empty if the same columns would be guessed.
        An interrupted encoding is continued only if this description is the same.
    choice: the columns that the user named.
    in_files: whether ``source`` is a path or URL, not a name.
    """

    name: str
    source: str
    read: ReadDocuments
    count: Callable[[], int | None] = unknown_size
    segment: str | None = None
    fields: str = ""
    choice: FieldChoice = NO_CHOICE
    in_files: bool = False

    def __iter__(self) -> Iterator[Document]:
        return self.documents(raise_error)

    def documents(self, on_error: OnError) -> Iterator[Document]:
        """Yield the valid documents; call ``on_error`` with the error of each invalid document."""
        return check_documents(self.read(on_error), on_error)


def open_corpus(
    corpus: str,
    path: str | Path | None = None,
    *,
    data_dir: str | Path | None = None,
    id_field: str | None = None,
    title_field: str | None = None,
    text_fields: Sequence[str] = (),
) -> Corpus:
    """Open a corpus by its name, or by the path of a folder or file.

    ``corpus`` is looked up in this order: ``hf:`` with the name of a Hugging Face dataset, a name
    in the catalogue, a folder in the data directory, a path or fsspec URL, an id of ir_datasets.
    With ``path``, the documents are read from there, and ``corpus`` is only the name of the corpus.
    ``data_dir`` defaults to the environment variable ``SPADE_DATA_DIR``.

    A file is CSV or TSV with a header, JSON lines, a JSON array or Parquet, plain or compressed. A
    folder has such files, a saved Hugging Face dataset, or ``.txt`` and ``.md`` files. Each
    ``.txt`` or ``.md`` file is a document. BEIR's, MS MARCO's and Pyserini's formats are
    recognized. ::

        open_corpus("products.csv", id_field="sku", text_fields=["name", "description"])

    ``id_field``, ``title_field`` and ``text_fields`` name the columns, or the fields of JSON
    objects. If a name is not given, it is guessed. The guess is logged, unless all fields are
    BEIR's or Pyserini's. The values of several text fields are joined. With ``id_field=":row"``,
    the ids are the numbers of the rows, from 0. With ``title_field=""``, documents have no title.
    """
    if isinstance(text_fields, str):
        text_fields = (text_fields,)
    choice = FieldChoice(id_field, title_field, tuple(text_fields))
    opened = _open(corpus, path, data_dir, choice)
    return replace(opened, choice=choice) if choice.given else opened


def _open(
    corpus: str, path: str | Path | None, data_dir: str | Path | None, choice: FieldChoice
) -> Corpus:
    if path is not None:
        return _from_files(corpus, location(path), choice)
    if corpus.startswith(huggingface.PREFIX) and "://" not in corpus:
        name = corpus.removeprefix(huggingface.PREFIX).strip("/").replace(":", "-")
        dataset = huggingface.open_dataset(corpus, choice)
        return Corpus(safe_file_name(name), corpus, dataset.read, fields=dataset.fields)
    if collection := find_collection(corpus):
        return _from_catalogue(collection, data_dir, choice)
    if folder := collection_folder(corpus, data_dir):
        return _from_files(corpus, folder, choice)
    if "://" in corpus or Path(corpus).exists():
        source = location(corpus)
        return _from_files(_stem(source.resolve()), source, choice)
    if irdatasets.is_known(corpus):
        _refuse_fields(corpus, choice)
        return _from_ir_datasets(corpus, corpus)
    names = [name for collection in catalogue().values() for name in collection.names]
    suggestion = did_you_mean(corpus) + suggest_names(
        corpus, [*names, *local_collections(data_dir)]
    )
    raise NotFoundError(f"no corpus, folder or file is called {corpus!r}; {suggestion}")


def _stem(path: Path) -> str:
    """Return the name of a file or folder without the suffixes of its format and compression."""
    stem = unpacked_name(path)
    for suffix in (suffix for suffixes in KINDS.values() for suffix in suffixes):
        stem = stem.removesuffix(suffix)
    return stem


def _refuse_fields(corpus: str, choice: FieldChoice) -> None:
    if choice.given:
        message = f"{corpus} has fixed fields; id_field=COLUMN, title_field=COLUMN and"
        raise UsageError(f"{message} text_fields=COLUMN are for files and hf: names")


def _from_catalogue(
    collection: Collection, data_dir: str | Path | None, choice: FieldChoice
) -> Corpus:
    folder = collection.folder(data_dir)
    if collection.name != "pydoc" and folder:
        return _from_files(collection.name, folder, choice)
    _refuse_fields(collection.name, choice)
    if collection.name == "pydoc":
        return _from_stream(collection.name, collection.name, pydoc.documents)
    return _from_ir_datasets(collection.name, collection.dataset or collection.name)


def _from_files(name: str, path: Path, choice: FieldChoice) -> Corpus:
    files = open_files(path, choice)
    return Corpus(
        safe_file_name(name),
        str(path),
        files.read,
        files.count,
        fields=files.fields,
        in_files=True,
    )


def _from_ir_datasets(name: str, dataset: str) -> Corpus:
    corpus = _from_stream(name, dataset, partial(irdatasets.documents, dataset))
    return replace(corpus, count=partial(irdatasets.count, dataset))


def _from_stream(name: str, source: str, read: Callable[[], Iterator[Document]]) -> Corpus:
    return Corpus(safe_file_name(name), source, partial(_read_stream, read, source))


def _read_stream(
    read: Callable[[], Iterator[Document]], source: str, _: OnError
) -> Iterator[LocatedDocument]:
    return number_documents(read(), source)

"""From the name or path that a user gives to a stream of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from spade_pyserini.corpora import datasets_hf, datasets_ir, formats, pydoc
from spade_pyserini.corpora.checks import Located, check_documents, locate
from spade_pyserini.corpora.collections import catalogue, find_collection, nearest
from spade_pyserini.errors import NotFoundError
from spade_pyserini.files import file_name
from spade_pyserini.records import Document


@dataclass(frozen=True)
class Corpus:
    """A named stream of documents that can be read again and again.

    Iterating checks ids as it goes: each is one printable word, and none comes twice.
    """

    name: str
    source: str
    read: Callable[[], Iterator[Located]]

    def __iter__(self) -> Iterator[Document]:
        return check_documents(self.read())


def open_corpus(corpus: str, path: str | Path | None = None) -> Corpus:
    """Open a corpus by its name, or a folder or file of the user's.

    Names are those of the catalogue, ir_datasets' ids, and ``hf:`` with a Hugging Face dataset.
    With ``path`` the documents come from there and ``corpus`` is only the name.
    """
    if path is not None:
        return _local(file_name(corpus), Path(path))
    if corpus.startswith(datasets_hf.PREFIX):
        plain = corpus.removeprefix(datasets_hf.PREFIX).strip("/").replace("/", "-")
        return _stream(plain.replace(":", "-"), corpus, lambda: datasets_hf.documents(corpus))
    if found := find_collection(corpus):
        if found.name == "pydoc":
            return _stream(found.name, corpus, pydoc.documents)
        if folder := found.folder():
            return _local(found.name, folder)
        dataset = found.dataset or found.name
        return _stream(found.name, corpus, lambda: datasets_ir.documents(dataset))
    if Path(corpus).exists():
        stem = Path(corpus).resolve().name
        for suffix in (".gz", ".jsonl", ".json", ".tsv"):
            stem = stem.removesuffix(suffix)
        return _local(file_name(stem), Path(corpus))
    if datasets_ir.is_known(corpus):
        return _stream(corpus.replace("/", "-"), corpus, lambda: datasets_ir.documents(corpus))
    names = (name for one in catalogue().values() for name in one.names)
    raise NotFoundError(f"no corpus, folder or file is called {corpus!r}; {nearest(corpus, names)}")


def _stream(name: str, source: str, read: Callable[[], Iterator[Document]]) -> Corpus:
    return Corpus(file_name(name), source, lambda: locate(read(), source))


def _local(name: str, path: Path) -> Corpus:
    files = formats.corpus_files(path)
    return Corpus(name, str(path), lambda: formats.read_files(files))

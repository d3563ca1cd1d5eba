"""From the name or path that a user gives to a stream of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from spade_pyserini.corpora import formats, msmarco, pydoc
from spade_pyserini.corpora.checks import Located, check_documents, locate
from spade_pyserini.errors import NotFoundError
from spade_pyserini.files import file_name
from spade_pyserini.records import Document

BUILT_IN: dict[str, Callable[[], Iterator[Document]]] = {
    "pydoc": pydoc.documents,
    "msmarco": msmarco.documents,
}
NAMES = tuple(BUILT_IN)


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
    """Open a corpus by its name in the catalogue, or a folder or file of the user's.

    With ``path`` the documents come from there and ``corpus`` is only the name.
    """
    if path is not None:
        return _local(file_name(corpus), Path(path))
    if corpus in BUILT_IN:
        return Corpus(corpus, corpus, lambda: locate(BUILT_IN[corpus](), corpus))
    if not Path(corpus).exists():
        raise NotFoundError(
            f"no corpus, folder or file is called {corpus!r}; known names: {', '.join(NAMES)}"
        )
    stem = Path(corpus).resolve().name
    for suffix in (".gz", ".jsonl", ".json", ".tsv"):
        stem = stem.removesuffix(suffix)
    return _local(file_name(stem), Path(corpus))


def _local(name: str, path: Path) -> Corpus:
    files = formats.corpus_files(path)
    return Corpus(name, str(path), lambda: formats.read_files(files))

"""The texts of the documents of an index, from the corpora that its manifest records."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from spade_pyserini.corpora import Corpus
from spade_pyserini.corpora.recorded import open_local, open_recorded
from spade_pyserini.errors import InputError, NotFoundError, SpadeError
from spade_pyserini.formats.index_manifest import IndexManifest
from spade_pyserini.records import Document

# Largest number of documents for which the recorded corpus is read: this takes a few seconds.
AUTOMATIC = 200_000


class Texts:
    """Finds documents by id. With ``keep`` the corpora are read once and kept in memory."""

    def __init__(self, corpora: list[Corpus], *, keep: bool = False) -> None:
        self._corpora, self._keep = corpora, keep
        self._documents: dict[str, Document] | None = None

    def find(self, docids: Collection[str]) -> dict[str, Document]:
        """Return the documents with these ids; those that no corpus has are left out."""
        if not self._keep:
            return self._read(set(docids))
        if self._documents is None:
            documents: dict[str, Document] = {}
            for document in self._all():
                documents.setdefault(document.docid, document)
            self._documents = documents
        return {docid: self._documents[docid] for docid in docids if docid in self._documents}

    def _read(self, missing: set[str]) -> dict[str, Document]:
        documents: dict[str, Document] = {}
        if missing:
            for document in self._all():
                if document.docid in missing:
                    documents[document.docid] = document
                    missing.remove(document.docid)
                    if not missing:
                        break
        return documents

    def _all(self) -> Iterator[Document]:
        """All documents of all corpora. The first corpus with an id has the current text."""
        for corpus in self._corpora:
            yield from corpus.documents(_ignore)


def _ignore(_: InputError) -> None:
    """Leave out a bad document: it is not in the index."""


def open_texts(
    manifest: IndexManifest, *, data_dir: str | Path | None = None, keep: bool = False
) -> Texts:
    """Open the corpora that an index was made from.

    Raises `NotFoundError` if none of them can be opened, or if reading them would take long.
    """
    if manifest.documents > AUTOMATIC:
        message = f"the index has {manifest.documents:,} documents, and reading their corpus"
        raise NotFoundError(f"{message} for a query takes long")
    corpora, problems = [], []
    for source in manifest.sources:
        try:
            corpora.append(open_recorded(source))
        except SpadeError as error:
            problems.append(str(error))
    if not corpora and (corpus := open_local(manifest.corpus, data_dir)):
        corpora.append(corpus)
    if not corpora:
        unknown = "the manifest of the index does not say which corpus it was made from"
        raise NotFoundError(problems[0] if problems else unknown)
    return Texts(corpora, keep=keep)

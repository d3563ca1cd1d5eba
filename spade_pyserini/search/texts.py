"""Find the texts of an index's documents in the corpora that its manifest records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from spade_pyserini.corpora import Corpus, apply_transforms
from spade_pyserini.corpora.recorded import open_local, open_recorded
from spade_pyserini.errors import InputError, NotFoundError, SpadeError
from spade_pyserini.formats.index_manifest import IndexManifest
from spade_pyserini.records import Document

# If an index has more documents than this, a query does not read the corpus that the manifest
# records: reading this many texts takes a few seconds.
AUTOMATIC = 200_000


class Texts:
    """Finds documents by id.

    With ``keep``, the corpora are read once and kept in memory. Without it, each call of `find`
    reads the corpora again.
    """

    def __init__(self, corpora: list[Corpus], *, keep: bool = False) -> None:
        self._corpora, self._keep = corpora, keep
        self._documents: dict[str, Document] | None = None

    def find(self, docids: Collection[str]) -> dict[str, Document]:
        """Return the documents with these ids; ids that no corpus has are left out."""
        if not self._keep:
            return self._read(set(docids))
        if self._documents is None:
            documents: dict[str, Document] = {}
            for document in _all(self._corpora):
                documents.setdefault(document.docid, document)
            self._documents = documents
        return {docid: self._documents[docid] for docid in docids if docid in self._documents}

    def _read(self, missing: set[str]) -> dict[str, Document]:
        documents: dict[str, Document] = {}
        if missing:
            for document in _all(self._corpora):
                if document.docid in missing:
                    documents[document.docid] = document
                    missing.remove(document.docid)
                    if not missing:
                        break
        return documents


class TextStream:
    """Finds the documents of an index, batch by batch, while it reads the corpora once.

    A document that is read before its batch is requested is kept in memory. Few documents are kept
    if the index has them in the order of the corpus; many are kept if the index was reordered.
    """

    def __init__(self, corpora: Sequence[Corpus], docids: Iterable[str]) -> None:
        """Prepare to find documents; ``docids`` are the ids of all documents of the index."""
        self._documents = _all(corpora)
        self._awaited = set(docids)
        self._early: dict[str, Document] = {}

    def find(self, docids: Collection[str]) -> dict[str, Document]:
        """Return the documents of the next batch; ids that no corpus has are left out."""
        missing = set(docids) - self._early.keys()
        while missing and (document := next(self._documents, None)):
            if document.docid in self._awaited:
                self._awaited.remove(document.docid)
                self._early[document.docid] = document
                missing.discard(document.docid)
        return {docid: self._early.pop(docid) for docid in docids if docid in self._early}


def _all(corpora: Sequence[Corpus]) -> Iterator[Document]:
    """Yield the documents of all corpora. If an id occurs again, callers use the first document."""
    for corpus in corpora:
        yield from corpus.documents(_ignore)


def _ignore(_: InputError) -> None:
    """Leave out a bad document: it is not in the index."""


def open_texts(
    manifest: IndexManifest, *, data_dir: str | Path | None = None, keep: bool = False
) -> Texts:
    """Open the corpora that an index was made from.

    Raises `NotFoundError` if no corpus can be opened, or if the index has more than `AUTOMATIC`
    documents.
    """
    if manifest.documents > AUTOMATIC:
        message = f"the index has {manifest.documents:,} documents, and finding the texts of hits"
        raise NotFoundError(f"{message} in such a large corpus takes long")
    return Texts(remembered_corpora(manifest, data_dir=data_dir), keep=keep)


def remembered_corpora(
    manifest: IndexManifest, *, data_dir: str | Path | None = None
) -> list[Corpus]:
    """Open the corpora that an index was made from; raise `NotFoundError` if none can be opened."""
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
    return corpora


def divided_like(manifest: IndexManifest, corpus: Corpus) -> Corpus:
    """Return ``corpus``, split into passages if the documents of the index are passages."""
    segments = [source["segment"] for source in manifest.sources if "segment" in source]
    return apply_transforms(corpus, segments[0]) if segments else corpus

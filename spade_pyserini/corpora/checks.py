"""Check the ids and texts of documents from any source.

A reader reports a bad document to an `OnError` function: `raise_error` raises the error; an
`ErrorLimit` collects it and lets the reader continue with the next document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from spade_pyserini.errors import InputError, SpadeError
from spade_pyserini.formats.ids import IdSet, id_problem
from spade_pyserini.formats.unicode import SURROGATE, is_valid_unicode
from spade_pyserini.records import Document

OnError = Callable[[InputError], None]


def raise_error(error: InputError) -> None:
    """Raise the error, which stops the reading at the first bad document."""
    raise error


class ErrorLimit:
    """Collect the errors of up to ``limit`` bad documents; the next error stops the reading.

    The messages of the errors are added to the set ``messages``. Several readers of the same corpus
    may share this set, so that each bad document is reported once.
    """

    def __init__(self, limit: int, messages: set[str] | None = None) -> None:
        self.limit = limit
        self.errors: list[InputError] = []
        self._messages = set() if messages is None else messages

    def __call__(self, error: InputError) -> None:
        if not self.limit:
            raise error
        self.errors.append(error)
        self._messages.add(str(error))
        if len(self.errors) > self.limit:
            message = f"more bad documents than max_errors={self.limit} allows"
            raise SpadeError(f"{message}; the last error is {error}")


class LocatedDocument(NamedTuple):
    """A document and its position in the corpus, which error messages name.

    source: the file, or the name of the collection.
    line: the line in the file; for a source without lines, the number of the document from 1.
    """

    document: Document
    source: str
    line: int


ReadDocuments = Callable[[OnError], Iterator[LocatedDocument]]
"""A function that reads a corpus; it calls its argument with the error of each bad document."""


def number_documents(documents: Iterable[Document], source: str) -> Iterator[LocatedDocument]:
    """Number documents from 1, for a source without line numbers."""
    for number, document in enumerate(documents, start=1):
        yield LocatedDocument(document, source, number)


def check_documents(
    stream: Iterable[LocatedDocument], on_error: OnError = raise_error
) -> Iterator[Document]:
    """Yield the documents with a valid, unique id and valid text; report the others."""
    seen = IdSet()
    for document, source, line in stream:
        problem = id_problem(document.docid)
        if problem is None and not is_valid_unicode(document.contents):
            problem = f"the text contains {SURROGATE}"
        if problem is None and not seen.add(document.docid):
            problem = f"the id {document.docid!r} was used before; ids must be unique: rename one"
        if problem is None:
            yield document
        else:
            on_error(InputError(problem, source, line))

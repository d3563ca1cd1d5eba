"""What every stream of documents is checked for, whatever it is read from.

What is wrong with a document is told to an `OnError`: `strict` raises it, a `Tolerance` counts it
and lets the reader go on with the next document.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from spade_pyserini.errors import InputError, SpadeError
from spade_pyserini.formats.files import is_valid_unicode
from spade_pyserini.records import Document

LONGEST_ID = 1000  # Lucene drops documents with much longer ones


OnError = Callable[[InputError], None]


def strict(error: InputError) -> None:
    """The first bad document is the end."""
    raise error


class Tolerance:
    """Collect the errors of up to ``limit`` bad documents; one more is the end.

    ``listed`` has them too, and what several readings of a corpus have met, if they share it.
    """

    def __init__(self, limit: int, listed: set[str] | None = None) -> None:
        self.limit = limit
        self.errors: list[InputError] = []
        self._listed = set() if listed is None else listed

    def __call__(self, error: InputError) -> None:
        if not self.limit:
            raise error
        self.errors.append(error)
        self._listed.add(str(error))
        if len(self.errors) > self.limit:
            message = f"more than --max-errors {self.limit} bad documents, the last one at"
            raise SpadeError(f"{message} {error}")


class Located(NamedTuple):
    """A document and where it stands: the line of a file, or its number in a collection."""

    document: Document
    source: str
    line: int


def locate(documents: Iterable[Document], source: str) -> Iterator[Located]:
    """Number the documents of a collection that has no lines."""
    for number, document in enumerate(documents, start=1):
        yield Located(document, source, number)


def check_documents(stream: Iterable[Located], on_error: OnError = strict) -> Iterator[Document]:
    """Pass documents on, without those with a bad id, the second use of one, or bad text."""
    seen = IdSet()
    for document, source, line in stream:
        fault = _fault(document)
        if fault is None and not seen.add(document.docid):
            fault = f"the id {document.docid!r} was used before; ids must be unique"
        if fault is None:
            yield document
        else:
            on_error(InputError(fault, source, line))


def _fault(document: Document) -> str | None:
    docid = document.docid
    if not docid:
        return "the id is empty"
    if not docid.isprintable() or " " in docid or len(docid.split()) != 1:
        message = f"the id {docid!r} holds white space or control characters, which a run"
        return f"{message} cannot carry; replace them"
    if len(docid) > LONGEST_ID:
        return f"the id has {len(docid)} characters, {LONGEST_ID} are the most"
    if not is_valid_unicode(document.contents):
        return "the text holds half of a surrogate pair (\\ud800 to \\udfff); repair it"
    return None


class IdSet:
    """A set of ids in about ten bytes each: 64-bit digests, most of them in a sorted array."""

    RECENT = 500_000

    def __init__(self) -> None:
        self._recent: set[int] = set()
        self._sorted = np.empty(0, dtype=np.uint64)

    def add(self, docid: str) -> bool:
        """Add an id; False if it was there."""
        digest = int.from_bytes(hashlib.blake2b(docid.encode(), digest_size=8).digest())
        if digest in self._recent or self._in_sorted(digest):
            return False
        self._recent.add(digest)
        if len(self._recent) >= self.RECENT:
            recent = np.fromiter(self._recent, dtype=np.uint64, count=len(self._recent))
            self._sorted = np.sort(np.concatenate([self._sorted, recent]))
            self._recent.clear()
        return True

    def _in_sorted(self, digest: int) -> bool:
        key = np.uint64(digest)
        place = int(np.searchsorted(self._sorted, key))
        return place < len(self._sorted) and bool(self._sorted[place] == key)

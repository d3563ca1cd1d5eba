"""Read the documents of a shard from the corpus."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator

from spade_pyserini.corpora import Corpus
from spade_pyserini.corpora.checks import ErrorLimit
from spade_pyserini.records import Document


class ShardReader:
    """Reads the documents of any shard. Reading is fastest in ascending order of shard numbers.

    To read the same shard again or an earlier shard, the reader goes back to the first document.
    """

    def __init__(self, corpus: Corpus, shard_size: int, max_errors: int) -> None:
        self.corpus, self.shard_size, self.max_errors = corpus, shard_size, max_errors
        self._restart()

    def _restart(self) -> None:
        self._next = self.documents_read = 0
        self._tolerance = ErrorLimit(self.max_errors)
        self._documents = self._counted()

    def _counted(self) -> Iterator[Document]:
        for document in self.corpus.documents(self._tolerance):
            self.documents_read += 1
            yield document

    @property
    def errors(self) -> list[str]:
        """A message for each bad document since the start of the corpus."""
        return [str(error) for error in self._tolerance.errors]

    def read(self, number: int) -> list[Document]:
        """The documents of shard ``number``; an empty list after the end of the corpus."""
        if number < self._next:
            self._restart()
        skipped = (number - self._next) * self.shard_size
        documents = list(itertools.islice(self._documents, skipped, skipped + self.shard_size))
        self._next = number + 1
        return documents


def input_digest(documents: list[Document]) -> str:
    """SHA-256 of the documents of a shard: their ids, titles and texts, in order."""
    digest = hashlib.sha256()
    for document in documents:
        for field in document:
            digest.update(field.encode() + b"\0")
    return digest.hexdigest()

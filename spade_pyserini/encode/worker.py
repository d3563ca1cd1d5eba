"""A worker: takes numbers of shards, reads their documents, encodes them, writes them.

Every worker reads the corpus by itself, so nobody has to hand documents around: on one machine or
on many, all that is handed out is a number. While a shard is in the model, the last one is packed
and written, and when it is nearly through, the next one is read and tokenized: no sooner, as a
worker that has nothing to do may take that number.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.corpora import Corpus
from spade_pyserini.corpora.checks import Tolerance
from spade_pyserini.encode.memory import release_memory
from spade_pyserini.encode.resume import intact
from spade_pyserini.encode.shard import Encoded, Prepared, ShardEncoder, input_digest
from spade_pyserini.formats.vectors import Shard, VectorSettings
from spade_pyserini.models import SpadeEncoder
from spade_pyserini.records import Document

REST = 0.1  # of a shard's documents, the longest, that are encoded while the next one is read


@dataclass(frozen=True)
class Job:
    """What all workers of an encoding have in common. ``known`` are shards of an earlier run."""

    corpus: Corpus
    model: SpadeEncoder
    folder: Path
    settings: VectorSettings
    known: dict[int, Shard]
    overwrite: bool = False
    components: bool = False
    max_errors: int = 0


class Result(NamedTuple):
    """A finished shard, made now (``fresh``) or found as an earlier run left it.

    shard: None after the end of the corpus. components: the checksum of its components, if they
    were written. errors: the bad documents that were met on the way to its end, from the start of
    the corpus. corpus_documents: how many there are, known at the end of the corpus.
    """

    shard: Shard | None
    fresh: bool
    components: str | None
    errors: list[str]
    corpus_documents: int | None = None


class Worker:
    """``progress`` is told of documents and terms as they are encoded."""

    def __init__(self, job: Job, progress: Callable[[int, int], None]) -> None:
        self.job, self.progress = job, progress
        self.reader = ShardReader(job.corpus, job.settings.shard_size, job.max_errors)
        self.encoder = ShardEncoder(job.model, job.settings, job.components)

    def run(self, numbers: Iterable[int]) -> Iterator[Result]:
        """The shards of these numbers; the last result, without a shard, is for the end.

        Where something fails, the shard that is being written comes out before the error does, and
        a result that has all bad documents.
        """
        unwritten: deque[Future[Result]] = deque()
        with ThreadPoolExecutor(1) as reading, ThreadPoolExecutor(1) as writing:
            ahead = ReadAhead(reading, self._read, numbers)
            try:
                while (read := ahead.take()).found is not None:
                    if isinstance(read.found, Prepared):
                        progress = self._watched(len(read.found.ids), ahead.begin)
                        release_memory()
                        encoded = self.encoder.encode(read.found, progress)
                        unwritten.append(writing.submit(self._finish, encoded, read.errors))
                    else:
                        kept = Result(read.found, False, None, read.errors)
                        unwritten.append(writing.submit(lambda result: result, kept))
                    if len(unwritten) > 1:
                        yield unwritten.popleft().result()
            except (Exception, KeyboardInterrupt):
                while unwritten:
                    yield unwritten.popleft().result()
                yield Result(None, False, None, self.reader.errors)
                raise
            while unwritten:
                yield unwritten.popleft().result()
            yield Result(None, False, None, read.errors, self.reader.seen)

    def _watched(self, documents: int, nearly: Callable[[], None]) -> Callable[[int, int], None]:
        """Tells of progress, and calls ``nearly`` when most of these documents are encoded."""
        left = documents

        def told(encoded: int, terms: int) -> None:
            nonlocal left
            left -= encoded
            if left < REST * documents:
                nearly()
            self.progress(encoded, terms)

        return told

    def _read(self, number: int) -> Read:
        """A shard to encode, or one that is there already; None after the end of the corpus."""
        job = self.job
        documents, errors = self.reader.read(number)
        if not documents:
            return Read(None, errors)
        digest = input_digest(documents)
        old = job.known.get(number)
        if old and intact(job.folder, old, digest, job.overwrite, job.components):
            return Read(old, errors)
        return Read(self.encoder.prepare(number, documents, digest), errors)

    def _finish(self, encoded: Encoded, errors: list[str]) -> Result:
        shard, components = self.encoder.finish(self.job.folder, encoded)
        return Result(shard, True, components, errors)


class Read(NamedTuple):
    """A shard to encode, or one that is finished, or None; and the bad documents up to there."""

    found: Prepared | Shard | None
    errors: list[str]


class ReadAhead:
    """The shards of some numbers, one after the other; the next may be begun before it is asked."""

    def __init__(
        self, pool: ThreadPoolExecutor, read: Callable[[int], Read], numbers: Iterable[int]
    ) -> None:
        self._pool, self._read, self._numbers = pool, read, iter(numbers)
        self._coming: Future[Read] | None = None

    def begin(self) -> None:
        """Take the next number, if none is taken, and read its shard meanwhile."""
        if self._coming is None:
            number = next(self._numbers, None)
            if number is not None:
                self._coming = self._pool.submit(self._read, number)

    def take(self) -> Read:
        self.begin()
        coming, self._coming = self._coming, None
        return Read(None, []) if coming is None else coming.result()


class ShardReader:
    """The documents of any shard. Going forward reads on, going back begins again."""

    def __init__(self, corpus: Corpus, size: int, max_errors: int) -> None:
        self.corpus, self.size, self.max_errors = corpus, size, max_errors
        self._begin()

    def _begin(self) -> None:
        self._next = self.seen = 0
        self._tolerance = Tolerance(self.max_errors)
        self._documents = self._counted()

    def _counted(self) -> Iterator[Document]:
        for document in self.corpus.documents(self._tolerance):
            self.seen += 1
            yield document

    @property
    def errors(self) -> list[str]:
        """What was wrong with documents up to here."""
        return [str(error) for error in self._tolerance.errors]

    def read(self, number: int) -> tuple[list[Document], list[str]]:
        """Nothing after the end; and what was wrong with documents up to here."""
        if number < self._next:
            self._begin()
        skipped = (number - self._next) * self.size
        documents = list(itertools.islice(self._documents, skipped, skipped + self.size))
        self._next = number + 1
        return documents, self.errors

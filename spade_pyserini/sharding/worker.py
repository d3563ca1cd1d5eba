"""A worker: for each shard number, it reads the documents, computes the shard and writes it.

Every worker reads the corpus itself, so documents need not be sent between processes or machines:
workers only receive numbers. While one shard is computed, the previous one is written. When most
of a shard is computed, the next one is read and prepared. It is not read earlier, so that another
worker can take it in the meantime.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from spade_pyserini.corpora import Corpus
from spade_pyserini.sharding.memory import release_memory
from spade_pyserini.sharding.protocols import Advance, MovableTask, ShardRecord, ShardTask
from spade_pyserini.sharding.reader import ShardReader, input_digest
from spade_pyserini.sharding.resume import Output

REMAINING = 0.1  # read the next shard when this share of the current one is left to compute


@dataclass(frozen=True)
class Job:
    """The input of all workers of a job. ``earlier``: the shards of an earlier run, by number."""

    corpus: Corpus
    task: ShardTask[Any, Any]
    output: Output[Any]
    shard_size: int
    earlier: dict[int, ShardRecord]
    max_errors: int = 0


def movable(job: Job) -> MovableTask[Any, Any]:
    """Return the job's task as a `MovableTask`, which a job in other processes needs."""
    return cast("MovableTask[Any, Any]", job.task)


class Result(NamedTuple):
    """A shard that a worker finished, or the end of the corpus.

    shard: None at the end of the corpus.
    fresh: True if the shard was computed now, False if it was kept from an earlier run.
    companion_sha256: the digest of the shard's companion file, if one was written.
    errors: a message for each bad document from the start of the corpus to the end of the shard.
    corpus_documents: the size of the corpus, known at its end.
    """

    shard: ShardRecord | None
    fresh: bool
    companion_sha256: str | None
    errors: list[str]
    corpus_documents: int | None = None


def run_here(job: Job, advance: Advance) -> Iterator[Result]:
    """Process all shards of the job's part in this process; yield them in order."""
    return Worker(job, advance).run(map(job.output.part.shard, itertools.count()))


class Worker:
    """Processes shards of a job, and reports progress to ``advance``."""

    def __init__(self, job: Job, advance: Advance) -> None:
        self.job, self.advance = job, advance
        self.reader = ShardReader(job.corpus, job.shard_size, job.max_errors)

    def run(self, numbers: Iterable[int]) -> Iterator[Result]:
        """Process the shards with these numbers. The last result has no shard; it marks the end.

        If an error occurs, the shards that are being written and a result with all bad documents
        are yielded first; then the error is raised.
        """
        unwritten: deque[Future[Result]] = deque()
        with ThreadPoolExecutor(1) as reading, ThreadPoolExecutor(1) as writing:
            ahead = _ReadAhead(reading, self._read, numbers)
            try:
                while (item := ahead.take()).shard is not None:
                    if isinstance(item.shard, _Prepared):
                        release_memory()
                        advance = self._watched(item.shard.documents, ahead.begin)
                        computed = self.job.task.compute(item.shard.value, advance)
                        unwritten.append(writing.submit(self._write, computed, item.errors))
                    else:
                        kept = Result(item.shard, False, None, item.errors)
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
            yield Result(None, False, None, item.errors, self.reader.documents_read)

    def _watched(self, documents: int, read_next: Callable[[], None]) -> Advance:
        """Return a function that calls ``advance`` and, near the end of a shard, ``read_next``."""
        left = documents

        def advance(computed: int, terms: int) -> None:
            nonlocal left
            left -= computed
            if left < REMAINING * documents:
                read_next()
            self.advance(computed, terms)

        return advance

    def _read(self, number: int) -> _Read:
        """Read the documents of a shard; prepare them unless an earlier run finished the shard."""
        documents = self.reader.read(number)
        errors = self.reader.errors
        if not documents:
            return _Read(None, errors)
        digest = input_digest(documents)
        earlier = self.job.earlier.get(number)
        if earlier is not None and self.job.output.can_keep(earlier, digest):
            return _Read(earlier, errors)
        prepared = self.job.task.prepare(number, documents, digest)
        return _Read(_Prepared(prepared, len(documents)), errors)

    def _write(self, computed: Any, errors: list[str]) -> Result:
        written = self.job.task.write(self.job.output.folder, computed)
        return Result(written.shard, True, written.companion_sha256, errors)


class _Prepared(NamedTuple):
    """A shard that was read and prepared.

    value: the input of the task's ``compute``. documents: the number of documents in the shard.
    """

    value: Any
    documents: int


class _Read(NamedTuple):
    """What was read for a shard number.

    shard: a shard to compute, a finished shard, or None after the end of the corpus.
    errors: a message for each bad document since the start of the corpus.
    """

    shard: _Prepared | ShardRecord | None
    errors: list[str]


class _ReadAhead:
    """Reads shards one after the other; reading the next can begin before it is needed."""

    def __init__(
        self, pool: ThreadPoolExecutor, read: Callable[[int], _Read], numbers: Iterable[int]
    ) -> None:
        self._pool, self._read, self._numbers = pool, read, iter(numbers)
        self._next: Future[_Read] | None = None

    def begin(self) -> None:
        """Start to read the next shard, unless reading has already started."""
        if self._next is None:
            number = next(self._numbers, None)
            if number is not None:
                self._next = self._pool.submit(self._read, number)

    def take(self) -> _Read:
        """Wait for the next shard."""
        self.begin()
        future, self._next = self._next, None
        return _Read(None, []) if future is None else future.result()

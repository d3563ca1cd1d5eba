"""Workers on a Ray cluster; the driver sends them shard numbers.

    spade encode --corpus msmarco --output /shared/msmarco.spade --ray auto

All nodes must reach the corpus and the output by the same paths, on shared storage. A cluster with
GPUs runs one worker for each GPU, and a cluster without GPUs runs one worker for each CPU core. If
a worker dies, another one gets its shards. Each worker reads the corpus to the end, and all workers
must count the same number of documents.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spade_pyserini.errors import NotFoundError, SpadeError
from spade_pyserini.sharding.protocols import Advance
from spade_pyserini.sharding.worker import Job, Result, Worker, movable

MAX_DEATHS = 3  # the job fails after this many workers died on the same shard
QUEUE_LENGTH = 2  # number of shards that are queued for each worker


@dataclass(frozen=True)
class RayCluster:
    """Runs a job on a cluster. The job's task must be a `MovableTask`.

    ``address`` is as in ``ray.init``, or ``local`` to start Ray on this machine.
    """

    address: str

    def __call__(self, job: Job, advance: Advance) -> Iterator[Result]:
        """Process all shards of the job's part; yield them as they are finished."""
        ray = _import_ray()
        connect = not ray.is_initialized()
        if connect:
            address = None if self.address == "local" else self.address
            try:
                ray.init(address=address, log_to_driver=False)
            except (ConnectionError, ValueError) as error:
                message = f"no Ray cluster at {self.address!r}: {error}"
                raise NotFoundError(f"{message}; start a cluster, or give ray=local") from None
        try:
            for result in _Driver(ray, job).run():
                if result.shard and result.fresh:
                    advance(result.shard.documents, result.shard.terms)
                yield result
        finally:
            if connect:
                ray.shutdown()


class _Driver:
    """Sends shard numbers to the workers and collects the results."""

    def __init__(self, ray: Any, job: Job) -> None:
        self.ray, self.part = ray, job.output.part
        self.gpus = int(ray.cluster_resources().get("GPU", 0))
        output = replace(job.output, folder=job.output.folder.resolve())
        self.job = ray.put(replace(job, task=movable(job).on_device("cpu"), output=output))
        self.lost: deque[int] = deque()  # shards of dead workers
        self.index = 0  # index of the next shard among the shards of this part
        self.ended: set[Any] = set()  # workers that reached the end of the corpus
        self.deaths: Counter[int] = Counter()  # number of dead workers by shard number
        self.workers: list[Any] = []  # workers that are alive, as far as is known
        self.pending: dict[Any, tuple[Any, int]] = {}  # Ray reference: (worker, shard number)

    def run(self) -> Iterator[Result]:
        """Process all shards; yield them as they are finished."""
        cores = int(self.ray.cluster_resources().get("CPU", 1))
        self.workers = [self._start() for _ in range(self.gpus or cores)]
        for _ in range(QUEUE_LENGTH):
            for worker in self.workers:
                self._send(worker)
        while self.pending:
            (reference,), _ = self.ray.wait(list(self.pending), num_returns=1)
            worker, number = self.pending.pop(reference)
            try:
                result = self.ray.get(reference)
            except self.ray.exceptions.RayActorError:
                self._replace(worker, number)
                continue
            if isinstance(result, str):
                raise SpadeError(result)
            if result.shard is None:
                self.ended.add(worker)
            yield result
            self._send(worker)

    def _start(self) -> Any:
        resources = {"num_gpus": 1} if self.gpus else {"num_cpus": 1}
        remote = self.ray.remote(**resources)(RayWorker)
        return remote.remote(self.job, "cuda" if self.gpus else "cpu", Path.cwd())

    def _send(self, worker: Any) -> None:
        """Send a worker its next shard: one of a dead worker, or the next shard of the corpus."""
        if self.lost:
            number = self.lost.popleft()
        elif worker in self.ended:
            return
        else:
            number = self.part.shard(self.index)
            self.index += 1
        self.pending[worker.run.remote(number)] = worker, number

    def _replace(self, dead: Any, number: int) -> None:
        """Send the shards of a dead worker to the other workers; start a worker if none is left."""
        lost = [number, *(other for worker, other in self.pending.values() if worker is dead)]
        self.pending = {
            reference: pending
            for reference, pending in self.pending.items()
            if pending[0] is not dead
        }
        self.deaths[number] += 1
        if self.deaths[number] == MAX_DEATHS:
            raise SpadeError(
                f"{MAX_DEATHS} workers died on shard {number} (out of memory?); finished shards "
                "are kept; run the same command again to continue"
            )
        self.lost.extend(lost)
        self.workers = [worker for worker in self.workers if worker is not dead] or [self._start()]
        for worker in itertools.cycle(self.workers):
            if not self.lost:
                return
            self._send(worker)


class RayWorker:
    """A Ray actor. It changes to the driver's working directory, so that relative paths work."""

    def __init__(self, job: Job, device: str, directory: Path) -> None:
        import torch

        if directory.is_dir():
            os.chdir(directory)
        if device == "cpu":
            torch.set_num_threads(1)
        self.job, self.device = job, device
        self.worker: Worker | None = None

    def run(self, number: int) -> Result | str:
        """Return the result of a shard, or the message of an error.

        Errors are not raised, because Ray would wrap them in exceptions of its own.
        """
        try:
            if self.worker is None:
                task = movable(self.job).on_device(self.device)
                task.check_device()
                self.worker = Worker(replace(self.job, task=task), lambda *_: None)
            result, *_ = self.worker.run([number])
            return result
        except (SpadeError, OSError) as error:
            return str(error)


def _import_ray() -> Any:
    try:
        import ray
    except ModuleNotFoundError:
        message = "ray=ADDRESS needs Ray: pip install 'spade_pyserini[ray]'"
        raise NotFoundError(message) from None
    return ray

"""Workers on a Ray cluster: the driver only hands out numbers of shards.

    python -m spade_pyserini.encode --corpus msmarco --output /shared/msmarco.spade --ray auto

Corpus and output are on storage that all nodes reach by the same name. A GPU is a worker where
there are GPUs, a core is one elsewhere. The shard of a worker that dies is given to another one.
A worker is done when it has come to the end of the corpus itself: all must find the same end.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from spade_pyserini.encode.part import Part
from spade_pyserini.encode.worker import Job, Result, Worker
from spade_pyserini.errors import NotFoundError, SpadeError

TRIES = 3  # of a shard whose workers die
AHEAD = 2  # shards that a worker has been given at one time


def run_on_ray(
    job: Job, part: Part, address: str, progress: Callable[[int, int], None]
) -> Iterator[Result]:
    """All shards of ``part``, as they are finished. ``address`` as in ``ray.init``, or local."""
    ray = _ray()
    started = not ray.is_initialized()
    if started:
        try:
            ray.init(address=None if address == "local" else address, log_to_driver=False)
        except (ConnectionError, ValueError) as error:
            raise NotFoundError(f"no Ray cluster at {address!r}: {error}") from None
    try:
        for result in _Driver(ray, job, part).run():
            if result.shard and result.fresh:
                progress(result.shard.documents, result.shard.terms)
            yield result
    finally:
        if started:
            ray.shutdown()


class _Driver:
    def __init__(self, ray: Any, job: Job, part: Part) -> None:
        self.ray, self.part = ray, part
        self.gpus = int(ray.cluster_resources().get("GPU", 0))
        model = job.model.cpu()
        self.job = ray.put(replace(job, model=model, folder=job.folder.resolve()))
        self.again: deque[int] = deque()
        self.place = 0
        self.ended: set[Any] = set()  # workers that came to the end of the corpus
        self.tries: Counter[int] = Counter()
        self.workers: list[Any] = []  # that are alive, as far as is known
        self.given: dict[Any, tuple[Any, int]] = {}  # by reference: worker, number

    def run(self) -> Iterator[Result]:
        cores = int(self.ray.cluster_resources().get("CPU", 1))
        self.workers = [self._start() for _ in range(self.gpus or cores)]
        for _ in range(AHEAD):
            for worker in self.workers:
                self._give(worker)
        while self.given:
            (reference,), _ = self.ray.wait(list(self.given), num_returns=1)
            worker, number = self.given.pop(reference)
            try:
                found = self.ray.get(reference)
            except self.ray.exceptions.RayActorError:
                self._replace(worker, number)
                continue
            if isinstance(found, str):
                raise SpadeError(found)
            if found.shard is None:
                self.ended.add(worker)
            yield found
            self._give(worker)

    def _start(self) -> Any:
        needs = {"num_gpus": 1} if self.gpus else {"num_cpus": 1}
        remote = self.ray.remote(**needs)(RayWorker)
        return remote.remote(self.job, "cuda" if self.gpus else "cpu", Path.cwd())

    def _give(self, worker: Any) -> None:
        if self.again:
            number = self.again.popleft()
        elif worker in self.ended:
            return
        else:
            number = self.part.shard(self.place)
            self.place += 1
        self.given[worker.encode.remote(number)] = worker, number

    def _replace(self, dead: Any, number: int) -> None:
        """Its shards go to those that are alive, busy or not; if nobody is, to a new one."""
        lost = [number, *(other for worker, other in self.given.values() if worker is dead)]
        self.given = {key: kept for key, kept in self.given.items() if kept[0] is not dead}
        self.tries[number] += 1
        if self.tries[number] == TRIES:
            message = f"the workers of shard {number} died {TRIES} times (out of memory?)"
            raise SpadeError(f"{message}; what is finished is kept, run the same command again")
        self.again.extend(lost)
        self.workers = [worker for worker in self.workers if worker is not dead]
        self.workers = self.workers or [self._start()]
        for worker in itertools.cycle(self.workers):
            if not self.again:
                return
            self._give(worker)


class RayWorker:
    """An actor. ``place`` is where the driver is: a relative path means the same to both."""

    def __init__(self, job: Job, device: str, place: Path) -> None:
        import torch

        if place.is_dir():
            os.chdir(place)
        if device == "cpu":
            torch.set_num_threads(1)
        self.model = job.model.to(device)
        self.worker = Worker(replace(job, model=self.model), lambda *_: None)

    def encode(self, number: int) -> Result | str:
        """The shard, or an error's text where there is one."""
        try:
            self.model.check_precision()  # it may not pay on this node
            result, *_ = self.worker.run([number])
            return result
        except (SpadeError, OSError) as error:
            return str(error)


def _ray() -> Any:
    try:
        import ray
    except ModuleNotFoundError:
        message = "--ray needs Ray: pip install 'spade_pyserini[ray]'"
        raise NotFoundError(message) from None
    return ray

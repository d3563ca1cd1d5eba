"""Several workers on one machine: processes that share the CPU cores or use one GPU each."""

from __future__ import annotations

import os
import queue
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import multiprocessing

from spade_pyserini.errors import SpadeError, UsageError
from spade_pyserini.sharding.protocols import Advance
from spade_pyserini.sharding.worker import Job, Result, Worker, movable

CHECK_PERIOD = 0.5  # seconds between two checks that all workers are alive


@dataclass(frozen=True)
class Processes:
    """Runs a job in ``count`` processes. The job's task must be a `MovableTask`."""

    count: int

    def __call__(self, job: Job, advance: Advance) -> Iterator[Result]:
        """Process all shards of the job's part; yield them as they are finished."""
        context = multiprocessing.get_context("spawn")
        # Keep a reference to the counter: if it is garbage-collected, its semaphore is removed.
        counter, messages = context.Value("q", 0), context.Queue()
        workers = self._workers(job, context, counter, messages)
        try:
            for worker in workers:
                with _sigint_blocked():
                    worker.start()
            yield from received_results(workers, messages, advance)
        except (SpadeError, KeyboardInterrupt):
            yield from queued_results(messages)
            raise
        finally:
            for worker in workers:
                if worker.pid is not None:
                    worker.terminate()
                    worker.join()

    def _workers(self, job: Job, context: Any, counter: Any, messages: Any) -> list[Any]:
        """Create the processes without starting them."""
        shared = replace(job, task=movable(job).on_device("cpu"))
        threads = max(1, len(os.sched_getaffinity(0)) // self.count)
        return [
            context.Process(
                target=_work, args=(shared, device, threads, counter, messages), daemon=True
            )
            for device in devices(movable(job).device, self.count)
        ]


def received_results(workers: list[Any], messages: Any, advance: Advance) -> Iterator[Result]:
    """Yield results until all workers have ended; raise `SpadeError` if one dies or fails."""
    running, next_check = len(workers), 0.0
    while running:
        if time.monotonic() >= next_check:
            _check_alive(workers)
            next_check = time.monotonic() + CHECK_PERIOD
        try:
            kind, value = messages.get(timeout=CHECK_PERIOD)
        except queue.Empty:
            continue
        if kind == "result":
            yield value
        elif kind == "progress":
            advance(*value)
        elif kind == "error":
            raise SpadeError(value)
        else:
            running -= 1


def queued_results(messages: Any) -> Iterator[Result]:
    """Yield the results that workers have sent and that were not received yet."""
    while True:
        try:
            kind, value = messages.get_nowait()
        except queue.Empty:
            return
        if kind == "result":
            yield value


def devices(device: str, processes: int) -> list[str]:
    """Return the device of each process: its own GPU for ``cuda``, else the same device for all."""
    chosen = torch.device(device)
    if chosen.type != "cuda":
        return [device] * processes
    if chosen.index:
        message = f"{device} is a single GPU, but processes={processes} needs one for each process"
        raise UsageError(f"{message}; give device=cuda to use all GPUs")
    if processes > (gpus := torch.cuda.device_count()):
        raise UsageError(f"processes={processes} is more than the {gpus} GPUs of this machine")
    return [f"cuda:{index}" for index in range(processes)]


@contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Block SIGINT while a worker starts; the parent terminates its workers itself.

    A child process inherits the signal mask, so Ctrl-C reaches the parent only. A SIGINT that
    arrives meanwhile is raised afterwards.
    """
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    received: list[int] = []
    in_main_thread = threading.current_thread() is threading.main_thread()
    # The mask applies to this thread only; another thread may receive the signal.
    if in_main_thread:
        handler = signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if in_main_thread:
            signal.signal(signal.SIGINT, handler)
    if received:
        signal.raise_signal(signal.SIGINT)


def _check_alive(workers: list[Any]) -> None:
    for worker in workers:
        if worker.exitcode:  # a negative exit code means that a signal ended the process
            cause = f"by signal {-worker.exitcode}" if worker.exitcode < 0 else "unexpectedly"
            raise SpadeError(
                f"a worker was ended {cause} (out of memory?); finished shards are kept; run the "
                "same command again to continue"
            )


def _exit_with_parent() -> None:
    """End this process when its parent ends, because nobody would receive its results."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(job: Job, device: str, threads: int, counter: Any, messages: Any) -> None:
    """Main function of a worker process: take the next shard number until the corpus ends."""
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    torch.set_num_threads(threads)

    def numbers() -> Iterator[int]:
        while True:
            with counter.get_lock():
                index = counter.value
                counter.value += 1
            yield job.output.part.shard(index)

    try:
        job = replace(job, task=movable(job).on_device(device))
        worker = Worker(job, lambda *counts: messages.put(("progress", counts)))
        for result in worker.run(numbers()):
            messages.put(("result", result))
        messages.put(("end", None))
    except (SpadeError, OSError) as error:
        messages.put(("error", str(error)))

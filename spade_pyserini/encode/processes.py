"""Several workers on one machine, each a process with its share of the cores, or a GPU."""

from __future__ import annotations

import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import multiprocessing

from spade_pyserini.encode.part import Part
from spade_pyserini.encode.worker import Job, Result, Worker
from spade_pyserini.errors import SpadeError

LISTEN = 0.5  # seconds between two looks at whether all workers are alive


def run_processes(
    job: Job, part: Part, processes: int, progress: Callable[[int, int], None]
) -> Iterator[Result]:
    """All shards of ``part``, as they are finished."""
    context = multiprocessing.get_context("spawn")
    counter = context.Value("q", 0)
    messages = context.Queue()
    device = next(job.model.parameters()).device
    workers = [
        context.Process(
            target=_work,
            args=(replace(job, model=job.model.cpu()), part, place, counter, messages),
            kwargs={"device": _device(device, place), "threads": _threads(processes)},
            daemon=True,
        )
        for place in range(processes)
    ]
    try:
        for worker in workers:
            worker.start()
        running = len(workers)
        while running:
            try:
                kind, value = messages.get(timeout=LISTEN)
            except queue.Empty:
                _check_alive(workers)
                continue
            if kind == "result":
                yield value
            elif kind == "progress":
                progress(*value)
            elif kind == "error":
                yield from finished(messages)
                raise SpadeError(value)
            else:
                running -= 1
    finally:
        for worker in workers:
            if worker.pid is not None:
                worker.terminate()
                worker.join()


def finished(messages: Any) -> Iterator[Result]:
    """The shards that other workers have told of by now."""
    while True:
        try:
            kind, value = messages.get_nowait()
        except queue.Empty:
            return
        if kind == "result":
            yield value


def _device(asked: torch.device, place: int) -> str:
    """GPUs one after the other; everything else as it was asked for."""
    if asked.type != "cuda":
        return str(asked)
    return f"cuda:{place % torch.cuda.device_count()}"


def _threads(processes: int) -> int:
    return max(1, len(os.sched_getaffinity(0)) // processes)


def _check_alive(workers: list[Any]) -> None:
    for worker in workers:
        if worker.exitcode:  # negative for a signal
            ended = f"by signal {-worker.exitcode}" if worker.exitcode < 0 else "unexpectedly"
            raise SpadeError(
                f"a worker ended {ended} (out of memory?); what is finished is kept, run the same "
                "command again to go on"
            )


def _end_with_parent() -> None:
    """Of a worker: nobody hears its results once the parent was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(
    job: Job, part: Part, place: int, counter: Any, messages: Any, *, device: str, threads: int
) -> None:
    """The life of a process: take the next number until the corpus ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it and ends us
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)

    def numbers() -> Iterator[int]:
        while True:
            with counter.get_lock():
                taken = counter.value
                counter.value += 1
            yield part.shard(taken)

    try:
        job.model.to(device)
        worker = Worker(job, lambda *counts: messages.put(("progress", counts)))
        for result in worker.run(numbers()):
            messages.put(("result", result))
        messages.put(("end", place))
    except (SpadeError, OSError) as error:
        messages.put(("error", str(error)))

"""Several workers on one machine, each a process with its share of the cores, or a GPU."""

from __future__ import annotations

import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import multiprocessing

from spade_pyserini.encode.part import Part
from spade_pyserini.encode.worker import Job, Result, Worker
from spade_pyserini.errors import SpadeError, UsageError
from spade_pyserini.models import SpadeEncoder

LISTEN = 0.5  # seconds between two looks at whether all workers are alive


def run_processes(
    job: Job, part: Part, processes: int, progress: Callable[[int, int], None]
) -> Iterator[Result]:
    """All shards of ``part``, as they are finished."""
    context = multiprocessing.get_context("spawn")
    counter = context.Value("q", 0)
    messages = context.Queue()
    workers = [
        context.Process(
            target=_work,
            args=(replace(job, model=job.model.cpu()), part, place, counter, messages),
            kwargs={"device": device, "threads": _threads(processes)},
            daemon=True,
        )
        for place, device in enumerate(devices(job.model, processes))
    ]
    try:
        for worker in workers:
            with _ctrl_c_later():
                worker.start()
        running, look = len(workers), 0.0
        while running:
            if time.monotonic() >= look:
                _check_alive(workers)
                look = time.monotonic() + LISTEN
            try:
                kind, value = messages.get(timeout=LISTEN)
            except queue.Empty:
                continue
            if kind == "result":
                yield value
            elif kind == "progress":
                progress(*value)
            elif kind == "error":
                raise SpadeError(value)
            else:
                running -= 1
    except (SpadeError, KeyboardInterrupt):
        yield from finished(messages)
        raise
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


def devices(model: SpadeEncoder, processes: int) -> list[str]:
    """A GPU for each process, where the model is on one; everything else as it is."""
    asked = model.device
    if asked.type != "cuda":
        return [str(asked)] * processes
    if asked.index:
        raise UsageError(f"{asked} is one GPU; with --processes it is --device cuda, for all")
    if processes > (gpus := torch.cuda.device_count()):
        raise UsageError(f"--processes {processes} is more than the {gpus} GPUs of this machine")
    return [f"cuda:{place}" for place in range(processes)]


@contextmanager
def _ctrl_c_later() -> Iterator[None]:
    """Hold Ctrl-C back meanwhile; a process that is started never hears it: we shall end it."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    pressed: list[object] = []
    here = threading.current_thread() is threading.main_thread()
    # The mask is only this thread's: where there are others, one of them hears it for us.
    usual = signal.signal(signal.SIGINT, lambda *_: pressed.append(_)) if here else None
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if here:
            signal.signal(signal.SIGINT, usual)
    if pressed:
        signal.raise_signal(signal.SIGINT)


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
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)

    def numbers() -> Iterator[int]:
        while True:
            with counter.get_lock():
                taken = counter.value
                counter.value += 1
            yield part.shard(taken)

    try:
        worker = Worker(
            replace(job, model=job.model.to(device)),
            lambda *counts: messages.put(("progress", counts)),
        )
        for result in worker.run(numbers()):
            messages.put(("result", result))
        messages.put(("end", place))
    except (SpadeError, OSError) as error:
        messages.put(("error", str(error)))

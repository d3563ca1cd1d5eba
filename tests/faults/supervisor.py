"""Run commands with a fault: kill them, or simulate a full disk, at a chosen system call."""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from tests.faults import nursery
from tests.faults.syscalls import NEED_SPACE, Call, answer, receive

SECONDS = 600.0
ORPHAN_SECONDS = 30.0  # time for the children of a killed process to end


class Fault(NamedTuple):
    """A fault at system call number ``at``, counted from 1.

    kind: ``kill`` kills the process at this call; ``full`` simulates a full disk from this call on.
    """

    kind: str
    at: int


class Limits(NamedTuple):
    """Limits of time and memory of a command; 0 ``megabytes`` means that memory is not limited."""

    seconds: float = SECONDS
    megabytes: int = 0


class Outcome(NamedTuple):
    """How a command ended.

    code: its exit code. out, err: its output and its error messages. calls: the system calls that
    changed, or would have changed, files in its folder. megabytes: its peak memory.
    orphans: whether children of the command were still running after `ORPHAN_SECONDS`.
    """

    code: int
    out: str
    err: str
    calls: list[Call]
    megabytes: float
    orphans: bool


class Supervisor:
    """Runs ``spade`` in children of `tests.faults.nursery`; use it in a ``with`` statement."""

    def __init__(self) -> None:
        pairs = [socket.socketpair() for _ in range(2)]
        numbers = [theirs.fileno() for _, theirs in pairs]
        command = [sys.executable, "-m", "tests.faults.nursery", *map(str, numbers)]
        self._process = subprocess.Popen(command, pass_fds=numbers)
        for _, theirs in pairs:
            theirs.close()
        (self._channel, _), (self._descriptors, _) = pairs
        assert self._receive() == {"ready": True}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._channel.close()
        self._descriptors.close()
        self._process.wait()

    def run(
        self,
        arguments: list[str],
        folder: Path,
        fault: Fault | None = None,
        *,
        supervised: bool = True,
        limits: Limits = Limits(),  # noqa: B008 - a NamedTuple cannot be changed
        observe: Callable[[Call], None] | None = None,
    ) -> Outcome:
        """Run ``spade ARGUMENTS`` in ``folder``, with its cache in ``folder/cache``.

        If ``supervised``, system calls that change files are intercepted, which ``fault`` and
        ``observe`` need. Before each system call that changes a file in ``folder``, the command
        waits until ``observe`` has returned.
        """
        out, err = (folder.with_name(f"{folder.name}.{name}") for name in ("stdout", "stderr"))
        request = {
            "arguments": arguments,
            "folder": str(folder),
            "environment": {"SPADE_CACHE_DIR": str(folder / "cache")},
            "out": str(out),
            "err": str(err),
            "supervised": supervised,
            "seconds": limits.seconds,
            "bytes": limits.megabytes << 20,
        }
        nursery.send(self._channel, request)
        process = self._receive()["process"]
        calls: list[Call] = []
        listener = self._listener() if supervised else None
        try:
            act = _reaction(fault, process, folder, calls, observe)
            ended = self._supervise(listener, act)
            orphans = not self._wait_for_group(process, listener)
        finally:
            if listener is not None:
                os.close(listener)
        printed, errors = (path.read_text(errors="replace") for path in (out, err))
        megabytes = ended["kilobytes"] / 1024
        return Outcome(ended["code"], printed, errors, calls, megabytes, orphans)

    def _receive(self) -> dict[str, Any]:
        message = nursery.receive(self._channel)
        assert message is not None, "the process of tests.faults.nursery has ended"
        return message

    def _listener(self) -> int:
        _, descriptors, _, _ = socket.recv_fds(self._descriptors, 1, 1)
        return descriptors[0]

    def _supervise(self, listener: int | None, act: Callable[[Call], int | None]) -> dict[str, Any]:
        """Answer the system calls of a command until it ends; return the report of the nursery."""
        waiting = select.poll()
        waiting.register(self._channel, select.POLLIN)
        if listener is not None:
            waiting.register(listener, select.POLLIN)
        while True:
            events = dict(waiting.poll())
            if listener is not None and (state := events.get(listener)):
                if state & select.POLLIN:
                    _answer_next(listener, act)
                else:  # all processes with the filter have ended
                    waiting.unregister(listener)
                continue
            if self._channel.fileno() in events:
                return self._receive()

    def _wait_for_group(self, process: int, listener: int | None) -> bool:
        """Wait until the children of a command have ended.

        After `ORPHAN_SECONDS`, kill them and return False.
        """
        waiting = select.poll()
        if listener is not None:
            waiting.register(listener, select.POLLIN)
        end = time.monotonic() + ORPHAN_SECONDS
        while time.monotonic() < end:
            try:
                os.killpg(process, 0)
            except ProcessLookupError:
                return True
            for descriptor, state in waiting.poll(10):
                if state & select.POLLIN:
                    _answer_next(descriptor, lambda _: 0)
                else:
                    time.sleep(0.01)
        os.killpg(process, signal.SIGKILL)
        return False


def _answer_next(listener: int, act: Callable[[Call], int | None]) -> None:
    call = receive(listener)
    if call is not None and (error := act(call)) is not None:
        answer(listener, call, error)


def _reaction(
    fault: Fault | None,
    process: int,
    folder: Path,
    calls: list[Call],
    observe: Callable[[Call], None] | None,
) -> Callable[[Call], int | None]:
    """Return a function that handles a system call of the command.

    The function returns an error number with which the call fails, 0 to let the call happen, or
    None if the function has killed the process.
    """

    def act(call: Call) -> int | None:
        if call.path is None or not call.path.is_relative_to(folder):
            return 0
        calls.append(call)
        if observe is not None:
            observe(call)
        if fault is None or len(calls) < fault.at:
            return 0
        if fault.kind == "kill":
            os.kill(process, signal.SIGKILL)
            return None
        return errno.ENOSPC if call.name in NEED_SPACE else 0

    return act

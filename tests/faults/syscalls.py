"""Intercept the system calls by which a process and its children change files.

The process installs a seccomp filter that hands such calls to a supervisor in another process
(``SECCOMP_RET_USER_NOTIF``, Linux 5.5 or later). The supervisor lets a call happen, answers it with
an error such as ENOSPC, or kills the process. The supervisor sees the calls of Python, of Java and
of libraries in Rust and C++, and needs neither root nor a compiler.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import struct
from pathlib import Path
from typing import NamedTuple

# For each kind of call, the positions of two arguments: the path, and the descriptor of the folder
# that the path is relative to (None: the working folder). A call on an open file has no path: the
# first position is None, and the second is the position of the file's descriptor.
_AT, _PLAIN, _DESCRIPTOR = (1, 0), (0, None), (None, 0)
# name: (number on x86-64, number on aarch64, arguments)
CALLS: dict[str, tuple[int | None, int | None, tuple[int | None, int | None]]] = {
    "write": (1, 64, _DESCRIPTOR),
    "pwrite64": (18, 68, _DESCRIPTOR),
    "writev": (20, 66, _DESCRIPTOR),
    "pwritev": (296, 70, _DESCRIPTOR),
    "sendfile": (40, 71, _DESCRIPTOR),
    "copy_file_range": (326, 285, (None, 2)),
    "fallocate": (285, 47, _DESCRIPTOR),
    "ftruncate": (77, 46, _DESCRIPTOR),
    "fsync": (74, 82, _DESCRIPTOR),
    "fdatasync": (75, 83, _DESCRIPTOR),
    "fchmod": (91, 52, _DESCRIPTOR),
    "open": (2, None, _PLAIN),
    "openat": (257, 56, _AT),
    "creat": (85, None, _PLAIN),
    "truncate": (76, 45, _PLAIN),
    "rename": (82, None, (1, None)),
    "renameat": (264, 38, (3, 2)),
    "renameat2": (316, 276, (3, 2)),
    "link": (86, None, (1, None)),
    "linkat": (265, 37, (3, 2)),
    "symlink": (88, None, (1, None)),
    "symlinkat": (266, 36, (2, 1)),
    "unlink": (87, None, _PLAIN),
    "unlinkat": (263, 35, _AT),
    "rmdir": (84, None, _PLAIN),
    "mkdir": (83, None, _PLAIN),
    "mkdirat": (258, 34, _AT),
    "chmod": (90, None, _PLAIN),
    "fchmodat": (268, 53, _AT),
}
# Calls that need space on the disk: they fail when the disk is full.
NEED_SPACE = {
    *("write", "pwrite64", "writev", "pwritev", "sendfile", "copy_file_range", "fallocate"),
    *("open", "openat", "creat", "link", "linkat", "symlink", "symlinkat", "mkdir", "mkdirat"),
}
MACHINES = {"x86_64": (0, 317, 0xC000003E), "aarch64": (1, 277, 0xC00000B7)}
FLAGS_ARGUMENT = {"open": 1, "openat": 2}
CREATING = os.O_CREAT | os.O_TRUNC

_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06  # instructions of BPF
_NOTIFY, _ALLOW = 0x7FC00000, 0x7FFF0000
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_CONTINUE = 1
_NOTIFICATION = struct.Struct("=QII iIQ6Q")
_ANSWER = struct.Struct("=QqiI")
_PATH_MAX = 4096


class Call(NamedTuple):
    """A system call that waits for an answer. ``path`` is the file it would change, or None."""

    identifier: int
    thread: int
    name: str
    path: Path | None

    def __str__(self) -> str:
        return f"{self.name}({'' if self.path is None else self.path.name})"


def is_supported() -> bool:
    """Return whether this machine can hand system calls to a supervisor."""
    if platform.system() != "Linux" or platform.machine() not in MACHINES:
        return False
    try:
        actions = Path("/proc/sys/kernel/seccomp/actions_avail").read_text()
    except OSError:
        return False
    return "user_notif" in actions


def install_filter() -> int:
    """Install the filter in this process; return the descriptor that a supervisor reads."""
    column, seccomp, architecture = MACHINES[platform.machine()]
    program = _program(_numbers(column), architecture)
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HxxxxxxP", len(program), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    if libc.prctl(38, 1, 0, 0, 0):  # PR_SET_NO_NEW_PRIVS, so that root is not needed
        raise OSError(ctypes.get_errno(), "prctl")
    # SECCOMP_SET_MODE_FILTER with SECCOMP_FILTER_FLAG_NEW_LISTENER
    listener = int(libc.syscall(seccomp, 1, 1 << 3, ctypes.create_string_buffer(header)))
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return listener


def _numbers(column: int) -> dict[str, int]:
    numbers = {name: entry[column] for name, entry in CALLS.items()}
    return {name: number for name, number in numbers.items() if isinstance(number, int)}


def _program(numbers: dict[str, int], architecture: int) -> list[tuple[int, int, int, int]]:
    """Return a BPF program that reports the system calls ``numbers`` to the supervisor.

    Calls that open a file are reported only if they may create or truncate it.
    """
    program = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, 0),
    ]
    for name, number in numbers.items():
        if name in FLAGS_ARGUMENT:
            program += [
                (_EQUAL, 0, 4, number),
                (_LOAD, 0, 0, 16 + 8 * FLAGS_ARGUMENT[name]),
                (_ANY_BIT, 0, 1, CREATING),
                (_RETURN, 0, 0, _NOTIFY),
                (_RETURN, 0, 0, _ALLOW),
            ]
        else:
            program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _NOTIFY)]
    return [*program, (_RETURN, 0, 0, _ALLOW)]


def receive(listener: int) -> Call | None:
    """Return the next waiting system call; None if its thread has been killed meanwhile."""
    buffer = bytearray(_NOTIFICATION.size)
    try:
        fcntl.ioctl(listener, _RECEIVE, buffer)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EINTR):
            return None
        raise
    identifier, thread, _, number, _, _, *arguments = _NOTIFICATION.unpack(buffer)
    column = MACHINES[platform.machine()][0]
    name = next(name for name, entry in CALLS.items() if entry[column] == number)
    return Call(identifier, thread, name, _path(thread, CALLS[name][2], arguments))


def answer(listener: int, call: Call, error: int = 0) -> None:
    """Let a call happen, or make it fail with ``error``."""
    values = (call.identifier, 0, -error, 0) if error else (call.identifier, 0, 0, _CONTINUE)
    try:
        fcntl.ioctl(listener, _SEND, _ANSWER.pack(*values))
    except OSError as problem:
        if problem.errno != errno.ENOENT:  # ENOENT: the thread has been killed
            raise


def _path(
    thread: int, positions: tuple[int | None, int | None], arguments: list[int]
) -> Path | None:
    text, descriptor = positions
    process = Path("/proc", str(thread))
    try:
        if text is None:
            assert descriptor is not None
            return (process / "fd" / str(arguments[descriptor])).readlink()
        name = _string(process / "mem", arguments[text])
        folder = process / "cwd"
        if descriptor is not None and (number := arguments[descriptor] & 0xFFFFFFFF) < 1 << 31:
            folder = process / "fd" / str(number)  # AT_FDCWD is negative: the working folder
        return Path(os.path.normpath(folder.readlink() / os.fsdecode(name)))
    except (OSError, ValueError):
        return None


def _string(memory: Path, address: int) -> bytes:
    """Return the C string at an address of another process.

    Memory is read page by page, because the page after the end of the string may not exist.
    """
    text = b""
    with memory.open("rb", buffering=0) as stream:
        while b"\0" not in text and len(text) < _PATH_MAX:
            stream.seek(address + len(text))
            text += stream.read(_PATH_MAX - (address + len(text)) % _PATH_MAX)
    return text.partition(b"\0")[0]

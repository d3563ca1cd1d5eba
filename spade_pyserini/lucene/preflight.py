"""Checks before a JVM starts in this process.

If Java cannot start, it prints text of its own to standard output and may end the process; these
checks raise `JavaError` instead.
"""

from __future__ import annotations

import os
import subprocess

from spade_pyserini.errors import JavaError
from spade_pyserini.lucene.runtime import Java
from spade_pyserini.memory_limit import memory_limit

COLLECTOR = "-XX:+UseSerialGC"


def check_environment(java: Java, options: list[str]) -> None:
    """Raise `JavaError` if the current folder was deleted, or the memory limit is too low."""
    try:
        os.getcwd()  # noqa: PTH109 - only the error is needed, not a Path
    except FileNotFoundError:
        message = "the current folder was deleted, and Java needs one"
        raise JavaError(f"{message}; change to another folder") from None
    if memory_limit() is not None:
        _try_to_start(java, options)


def memory_options() -> list[str]:
    """Return options that keep the heap as small as the data in it allows.

    By default Java's initial heap is a 64th of the machine's memory, and Java fills it before it
    collects garbage: a process that searches would grow by hundreds of megabytes.
    """
    chosen = f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} {os.environ.get('_JAVA_OPTIONS', '')}"
    # Leave out options that the user sets: Java refuses options that contradict each other.
    options = {"-Xm": "-Xms32m", "GC": COLLECTOR}
    return [option for sign, option in options.items() if sign not in chosen]


def _try_to_start(java: Java, options: list[str]) -> None:
    """Raise `JavaError` if Java does not start in a child process, which has the same limits."""
    command = [str(java.home / "bin" / "java"), *options, "-version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:  # the runtime has no program `java`, so Java cannot be tried
        return
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        reason = "; ".join(lines[:2]) or f"exit code {done.returncode}"
        message = f"Java cannot start within the memory limit of this process ({reason})"
        cure = "raise the limit (ulimit -v), or set a smaller heap: JAVA_TOOL_OPTIONS=-Xmx1g"
        raise JavaError(f"{message}; {cure}")

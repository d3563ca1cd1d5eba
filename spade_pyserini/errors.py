"""The exceptions of this package.

::

    SpadeError                 exit code 1: the work failed
    ├── InputError             an input file is invalid; the message names the path and line
    ├── ArtifactError          vectors, an index or a model are damaged, or do not match each other
    ├── OutputExistsError      the output exists, or cannot be written
    ├── NotFoundError          a corpus, model, topics or library is not on this machine
    ├── NoCommonTopicError     runs, topics or judgements have no topic in common
    ├── JavaError              no suitable Java, or an error in Java
    └── UsageError             exit code 2: the arguments are wrong

A command prints the message of a ``SpadeError`` or ``OSError`` as one line and exits. If memory ran
out, it prints a message about that. Any other exception is a bug in this package, and its traceback
is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


class SpadeError(Exception):
    """Base class of all errors that a user can cause and correct."""

    exit_code = 1


class InputError(SpadeError):
    """A file with invalid contents. The message begins with ``path:line``, or only ``path``."""

    def __init__(self, message: str, path: Path | str, line: int | None = None) -> None:
        self.path, self.line = str(path), line
        position = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{position}: {message}")


class ArtifactError(SpadeError):
    """Vectors, an index or a model are damaged, incomplete, or do not match each other."""


class OutputExistsError(SpadeError):
    """The output exists and was written by a different call, or its path is not writable."""


def describe_differences(old: Mapping[str, object], new: Mapping[str, object]) -> str:
    """Return the settings that differ between ``old`` and ``new``, for error messages.

    An example is ``k 10, now 20; bits 8, now 6``.

    Digests come last. They are cut to 8 characters, which are enough to tell two digests apart.
    """
    names = [name for name in new if old.get(name) != new[name]]
    names.sort(key=_is_digest)
    return "; ".join(
        f"{name} {_shown(name, old.get(name))}, now {_shown(name, new[name])}" for name in names
    )


def _is_digest(name: str) -> bool:
    return name.endswith(("fingerprint", "sha256"))


def _shown(name: str, value: object) -> str:
    return str(value)[:8] if _is_digest(name) and value is not None else str(value)


class NotFoundError(SpadeError):
    """Something is not on this machine and could not be downloaded."""


class NoCommonTopicError(SpadeError):
    """Runs, topics or relevance judgements that have no topic in common."""


class JavaError(SpadeError):
    """No Java 21 or later is installed, or Java code raised an error."""


class UsageError(SpadeError):
    """Invalid arguments, or arguments that exclude each other."""

    exit_code = 2


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out.

    Libraries raise exceptions of many classes for this, and `SpadeError` may quote their messages,
    so messages are searched, too. "failed to map" is the message of the dynamic linker.
    """
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & {"MemoryError", "OutOfMemoryError"}:
        return True
    message = str(error).lower()
    return "allocate memory" in message or "failed to map segment" in message

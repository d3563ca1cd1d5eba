"""The exceptions of this package.

::

    SpadeError                 exit code 1: the work failed
    ├── InputError             an input file is wrong; names path and line
    ├── ArtifactError          vectors, an index or a model are damaged or do not fit each other
    ├── OutputExistsError      the output exists, or cannot be written
    ├── NotFoundError          a corpus, model, topics or library is not on this machine
    ├── NoCommonTopicError     a run and judgements have no topic in common
    ├── JavaError              no suitable Java, or an error in Java
    └── UsageError             exit code 2: the arguments are wrong

A command prints the message of a ``SpadeError`` or ``OSError`` as one line and exits. Any other
exception is a bug in this package and shows its traceback.
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
    """Vectors, an index or a model that are damaged, incomplete, or do not fit each other."""


class OutputExistsError(SpadeError):
    """The output exists and was written by a different call, or nothing can be written there."""


def describe_differences(old: Mapping[str, object], new: Mapping[str, object]) -> str:
    """Return the settings that differ, as ``k 10, now 20; bits 8, now 6``, for error messages.

    Digests say nothing to a reader: they are last, and only their first characters are shown.
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
    """A run and relevance judgements that have no topic in common."""


class JavaError(SpadeError):
    """No Java 21 or later is installed, or Java code raised an error."""


class UsageError(SpadeError):
    """Invalid arguments, or arguments that exclude each other."""

    exit_code = 2

"""Everything that this package raises on purpose.

::

    SpadeError                 exit code 1: the work failed
    ├── InputError             a file of the user's is wrong: path, line, cure
    ├── ArtifactError          vectors or an index are not what their manifest says
    ├── OutputExistsError      refusing to replace something that is there
    ├── NotFoundError          a corpus, model, topics or library is not on this machine
    ├── NoCommonTopicError     a run and judgements for other topics
    ├── JavaError              no Java fits, or Java failed
    └── UsageError             exit code 2: the call was wrong

A command prints the message of a ``SpadeError``, or of an ``OSError``, as one line and exits; any
other exception is a bug of ours and shows its traceback.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


class SpadeError(Exception):
    """Base of every error that a user can cause and cure."""

    exit_code = 1


class InputError(SpadeError):
    """A file that cannot be read as what it should be, with the place and the cure."""

    def __init__(self, message: str, path: Path | str, line: int | None = None) -> None:
        self.path, self.line = str(path), line
        place = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{place}: {message}")


class ArtifactError(SpadeError):
    """Vectors or an index that are damaged, incomplete, foreign, or do not fit together."""


class OutputExistsError(SpadeError):
    """The output is already there and was not made by the same call."""


def describe_differences(old: Mapping[str, object], new: Mapping[str, object]) -> str:
    """What a user has to see where an output was made with other settings."""
    names = [name for name in new if old.get(name) != new[name]]
    return "; ".join(f"{name} {old.get(name)}, now {new[name]}" for name in names)


class NotFoundError(SpadeError):
    """Something that was named is not on this machine and could not be fetched."""


class NoCommonTopicError(SpadeError):
    """A run and relevance judgements that are about different topics."""


class JavaError(SpadeError):
    """No Java 21 or later was found, or the Java side failed."""


class UsageError(SpadeError):
    """Arguments that make no sense, alone or together."""

    exit_code = 2

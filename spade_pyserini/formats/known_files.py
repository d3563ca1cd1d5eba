"""A record of the files that were checked on this machine, to avoid repeated checks.

A large file is checked only once: the identity of the file (device, inode, size, time of the last
change) is recorded with the result, in the user's cache folder. A copy has another inode, and a
changed file has another time, so both are checked again. If the cache folder cannot be written to,
nothing is recorded, and every check is made again.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.errors import SpadeError
from spade_pyserini.formats.sealed_json import read_sealed, write_sealed

FORMAT = "spade_pyserini.known/1"
CACHE_VARIABLE = "SPADE_CACHE_DIR"


class KnownFile(NamedTuple):
    """What is recorded about a checked file.

    identity: the `identity` of the file when it was checked.
    sha256: the digest of the contents; None if it was not computed.
    """

    identity: list[int]
    sha256: str | None = None


def identity(path: Path) -> list[int]:
    """Return numbers that identify a file; a copy or a changed file has other numbers."""
    state = path.stat()
    return [state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns]


def cache_folder() -> Path:
    """Return the cache folder: ``$SPADE_CACHE_DIR``, or a folder in the user's cache folder."""
    if folder := os.environ.get(CACHE_VARIABLE):
        return Path(folder)
    base = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(base, "spade_pyserini")


def known_files(folder: Path) -> dict[str, KnownFile]:
    """Return what is recorded about the files in ``folder``, by name."""
    try:
        values = read_sealed(_record_path(folder), FORMAT)
        return {name: KnownFile(*entry) for name, entry in values["files"].items()}
    except (SpadeError, OSError, TypeError):
        return {}


def remember_files(folder: Path, files: dict[str, KnownFile]) -> None:
    """Record what is known about the files in ``folder``, if the cache can be written to."""
    values = {"format": FORMAT, "folder": str(folder.resolve()), "files": files}
    with suppress(SpadeError, OSError):
        write_sealed(_record_path(folder), values)


def _record_path(folder: Path) -> Path:
    name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:32]
    return cache_folder() / "known" / f"{name}.json"

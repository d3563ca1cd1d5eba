"""Check an output path before the work starts."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from spade_pyserini.errors import OutputExistsError
from spade_pyserini.formats.paths import is_local


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Raise `OutputExistsError` if ``path`` must not or cannot be written.

    An existing regular file is replaced only with ``overwrite``. A folder, link or device is never
    replaced.
    """
    check_writable(path)
    refuse_special(path)
    if path.exists() and not overwrite:
        raise OutputExistsError(f"{path} exists already; pass overwrite=True to replace it")


def refuse_special(path: Path) -> None:
    """Raise `OutputExistsError` if ``path`` exists and is not a regular file.

    A device, a FIFO or a symbolic link would be removed if a file were renamed to its path.
    """
    if not is_local(path):
        return
    try:
        mode = path.lstat().st_mode
    except OSError:  # ``path`` does not exist, or its parent is not a folder
        return
    if stat.S_ISLNK(mode):
        refuse_link(path)
    if stat.S_ISDIR(mode):
        raise OutputExistsError(f"{path} is a folder, a file was expected; choose another output")
    if not stat.S_ISREG(mode):
        message = f"{path} is not a regular file but a device, a FIFO or a socket"
        raise OutputExistsError(f"{message}; choose another output")


def refuse_link(path: Path) -> None:
    """Raise `OutputExistsError` if the output ``path`` is a symbolic link."""
    if is_local(path) and path.is_symlink():
        message = f"{path} is a symbolic link to {path.readlink()}, and links are not replaced"
        raise OutputExistsError(f"{message}; give the path of its target, or choose another output")


def check_writable(path: Path) -> None:
    """Raise `OutputExistsError` if nothing can be written at ``path``."""
    if is_local(path):
        existing = next(folder for folder in path.absolute().parents if folder.exists())
        if not existing.is_dir() or not os.access(existing, os.W_OK):
            message = f"{path}: {existing} is not a folder that can be written to"
            raise OutputExistsError(f"{message}; choose another output")


def refuse_file(folder: Path, parameter: str = "output") -> None:
    """Raise `OutputExistsError` if ``folder``, an output folder, is a file."""
    if is_local(folder) and folder.exists() and not folder.is_dir():
        message = f"{folder} is a file, a folder was expected"
        raise OutputExistsError(f"{message}; choose another {parameter}")

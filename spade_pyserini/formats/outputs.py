"""Checks of an output path, made before long work is done for it."""

from __future__ import annotations

import os
from pathlib import Path

from spade_pyserini.errors import OutputExistsError
from spade_pyserini.formats.paths import is_local


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Raise `OutputExistsError` unless ``path`` is free, or a file that may be replaced."""
    check_writable(path)
    if path.is_dir():
        raise OutputExistsError(f"{path} is a folder, a file was expected; choose another output")
    if path.exists() and not overwrite:
        raise OutputExistsError(f"{path} exists already; pass overwrite=True to replace it")


def check_writable(path: Path) -> None:
    """Raise `OutputExistsError` if nothing can be written at ``path``."""
    if is_local(path):
        existing = next(folder for folder in path.absolute().parents if folder.exists())
        if not existing.is_dir() or not os.access(existing, os.W_OK):
            raise OutputExistsError(f"{path}: {existing} is not a folder that can be written to")

"""Random names for temporary files next to an output; other processes can recognize them.

A name such as ``.X.1f0c9a3be2d45c67.tmp`` has the name of the output (``X``), 16 random hexadecimal
digits, and a role (``tmp``). Nobody can guess the name before it exists, so nobody can put a
symbolic link there, and no file of the user is mistaken for a temporary file.
"""

from __future__ import annotations

import re
from pathlib import Path
from secrets import token_hex

TEMPORARY = "tmp"
DIGITS = r"[0-9a-f]{16}"
TEMPORARY_NAME = re.compile(rf"\.(.+)\.{DIGITS}\.{TEMPORARY}")


def private_sibling(path: Path, role: str = TEMPORARY) -> Path:
    """Return a new name next to ``path``; nothing is created."""
    path = _named(path)
    return path.with_name(f".{path.name}.{token_hex(8)}.{role}")


def private_siblings(path: Path, role: str = TEMPORARY) -> list[Path]:
    """Return the existing files and folders that `private_sibling` named for ``path``."""
    path = _named(path)
    pattern = re.compile(rf"\.{re.escape(path.name)}\.{DIGITS}\.{role}")
    try:
        return sorted(other for other in path.parent.iterdir() if pattern.fullmatch(other.name))
    except (FileNotFoundError, NotADirectoryError):
        return []


def temporary_of(name: str) -> str | None:
    """If ``name`` is the name of a temporary file, return the name of its output, else None."""
    match = TEMPORARY_NAME.fullmatch(name)
    return match[1] if match else None


def _named(path: Path) -> Path:
    return path.resolve() if path.name in ("", "..") else path

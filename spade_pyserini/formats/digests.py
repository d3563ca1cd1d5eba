"""Compute digests of files, and select the settings that are part of a digest."""

from __future__ import annotations

import hashlib
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def sha256(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def non_default_fields(settings: DataclassInstance) -> dict[str, Any]:
    """Return the fields whose values are not the defaults.

    Used for digests of settings: if a later version adds a field, the digests of settings that do
    not use the field stay the same.
    """
    defaults = {field.name: field.default for field in fields(settings)}
    values = {name: getattr(settings, name) for name in defaults}
    return {name: value for name, value in values.items() if value != defaults[name]}

"""Sealed JSON: an object that carries a digest of itself, so that an edit is noticed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from spade_pyserini.errors import ArtifactError, InputError
from spade_pyserini.formats.json_files import read_json_file, write_json


def write_sealed(path: Path, values: dict[str, Any]) -> None:
    """Write a JSON object with its digest in the field ``seal``, atomically."""
    write_json(path, {**values, "seal": _seal(values)})


def read_sealed(path: Path, form: str) -> dict[str, Any]:
    """Read what `write_sealed` wrote and check the digest.

    ``form`` is the expected value of the field ``format``.
    """
    try:
        values = read_json_file(path)
    except InputError:
        message = "edited, damaged or cut off; create it again with overwrite=True"
        raise ArtifactError(f"{path}: {message}") from None
    if values.get("format") != form:
        message = f"the format is {values.get('format')!r}, expected {form!r}"
        cure = "another version wrote it; create it again with overwrite=True"
        if _kind(values.get("format")) not in ("", _kind(form)):
            cure = f"it belongs to another kind of output; give the path of the {_kind(form)}"
        raise InputError(f"{message}: {cure}", path)
    if values.pop("seal", None) != _seal(values):
        raise ArtifactError(f"{path}: edited or damaged; create it again with overwrite=True")
    return values


def _kind(form: object) -> str:
    """Return the kind of output that a format names: ``index`` for ``spade_pyserini.index/2``."""
    return form.split("/")[0].rpartition(".")[2] if isinstance(form, str) else ""


def _seal(values: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()

"""Read JSON objects strictly (a repeated key is an error), and write JSON files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from spade_pyserini.errors import InputError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.lines import read_lines


def read_json_object(text: str, path: Path, line: int | None = None) -> dict[str, Any]:
    """Parse a JSON object; anything else is an `InputError` that names ``path`` and ``line``."""
    try:
        value = json.loads(text, object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        reason = f"not valid JSON ({error.msg} at column {error.colno})"
        if line is None:  # the object is the complete file
            reason = f"not valid JSON ({error.msg} in line {error.lineno}, column {error.colno})"
        cure = "repair or replace the file" if line is None else "repair or remove the line"
        raise InputError(f"{reason}; {cure}", path, line) from None
    except ValueError as error:  # a repeated key, or a number with too many digits
        raise InputError(f"invalid JSON ({error})", path, line) from None
    except RecursionError:
        raise InputError("JSON nested too deeply", path, line) from None
    if not isinstance(value, dict):
        kind = "null" if value is None else type(value).__name__
        raise InputError(f"a JSON object was expected, found {kind}", path, line)
    return value


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a dictionary from a JSON object; raise `ValueError` if a key occurs twice."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {repeated!r} occurs twice in an object")
    return fields


def read_json_file(path: Path, most: int | None = None) -> dict[str, Any]:
    """Read a file that is a single JSON object; `InputError` if it has more than ``most`` bytes."""
    if most is not None and path.is_file() and path.stat().st_size > most:
        raise InputError(f"the file is larger than the maximum of {most:,} bytes", path)
    return read_json_object("\n".join(line for _, line in read_lines(path)), path)


def write_json(path: Path, value: object) -> None:
    """Write ``value`` as indented JSON, atomically."""
    with atomic_write(path) as stream:
        stream.write(json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n")

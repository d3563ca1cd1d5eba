"""Convert values of TOML files and command lines to the types of the settings."""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from typing import Any, TypeVar

from spade_pyserini.errors import UsageError

T = TypeVar("T")


def change_section(section: T, values: Mapping[str, Any], prefix: str) -> T:
    """Return a copy of a dataclass with changed values. Error messages begin with ``prefix``."""
    hints = typing.get_type_hints(type(section))
    changes = {}
    for key, value in values.items():
        if key not in hints:
            near = "".join(difflib.get_close_matches(key, hints, 1))
            hint = f"; did you mean {near}?" if near else ""
            kind = type(section).__name__
            raise UsageError(f"{prefix}{kind} has no setting {key!r}{hint}")
        changes[key] = convert(value, hints[key], f"{prefix}{key}")
    return replace(section, **changes)  # type: ignore[type-var]


def convert(value: Any, hint: Any, name: str) -> Any:
    """Convert ``value`` to the type ``hint``: lists to tuples, integers to floats.

    Tables become dataclasses. Raises `UsageError` for a wrong type. ``name`` is the name of the
    value in the message.
    """
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if isinstance(value, list | tuple):
        (kind, *_) = typing.get_args(hint) or (float,)
        if is_dataclass(kind):
            value = tuple(_convert_table(table, kind, name) for table in value)
        elif kind is str:
            value = tuple(value) if all(isinstance(name, str) for name in value) else list(value)
        elif all(isinstance(number, int | float) for number in value):
            value = tuple(_to_float(number, name) for number in value)
    if float in kinds and isinstance(value, int) and not isinstance(value, bool):
        value = _to_float(value, name)
    plain = tuple(tuple if typing.get_origin(kind) is tuple else kind for kind in kinds)
    if not isinstance(value, plain) or (isinstance(value, bool) and bool not in kinds):
        names = [
            getattr(kind, "__name__", str(kind)) for kind in plain if kind is not types.NoneType
        ]
        raise UsageError(f"{name} is {value!r}; expected {' or '.join(names)}")
    return value


def _to_float(number: float, name: str) -> float:
    try:
        return float(number)
    except OverflowError:
        raise UsageError(f"{name} is an integer with too many digits") from None


def _convert_table(table: Any, kind: Any, name: str) -> Any:
    if isinstance(table, kind):
        return table
    if not isinstance(table, dict):
        raise UsageError(f"{name} must be a list of tables")
    return change_section(kind(), table, f"{name}: ")

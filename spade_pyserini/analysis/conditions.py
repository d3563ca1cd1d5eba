"""Conditions: commands and the scores that their runs must have, read from a YAML file.

The conditions of this package are in ``reproduce.yaml``, which describes the fields.
"""

from __future__ import annotations

import shlex
from collections.abc import Container
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from spade_pyserini.errors import InputError, UsageError
from spade_pyserini.formats.lines import read_lines
from spade_pyserini.formats.numbers import is_finite

CONDITIONS = Path(__file__).with_name("reproduce.yaml")
SOURCES = ("measured", "paper")
PACKAGE = "spade_pyserini"


@dataclass(frozen=True)
class Expected:
    """The scores that a run must have on the judgements ``qrels``, plus or minus the tolerance."""

    run: str
    qrels: str
    measures: dict[str, float]
    source: str
    tolerance: float = 0.0001


@dataclass(frozen=True)
class Condition:
    """Commands and the scores that their runs must have.

    ``published`` is a note about scores that others published.
    """

    name: str
    title: str
    collection: str
    model: str
    commands: list[str]
    expected: list[Expected]
    published: str = ""


def read_conditions(path: Path, known: Container[str]) -> dict[str, Condition]:
    """Return all conditions of a file by name; ``known`` are the valid names of commands."""
    conditions: dict[str, Condition] = {}
    for number, entry in enumerate(_read_yaml(path), start=1):
        name = entry.get("name") if isinstance(entry, dict) else None
        label = f"condition {name if isinstance(name, str) else f'{number} of the list'}"
        try:
            condition = _condition(entry, known)
            if condition.name in conditions:
                raise ValueError("the name was used before; names must be unique")
        except ValueError as error:
            raise InputError(f"{label}: {error}", path) from None
        conditions[condition.name] = condition
    return conditions


def split_command(command: str) -> list[str]:
    """Return the words after ``spade``: the name of a command and its arguments.

    Commands are written as ``spade encode ...``, or as ``spade_pyserini.encode ...``.
    """
    first, *words = shlex.split(command)
    if first == "spade":
        return words
    package, _, name = first.partition(".")
    return [name, *words] if package == PACKAGE else []


def _read_yaml(path: Path) -> list[Any]:
    import yaml

    try:
        entries = yaml.safe_load("\n".join(line for _, line in read_lines(path)))
    except RecursionError:
        raise InputError("YAML nested too deeply", path) from None
    except (yaml.YAMLError, ValueError) as error:  # a date that does not exist raises ValueError
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else None
        problem = getattr(error, "problem", error)
        raise InputError(f"not valid YAML ({problem})", path, line) from None
    if not isinstance(entries, list) or not entries:
        raise InputError("expected a list of conditions", path)
    return entries


def _condition(entry: object, known: Container[str]) -> Condition:
    values = _fields(entry, Condition)
    for command in _list(values, "commands"):
        _check_command(command, known)
    values["expected"] = [_expected(figures) for figures in _list(values, "expected")]
    return Condition(**values)


def _expected(entry: object) -> Expected:
    values = _fields(entry, Expected)
    if values["source"] not in SOURCES:
        raise ValueError(f"the source must be {' or '.join(SOURCES)}, not {values['source']!r}")
    measures = values["measures"]
    if not isinstance(measures, dict) or not measures:
        raise ValueError("measures: expected names with scores, as in nDCG@10: 0.5")
    for name, figure in [*measures.items(), ("tolerance", values.get("tolerance", 0))]:
        if not isinstance(name, str) or not is_finite(figure) or figure < 0:
            raise ValueError(f"{name}: {figure!r} is not a number of 0 or more")
    from spade_pyserini.evaluate import parse_measures

    try:
        if len(parse_measures([*measures])) != len(measures):
            raise ValueError("measures: give each measure a line of its own")
    except UsageError as error:
        raise ValueError(str(error)) from None
    return Expected(**values)


def _fields(entry: object, record: type[Condition] | type[Expected]) -> dict[str, Any]:
    """Check that the keys of a mapping are the fields of ``record``; return a copy."""
    name = record.__name__.lower()
    if not isinstance(entry, dict):
        raise ValueError(f"each {name} entry must be a mapping, not {entry!r}")
    known = {field.name: field for field in fields(record)}
    if unknown := [str(key) for key in entry if key not in known]:
        raise ValueError(f"unknown fields: {', '.join(unknown)}; the fields are {', '.join(known)}")
    for name, field in known.items():
        if name not in entry and field.default is MISSING:
            raise ValueError(f"{name} is missing")
        if field.type == "str" and not isinstance(entry.get(name, ""), str):
            raise ValueError(f"{name}: {entry[name]!r} is not a string; put it in quotes")
    return dict(entry)


def _list(values: dict[str, Any], name: str) -> list[Any]:
    entries = values[name]
    if not isinstance(entries, list) or not entries:
        raise ValueError(f"{name}: expected a list with at least one entry")
    return entries


def _check_command(command: object, known: Container[str]) -> None:
    if not isinstance(command, str):
        raise ValueError(f"the command {command!r} is not a string; write `spade COMMAND ...`")
    try:
        words = split_command(command)
    except ValueError as error:  # a quote is not closed, or the command is empty
        raise ValueError(f"the command {command!r} cannot be parsed ({error})") from None
    if not words or words[0] not in known:
        first = " ".join(command.split()[:2])
        raise ValueError(f"{first!r} is not a command; write `spade COMMAND ...`")

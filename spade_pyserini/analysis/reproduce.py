"""Known figures, by the commands that gave them.

In the manner of Pyserini's two-click reproductions. A condition of the file ``runs/reproduce.yaml``
is a list of our commands, and the figures that their runs must have. Figures are our own
(``source: measured``) and are checked, or the paper's (``source: paper``) and are shown beside what
was found.
"""

from __future__ import annotations

import math
import shlex
import subprocess
import sys
from collections.abc import Container, Iterator
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from spade_pyserini.errors import InputError, SpadeError, UsageError
from spade_pyserini.formats.files import read_lines

FILE = "runs/reproduce.yaml"
SOURCES = ("measured", "paper")
ANY_MODEL = "OWNER/MODEL"  # in a command: the user's, given with --model
SEED = "SEED"  # in a command and in the name of a run: the number given with --seed


@dataclass(frozen=True)
class Expected:
    """What a run must score on some judgements, each measure within the tolerance."""

    run: str
    qrels: str
    measures: dict[str, float]
    source: str
    tolerance: float = 0.0001


@dataclass(frozen=True)
class Condition:
    """Commands and the figures that they give. ``published`` says what others have for the same."""

    name: str
    title: str
    collection: str
    model: str
    commands: list[str]
    expected: list[Expected]
    published: str = ""


class Checked(NamedTuple):
    """One figure, as it should be and as it is."""

    expected: Expected
    measure: str
    found: float

    @property
    def agrees(self) -> bool:
        # The digits that are not written are no difference.
        far = abs(self.found - self.expected.measures[self.measure])
        return far <= self.expected.tolerance + 1e-9


def read_conditions(path: Path, known: Container[str]) -> dict[str, Condition]:
    """All conditions of a file by name; ``known`` are the names of our commands."""
    import yaml

    try:
        entries = yaml.safe_load("\n".join(line for _, line in read_lines(path)))
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that is none
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else None
        raise InputError(
            f"not valid YAML ({getattr(error, 'problem', error)})", path, line
        ) from None
    if not isinstance(entries, list) or not entries:
        raise InputError("expected a list of conditions", path)
    conditions: dict[str, Condition] = {}
    for number, entry in enumerate(entries, start=1):
        named = entry.get("name") if isinstance(entry, dict) else None
        where = (
            f"condition {named}" if isinstance(named, str) else f"condition {number} of the list"
        )
        try:
            condition = _condition(entry, known)
            if condition.name in conditions:
                raise ValueError("the name was used before")
        except ValueError as error:
            raise InputError(f"{where}: {error}", path) from None
        conditions[condition.name] = condition
    return conditions


def _condition(entry: object, known: Container[str]) -> Condition:
    values = _fields(entry, Condition)
    commands = _list(values, "commands")
    for command in commands:
        _check_command(command, known)
    values["expected"] = [_expected(one) for one in _list(values, "expected")]
    return Condition(**values)


def _expected(entry: object) -> Expected:
    values = _fields(entry, Expected)
    if values["source"] not in SOURCES:
        raise ValueError(f"the source {values['source']!r} is not {' or '.join(SOURCES)}")
    measures = values["measures"]
    if not isinstance(measures, dict) or not measures:
        raise ValueError("measures: expected names with figures, as in nDCG@10: 0.5")
    for name, figure in [*measures.items(), ("tolerance", values.get("tolerance", 0))]:
        number = isinstance(figure, int | float) and not isinstance(figure, bool)
        if not isinstance(name, str) or not number or not math.isfinite(figure) or figure < 0:
            raise ValueError(f"{name}: {figure!r} is not a figure")
    from spade_pyserini.evaluate import parse_measures

    try:
        if len(parse_measures([*measures])) != len(measures):
            raise ValueError("measures: a name stands for several")
    except UsageError as error:
        raise ValueError(str(error)) from None
    return Expected(**values)


def _fields(entry: object, kind: type[Condition] | type[Expected]) -> dict[str, Any]:
    """The values of a mapping that has just the fields of ``kind``, texts where texts belong."""
    what = kind.__name__.lower()
    if not isinstance(entry, dict):
        raise ValueError(f"a {what} is a mapping, not {entry!r}")
    known = {field.name: field for field in fields(kind)}
    if unknown := [str(key) for key in entry if key not in known]:
        raise ValueError(f"unknown: {', '.join(unknown)}; known are {', '.join(known)}")
    for name, field in known.items():
        if name not in entry and field.default is MISSING:
            raise ValueError(f"{name} is missing")
        if field.type == "str" and not isinstance(entry.get(name, ""), str):
            raise ValueError(f"{name}: {entry[name]!r} is not a text; put it in quotes")
    return dict(entry)


def _list(values: dict[str, Any], name: str) -> list[Any]:
    found = values[name]
    if not isinstance(found, list) or not found:
        raise ValueError(f"{name}: expected a list with at least one entry")
    return found


def _check_command(command: object, known: Container[str]) -> None:
    if not isinstance(command, str):
        raise ValueError(f"the command {command!r} is not a text")
    try:
        module, *_ = shlex.split(command)
    except ValueError as error:  # quotes that do not close, or nothing at all
        raise ValueError(f"the command {command!r} cannot be read ({error})") from None
    package, _, name = module.partition(".")
    if package != "spade_pyserini" or name not in known:
        raise ValueError(f"{module} is no command; they are spade_pyserini.encode and so on")


def with_seed(condition: Condition, seed: int) -> Condition:
    """The condition with this seed in its commands and the names of its runs."""
    commands = [command.replace(SEED, str(seed)) for command in condition.commands]
    runs = [replace(one, run=one.run.replace(SEED, str(seed))) for one in condition.expected]
    return replace(condition, commands=commands, expected=runs)


def command_lines(condition: Condition, model: str | None = None) -> list[list[str]]:
    """The commands as words, the user's model in its place."""
    lines = [shlex.split(command) for command in condition.commands]
    if model is not None:
        lines = [[model if word == ANY_MODEL else word for word in line] for line in lines]
    return lines


def run_command(words: list[str]) -> None:
    """Run one of our commands in a process of its own, without a shell; it has to succeed."""
    done = subprocess.run([sys.executable, "-m", *words], check=False)
    if done.returncode:
        raise SpadeError(f"{words[0]} ended with exit code {done.returncode}; its message is above")


def check_figures(condition: Condition, data_dir: Path | None = None) -> Iterator[Checked]:
    """Score the runs of a condition, measure by measure."""
    from spade_pyserini.corpora.qrels import read_qrels, relevance_level
    from spade_pyserini.evaluate import evaluate_run, parse_measures
    from spade_pyserini.evaluate.measures import at_level
    from spade_pyserini.search import read_run

    for expected in condition.expected:
        qrels = read_qrels(expected.qrels, data_dir=data_dir)
        run = read_run(expected.run)
        level = relevance_level(expected.qrels, data_dir=data_dir)
        for name in expected.measures:
            (measure,) = (at_level(one, level) for one in parse_measures([name]))
            yield Checked(expected, name, evaluate_run(qrels, run, [measure])[measure])

"""Reproduce known scores: run the commands of a condition and check the scores of its runs.

This is similar to Pyserini's two-click reproductions.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.analysis.conditions import PACKAGE, Condition, Expected, split_command
from spade_pyserini.errors import NotFoundError, SpadeError

ANY_MODEL = "OWNER/MODEL"  # in a command: stands for the model that the user names
SEED = "SEED"  # in a command and in the name of a run: stands for the user's seed


class CheckedFigure(NamedTuple):
    """An expected score and the measured score."""

    expected: Expected
    measure: str
    measured: float

    @property
    def agrees(self) -> bool:
        """Whether the measured score differs from the expected one by at most the tolerance."""
        distance = abs(self.measured - self.expected.measures[self.measure])
        return distance <= self.expected.tolerance + 1e-9  # allow for floating-point rounding


def with_seed(condition: Condition, seed: int) -> Condition:
    """Return the condition with this seed in its commands and in the names of its runs."""
    commands = [command.replace(SEED, str(seed)) for command in condition.commands]
    expected = [
        replace(figures, run=figures.run.replace(SEED, str(seed))) for figures in condition.expected
    ]
    return replace(condition, commands=commands, expected=expected)


def command_lines(condition: Condition, model: str | None = None) -> list[list[str]]:
    """Return each command as a list of words, without ``spade``; ``model`` replaces OWNER/MODEL."""
    lines = [split_command(command) for command in condition.commands]
    if model is not None:
        lines = [[model if word == ANY_MODEL else word for word in line] for line in lines]
    return lines


def check_collection(condition: Condition, data_dir: str | Path | None = None) -> None:
    """Raise `NotFoundError` if the collection can be neither downloaded nor found locally.

    The collection is checked only if the commands open it by its name.
    """
    from spade_pyserini.corpora.catalogue import find_collection
    from spade_pyserini.corpora.data_directory import collection_folder
    from spade_pyserini.corpora.irdatasets import is_known

    name = condition.collection
    if not any(name in split_command(command) for command in condition.commands):
        return
    if find_collection(name) or collection_folder(name, data_dir) or Path(name).exists():
        return
    if not is_known(name):
        raise NotFoundError(
            f"{condition.name} needs the collection {name!r}, which cannot be downloaded by name; "
            f"put it in BEIR or MS MARCO format into DIR/{name} and give data_dir=DIR"
        )


def run_command(words: list[str]) -> None:
    """Run ``spade WORDS`` in a new process, without a shell; raise an error if it fails."""
    process = subprocess.run([sys.executable, "-m", PACKAGE, *words], check=False)
    if process.returncode:
        message = f"spade {words[0]} ended with exit code {process.returncode}"
        raise SpadeError(f"{message}; see its message above")


def check_figures(
    condition: Condition, data_dir: str | Path | None = None
) -> Iterator[CheckedFigure]:
    """Evaluate the runs of a condition, and yield each expected score with the measured one."""
    from spade_pyserini.corpora.qrels import read_qrels, relevance_level
    from spade_pyserini.evaluate import evaluate_run, parse_measures
    from spade_pyserini.evaluate.measures import at_level
    from spade_pyserini.formats.runs import read_run

    for expected in condition.expected:
        qrels, run = read_qrels(expected.qrels, data_dir=data_dir), read_run(expected.run)
        level = relevance_level(expected.qrels, data_dir=data_dir)
        for name in expected.measures:
            (measure,) = (at_level(parsed, level) for parsed in parse_measures([name]))
            yield CheckedFigure(expected, name, evaluate_run(qrels, run, [measure])[measure])

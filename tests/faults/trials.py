"""Try faults on a scenario: run it with a fault, run it again, and check the final result."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.cli.main import main
from spade_pyserini.errors import SpadeError
from tests.faults.budget import Budget
from tests.faults.scenarios import Inputs, Scenario, answers
from tests.faults.supervisor import Fault, Outcome, Supervisor
from tests.faults.syscalls import NEED_SPACE
from tests.faults.table import AT_VARIABLE, MOST_VARIABLE, Faults

# If the output was complete before the kill, the second run fails with this message.
EXISTS = "exists already"


class Reference(NamedTuple):
    """A run of a scenario without faults.

    - ``calls``: its system calls. ``needs_space``: numbers of those that need space on the disk.
    - ``contents``: the contents of its output.
    - ``old_answers``, ``new_answers``: results of a search in the index before and after the run.
    """

    calls: list[str]
    needs_space: list[int]
    contents: dict[str, object]
    old_answers: object
    new_answers: object


class Trials:
    """Tries faults on one scenario, in folders below ``folder``."""

    def __init__(
        self, supervisor: Supervisor, inputs: Inputs, scenario: Scenario, folder: Path
    ) -> None:
        self.supervisor, self.inputs, self.scenario = supervisor, inputs, scenario
        self.folder = folder.resolve()
        self.reference = self._undisturbed()

    def _undisturbed(self) -> Reference:
        scenario = self.scenario
        folder = scenario.prepare(self.inputs, self.folder / "reference")
        old = answers(folder / "x") if scenario.lucene else None
        done = self.supervisor.run(scenario.arguments(self.inputs), folder)
        assert done.code == 0, done.err
        return Reference(
            [str(call) for call in done.calls],
            [at for at, call in enumerate(done.calls, 1) if call.name in NEED_SPACE],
            scenario.contents(folder),
            old,
            answers(folder / "x") if scenario.lucene else None,
        )

    def run(self, faults: Faults, budget: Budget, kind: str, most: int | None) -> None:
        """Try a fault at every system call, or at ``most`` of them, in random order."""
        calls = range(1, len(self.reference.calls) + 1)
        moments = self.reference.needs_space if kind == "full" else list(calls)
        selected = chosen(moments, most, faults.seed)
        name = f"{_NAMES[kind]}, {self.scenario.name}"
        tried = 0
        for at in budget.within(selected):
            problem = self.try_fault(Fault(kind, at))
            tried += 1
            call = self.reference.calls[at - 1]
            repeat = f"{AT_VARIABLE}={at} pytest tests/faults -k '{kind} and {self.scenario.name}'"
            faults.record(name, problem and f"at call {at}, {call}: {problem}", repeat)
        faults.record_left(name, len(selected) - tried)

    def try_fault(self, fault: Fault) -> str | None:
        """Run the scenario with a fault, then without one; return what is wrong, or None."""
        folder = self.scenario.prepare(self.inputs, self.folder / f"{fault.kind}.{fault.at}")
        done = self.supervisor.run(self.scenario.arguments(self.inputs), folder, fault)
        try:
            return self._problem_of(fault, done, folder) or self._problem_after(folder)
        finally:
            shutil.rmtree(folder)

    def _problem_of(self, fault: Fault, done: Outcome, folder: Path) -> str | None:
        """Check the state right after the fault; return what is wrong, or None."""
        if done.orphans:
            return "children of the command did not end"
        if fault.kind == "full" and done.code:
            return problem_of_full_disk(done)
        if self.scenario.lucene:
            seen = answers(folder / "x")
            allowed = [self.reference.old_answers, self.reference.new_answers]
            if seen not in allowed and not (seen is None and not self.scenario.replaces):
                return "a search sees neither the old nor the new index"
        return None

    def _problem_after(self, folder: Path) -> str | None:
        """Run the command again; return what is wrong with its result, or None."""
        code, err = run_here(self.scenario.arguments(self.inputs, again=True), folder)
        if code and EXISTS not in err:
            return f"the second run fails with code {code}: {err.strip()[-500:]}"
        try:
            left = self.scenario.contents(folder)
        except SpadeError as error:
            return f"the output is damaged: {error}"
        return differences(self.reference.contents, left)


_NAMES = {"kill": "kill -9", "full": "full disk"}


def chosen(moments: list[int], most: int | None, seed: int) -> list[int]:
    """Return up to ``most`` (None: all) of the system call numbers ``moments``, in random order.

    ``$FAULTS_AT`` selects a single call. ``$FAULTS_MOST`` replaces ``most``.
    """
    if single := os.environ.get(AT_VARIABLE):
        return [int(single)]
    if limit := os.environ.get(MOST_VARIABLE):
        most = int(limit)
    number = len(moments) if most is None else min(most, len(moments))
    return random.Random(seed).sample(moments, number)


def problem_of_full_disk(done: Outcome) -> str | None:
    """Return what is wrong with the exit code or the error message after a full disk, or None."""
    lines = [line for line in done.err.splitlines() if line.startswith("error: ")]
    if done.code != 1 or "Traceback" in done.err or len(lines) != 1:
        return f"a full disk gives code {done.code} and {done.err.strip()[-800:]!r}"
    if "disk is full" not in lines[0] or "x" not in lines[0].partition("error: ")[2].split(":")[0]:
        return f"the message does not name the output or the full disk: {lines[0]!r}"
    return None


def differences(expected: dict[str, object], left: dict[str, object]) -> str | None:
    """Return a list of files that are missing, left over or different; None if there are none."""
    wrong = [f"{name} is missing" for name in expected if name not in left]
    wrong += [f"{name} is left over" for name in left if name not in expected]
    wrong += [f"{name} differs" for name in left if expected.get(name, left[name]) != left[name]]
    return "; ".join(wrong) or None


def run_here(arguments: list[str], folder: Path) -> tuple[int, str]:
    """Run a command in this process, to save time; return the exit code and the error messages."""
    errors = io.StringIO()
    handler = logging.StreamHandler(errors)
    logging.getLogger("spade_pyserini").addHandler(handler)
    try:
        with (
            contextlib.chdir(folder),
            environment_variable("SPADE_CACHE_DIR", str(folder / "cache")),
            contextlib.redirect_stderr(errors),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            return main(arguments), errors.getvalue()
    finally:
        logging.getLogger("spade_pyserini").removeHandler(handler)


@contextlib.contextmanager
def environment_variable(name: str, value: str) -> Iterator[None]:
    """Set an environment variable in a ``with`` block."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before

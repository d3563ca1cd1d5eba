"""A record of the faults that tests try: how many of each kind were survived, and the problems."""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

SEED_VARIABLE = "FAULTS_SEED"
AT_VARIABLE = "FAULTS_AT"
MOST_VARIABLE = "FAULTS_MOST"
# The parts in which messages of the same kind differ: paths, numbers, values in quotes or brackets
DETAILS = re.compile(r"'[^']*'|\"[^\"]*\"|\([^)]*\)|\[[^]]*\]|\S*/\S*|\S+\.\w+:\d+|[\d,.]*\d")


def seed() -> int:
    """The random seed of this run: ``$FAULTS_SEED``, or a random number.

    The variable is set to this seed, so that all processes of a run use the same seed.
    ``make test`` sets it to a constant, so that its result depends only on the code.
    """
    text = os.environ.get(SEED_VARIABLE) or str(random.SystemRandom().randrange(10**6))
    os.environ[SEED_VARIABLE] = text
    return int(text)


@dataclass
class Faults:
    """Counts faults by kind, and collects those that caused a problem.

    A fault is survived if it causes no problem: the final result is the same as without the fault,
    or an error message reports the damage. ``left`` counts the faults that were not tried.
    ``codes`` and ``messages`` count the exit codes and error messages of commands.
    """

    seed: int
    tried: Counter[str] = field(default_factory=Counter)
    broken: list[tuple[str, str]] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)
    codes: dict[str, Counter[int]] = field(default_factory=dict)
    messages: dict[str, Counter[str]] = field(default_factory=dict)

    def record(self, kind: str, problem: str | None, repeat: str) -> None:
        """Count a fault.

        problem: a description of what went wrong; None if the fault was survived. repeat: the
        command that repeats the fault.
        """
        self.tried[kind] += 1
        if problem:
            again = f"{SEED_VARIABLE}={self.seed} {repeat}"
            self.broken.append((kind, f"{problem}\n       repeat: {again}"))
            print("BROKEN", *self.broken[-1])  # printed now, because the run may take hours

    def record_end(self, kind: str, code: int, err: str) -> None:
        """Count the exit code and the error message of a command with a hostile file."""
        self.codes.setdefault(kind, Counter())[code] += 1
        errors = [line for line in err.splitlines() if "error: " in line]
        if errors:
            message = DETAILS.sub("...", errors[0].partition("error: ")[2])
            self.messages.setdefault(kind, Counter())[message] += 1

    def record_left(self, kind: str, number: int) -> None:
        """Count the faults that were not tried because the time was over."""
        self.left[kind] += number

    def problems(self, kind: str) -> str:
        """Return the problems with faults of this kind, for the message of a failed test."""
        return "\n".join(text for other, text in self.broken if other == kind)

    def to_plain(self) -> dict[str, Any]:
        """Return all counts as plain values that another process can `add`."""
        return {
            "tried": dict(self.tried),
            "broken": [list(entry) for entry in self.broken],
            "left": dict(self.left),
            "codes": {kind: list(counts.items()) for kind, counts in self.codes.items()},
            "messages": {kind: dict(counts) for kind, counts in self.messages.items()},
        }

    def add(self, plain: dict[str, Any]) -> None:
        """Add the counts of another process."""
        self.tried.update(plain["tried"])
        self.broken += [(kind, text) for kind, text in plain["broken"]]
        self.left.update(plain["left"])
        for kind, codes in plain["codes"].items():
            self.codes.setdefault(kind, Counter()).update(dict(codes))
        for kind, messages in plain["messages"].items():
            self.messages.setdefault(kind, Counter()).update(messages)

    def _notes(self, kind: str) -> str:
        counts = sorted(self.codes.get(kind, {}).items())
        notes = [f"exit code {code}: {number} times" for code, number in counts]
        if counts:
            notes.append(f"{len(self.messages.get(kind, ()))} different messages")
        if self.left[kind]:
            notes.append(f"no time for {self.left[kind]} more")
        return f" ({', '.join(notes)})" if notes else ""

    def table(self) -> str:
        """Return the faults tried and survived by kind, the problems, and how to repeat the run."""
        kinds = [kind for kind, _ in self.broken]
        lines = [" tried  survived  kind of fault"]
        lines += [
            f"{number:6}  {number - kinds.count(kind):8}  {kind}{self._notes(kind)}"
            for kind, number in sorted(self.tried.items())
        ]
        total = sum(self.tried.values())
        lines.append(f"{total:6}  {total - len(kinds):8}  all")
        lines += [f"BROKEN {kind}: {text}" for kind, text in self.broken]
        return "\n".join([*lines, f"repeat all with: {SEED_VARIABLE}={self.seed} make test-faults"])

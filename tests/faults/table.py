"""The faults that were tried: how many of each kind were survived, and what broke."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import dataclass, field

SEED_VARIABLE = "FAULTS_SEED"
AT_VARIABLE = "FAULTS_AT"
MOST_VARIABLE = "FAULTS_MOST"


def seed() -> int:
    """The seed of this run: ``$FAULTS_SEED``, or a random one. It is printed with the table."""
    return int(os.environ.get(SEED_VARIABLE) or random.SystemRandom().randrange(10**6))


@dataclass
class Faults:
    """Counts faults by kind, and collects those that were not survived.

    A fault is survived if the result stays the same, or if a `SpadeError` reports the damage.
    """

    seed: int
    tried: dict[str, int] = field(default_factory=dict)
    broken: list[tuple[str, str]] = field(default_factory=list)
    codes: dict[str, Counter[int]] = field(default_factory=dict)

    def record(self, kind: str, problem: str | None, repeat: str, code: int | None = None) -> None:
        """Count a fault; ``problem`` says what broke, ``repeat`` is the test to repeat it with.

        ``code`` is an exit code to count, for faults with several valid exit codes.
        """
        self.tried[kind] = self.tried.get(kind, 0) + 1
        if code is not None:
            self.codes.setdefault(kind, Counter())[code] += 1
        if problem:
            again = f"{SEED_VARIABLE}={self.seed} {repeat}"
            self.broken.append((kind, f"{problem}\n       repeat: {again}"))
            print("BROKEN", *self.broken[-1])  # at once, because a run takes long

    def problems(self, kind: str) -> str:
        """Return what broke among the faults of a kind, for a failed test."""
        return "\n".join(text for other, text in self.broken if other == kind)

    def _exit_codes(self, kind: str) -> str:
        counts = sorted(self.codes.get(kind, {}).items())
        listed = ", ".join(f"{code}: {number} times" for code, number in counts)
        return f" (exit code {listed})" if listed else ""

    def table(self) -> str:
        """Lines of faults tried and survived by kind, what broke, and how to repeat the run."""
        kinds = [kind for kind, _ in self.broken]
        lines = [" tried  survived  kind of fault"]
        lines += [
            f"{number:6}  {number - kinds.count(kind):8}  {kind}{self._exit_codes(kind)}"
            for kind, number in sorted(self.tried.items())
        ]
        total = sum(self.tried.values())
        lines.append(f"{total:6}  {total - len(kinds):8}  all")
        lines += [f"BROKEN {kind}: {text}" for kind, text in self.broken]
        return "\n".join([*lines, f"repeat all with: {SEED_VARIABLE}={self.seed} make test-faults"])

"""The faults that were tried: what each did, and the command to repeat it."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field

SEED_VARIABLE = "FAULTS_SEED"


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
    broken: list[str] = field(default_factory=list)

    def record(self, kind: str, survived: bool, fault: str) -> None:
        """Count a fault; ``fault`` describes it if it was not survived."""
        self.tried[kind] = self.tried.get(kind, 0) + 1
        if not survived:
            self.broken.append(f"{kind}: {fault}")

    def table(self) -> str:
        """Lines of kind and number, what broke, and how to repeat the run."""
        lines = [f"{number:6} {kind}" for kind, number in sorted(self.tried.items())]
        lines += [f"BROKEN {fault}" for fault in self.broken]
        return "\n".join([*lines, f"repeat with {SEED_VARIABLE}={self.seed} make test-faults"])

"""Conditions of `spade reproduce` for tests: a small run, judgements, and a condition without Java.

A condition is a named experiment: commands, and the measures that their runs should have.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

QRELS = "1 0 a 1\n2 0 b 1\n"
RUN = "1 Q0 a 1 1 x\n2 Q0 a 1 2 x\n2 Q0 b 2 1 x\n"  # the mean reciprocal rank (RR) is 0.75
EVALUATE = "spade evaluate --qrels qrels.txt --run run.txt"


def entry(**changes: Any) -> dict[str, Any]:
    """Return a valid condition, in which the fields in ``changes`` are replaced."""
    expected = {"run": "run.txt", "qrels": "qrels.txt", "measures": {"RR": 0.75}}
    return {
        "name": "one",
        "title": "One",
        "collection": "none",
        "model": "none",
        "commands": [EVALUATE],
        "expected": [{**expected, "source": "measured"}],
        **changes,
    }


def expect(source: str, figure: float, **changes: Any) -> dict[str, Any]:
    """Return the field ``expected`` of a condition, with this source and expected RR."""
    (expected,) = entry()["expected"]
    return {"expected": [{**expected, "source": source, "measures": {"RR": figure}, **changes}]}


def write(*entries: object) -> Path:
    """Write conditions to a file in the current folder."""
    path = Path("conditions.yaml")
    path.write_text(yaml.safe_dump(list(entries)))
    return path

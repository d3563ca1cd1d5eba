"""While a command changes an index, a search sees either the old or the new index.

After a search has seen the new index, no search sees the old one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.scenarios import BY_NAME, SCENARIOS, Inputs, answers
from tests.faults.supervisor import Supervisor
from tests.faults.syscalls import Call
from tests.faults.table import Faults

pytestmark = pytest.mark.java
SHORT = "index-delete"
NAMES = [scenario.name for scenario in SCENARIOS if scenario.replaces]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == SHORT else pytest.mark.slow) for name in NAMES]
)
def test_search_before_every_call_of_a_change(
    name: str, supervisor: Supervisor, inputs: Inputs, faults: Faults, tmp_path: Path
) -> None:
    """The command waits at each of its system calls until a search is done."""
    scenario = BY_NAME[name]
    folder = scenario.prepare(inputs, tmp_path.resolve() / "changed")
    seen: list[tuple[str, object]] = []

    def search(call: Call) -> None:
        seen.append((str(call), answers(folder / "x")))

    old = answers(folder / "x")
    done = supervisor.run(scenario.arguments(inputs), folder, observe=search)
    assert done.code == 0, done.err
    new = answers(folder / "x")
    assert old is not None and new is not None and old != new
    changed = False
    for call, answer in seen:
        changed = changed or answer == new
        right = answer == (new if changed else old)
        problem = None if right else f"at {call} a search sees neither the old nor the new index"
        repeat = f"pytest tests/faults/test_searches.py -k {name}"
        faults.record(f"search during a change, {name}", problem, repeat)
    assert changed and not faults.problems(f"search during a change, {name}"), faults.table()

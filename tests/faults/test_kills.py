"""A command is killed at a system call that changes files; a second run completes the output."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.budget import Budget
from tests.faults.scenarios import BY_NAME, SCENARIOS, Inputs
from tests.faults.supervisor import Supervisor
from tests.faults.table import Faults
from tests.faults.trials import Trials

pytestmark = pytest.mark.java
SHORT = {"encode": 4, "index-add": 3}
# These commands make many similar system calls or take long: they are killed at a sample of calls.
MOST = {
    "encode-spade-mini": 12,
    "encode-processes": 12,
    "index-anserini": 12,
    "index-bm25": 12,
    "train": 60,
    "mine": 10,
}


@pytest.mark.parametrize("name", SHORT)
def test_a_few_kills(
    name: str, supervisor: Supervisor, inputs: Inputs, faults: Faults, tmp_path: Path
) -> None:
    trials = Trials(supervisor, inputs, BY_NAME[name], tmp_path)
    trials.run(faults, Budget(0), "kill", SHORT[name])
    assert not faults.problems(f"kill -9, {name}"), faults.table()


@pytest.mark.slow
@pytest.mark.parametrize("name", [scenario.name for scenario in SCENARIOS])
def test_kill_at_every_call(
    name: str,
    supervisor: Supervisor,
    inputs: Inputs,
    faults: Faults,
    budget: Budget,
    tmp_path: Path,
) -> None:
    trials = Trials(supervisor, inputs, BY_NAME[name], tmp_path)
    trials.run(faults, budget, "kill", MOST.get(name))
    assert not faults.problems(f"kill -9, {name}"), faults.table()

"""A disk that is full from some system call on: one line says so, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.scenarios import BY_NAME, SCENARIOS, Inputs
from tests.faults.supervisor import Supervisor
from tests.faults.table import Faults
from tests.faults.trials import Trials

pytestmark = pytest.mark.java
MOST = 10


@pytest.mark.slow
@pytest.mark.parametrize("name", [scenario.name for scenario in SCENARIOS])
def test_full_at_every_call(
    name: str, supervisor: Supervisor, inputs: Inputs, faults: Faults, tmp_path: Path
) -> None:
    trials = Trials(supervisor, inputs, BY_NAME[name], tmp_path)
    trials.run(faults, "full", MOST)
    assert not faults.problems(f"full disk, {name}"), faults.table()

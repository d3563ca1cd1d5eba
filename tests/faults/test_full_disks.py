"""A full disk: one line says so and names the output, and nothing is lost.

On a small tmpfs where that can be mounted, and everywhere by system calls that fail from some
moment on.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.scenarios import BY_NAME, SCENARIOS, Inputs
from tests.faults.supervisor import Supervisor
from tests.faults.table import Faults
from tests.faults.trials import Trials, problem_of_full_disk, run_here

pytestmark = pytest.mark.java
MOST = 10
# Too small for what these commands write. Anserini writes a log first.
KILOBYTES = {"index": 24, "index-anserini": 32, "index-add": 60, "train": 300, "encode": 8}
SLOW = {"index-anserini", "train"}


@pytest.fixture
def small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A file system of a few kilobytes; needs root."""
    folder = tmp_path.resolve() / "disk"
    folder.mkdir()
    size = f"size={KILOBYTES[request.node.callspec.params['name']]}k"
    command = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)]
    if os.getuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a tmpfs")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in KILOBYTES],
)
def test_a_small_disk(
    name: str, supervisor: Supervisor, inputs: Inputs, faults: Faults, small_disk: Path
) -> None:
    scenario = BY_NAME[name]
    folder = scenario.prepare(inputs, small_disk / "folder")
    done = supervisor.run(scenario.arguments(inputs), folder, supervised=False)
    problem = "the disk was large enough" if done.code == 0 else problem_of_full_disk(done)
    faults.record(f"small disk, {name}", problem, f"pytest tests/faults -k 'small and {name}'")
    assert not problem, done.err
    subprocess.run(["mount", "-o", "remount,size=50m", str(small_disk)], check=True)
    code, err = run_here(scenario.arguments(inputs, again=True), folder)
    assert code == 0, err


@pytest.mark.slow
@pytest.mark.parametrize("name", [scenario.name for scenario in SCENARIOS])
def test_full_at_some_call(
    name: str, supervisor: Supervisor, inputs: Inputs, faults: Faults, tmp_path: Path
) -> None:
    trials = Trials(supervisor, inputs, BY_NAME[name], tmp_path)
    trials.run(faults, "full", MOST)
    assert not faults.problems(f"full disk, {name}"), faults.table()

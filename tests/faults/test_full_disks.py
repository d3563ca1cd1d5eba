"""A full disk causes a one-line error that names the output; a second run completes the output.

One test writes to a small tmpfs; it is skipped without the right to mount one. In the other test,
all system calls that need space fail, from a chosen call on.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.budget import Budget
from tests.faults.scenarios import BY_NAME, SCENARIOS, Inputs
from tests.faults.supervisor import Supervisor
from tests.faults.table import Faults
from tests.faults.trials import Trials, problem_of_full_disk, run_here

pytestmark = pytest.mark.java
MOST = 10
# Commands, each with a file system that has too little space or too few inodes for its output.
DISKS = [
    *(("index", "size=24k"), ("index", "nr_inodes=6"), ("index-add", "size=100k")),
    *(("encode", "size=8k"), ("train", "size=300k"), ("index-anserini", "size=32k")),
]
SLOW = {"index-anserini", "train"}


@pytest.fixture
def small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Mount a small file system, which needs root; yield its folder."""
    folder = tmp_path.resolve() / "disk"
    folder.mkdir()
    limit = request.node.callspec.params["limit"]
    command = ["mount", "-t", "tmpfs", "-o", limit, "tmpfs", str(folder)]
    if os.getuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a tmpfs")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize(
    ("name", "limit"),
    [pytest.param(*disk, marks=pytest.mark.slow if disk[0] in SLOW else ()) for disk in DISKS],
)
def test_a_small_disk(
    name: str,
    limit: str,
    supervisor: Supervisor,
    inputs: Inputs,
    faults: Faults,
    small_disk: Path,
) -> None:
    scenario = BY_NAME[name]
    folder = scenario.prepare(inputs, small_disk / "folder")
    done = supervisor.run(scenario.arguments(inputs), folder, supervised=False)
    problem = "the disk was large enough" if done.code == 0 else problem_of_full_disk(done)
    repeat = f"pytest tests/faults/test_full_disks.py -k 'small and {name}'"
    faults.record(f"small disk ({limit}), {name}", problem, repeat)
    assert not problem, done.err
    subprocess.run(["mount", "-o", "remount,size=50m,nr_inodes=10k", str(small_disk)], check=True)
    code, err = run_here(scenario.arguments(inputs, again=True), folder)
    assert code == 0, err


@pytest.mark.slow
@pytest.mark.parametrize("name", [scenario.name for scenario in SCENARIOS])
def test_full_at_some_call(
    name: str,
    supervisor: Supervisor,
    inputs: Inputs,
    faults: Faults,
    budget: Budget,
    tmp_path: Path,
) -> None:
    trials = Trials(supervisor, inputs, BY_NAME[name], tmp_path)
    trials.run(faults, budget, "full", MOST)
    assert not faults.problems(f"full disk, {name}"), faults.table()

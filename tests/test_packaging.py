"""Packaging: pinned requirements, a single version number, no local paths, make targets."""

from __future__ import annotations

import configparser
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import spade_pyserini
from tests.conftest import ROOT

SETUP = configparser.ConfigParser()
SETUP.read(ROOT / "setup.cfg")


def requirements() -> set[str]:
    """Return the names of all requirements, including those of extras."""
    lists = [SETUP["options"]["install_requires"], *SETUP["options.extras_require"].values()]
    lines = [line for text in lists for line in text.splitlines()]
    names = [re.split(r"[<>=\[\s]", line.strip())[0] for line in lines if line.strip()]
    return {name.lower().replace("_", "-") for name in names if not name.startswith("#")}


def test_every_requirement_is_pinned() -> None:
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in pins if "==" in line}
    assert {"torch", "shtab", "import-linter", "ray"} <= requirements() <= pinned
    assert not tomllib.loads((ROOT / "pyproject.toml").read_text()).get("project")


def test_the_version_is_written_in_setup_cfg_only() -> None:
    number = SETUP["metadata"]["version"]
    assert number == spade_pyserini.__version__
    for path in [*(ROOT / "spade_pyserini").rglob("*.py"), ROOT / "pyproject.toml"]:
        assert f'"{number}"' not in path.read_text(), path


def test_the_licences_of_the_models_are_in_the_metadata_and_on_the_first_screen() -> None:
    metadata = SETUP["metadata"]
    assert "Apache-2.0" in metadata["license"] and "research only" in metadata["license"]
    for pattern in metadata["license_files"].split():
        assert list(ROOT.glob(pattern)), pattern
    screen = " ".join((ROOT / "README.md").read_text().splitlines()[:20])
    for name, licence in (("spade-mini", "for research only"), ("spade-mini-2", "Apache-2.0")):
        assert f"[{name}]" in screen and licence in screen


def test_no_path_of_a_machine_in_the_package() -> None:
    for path in [*Path(ROOT, "spade_pyserini").rglob("*.py"), ROOT / "README.md"]:
        assert not re.search(r"/(root|home|work|tmp)/", path.read_text()), path


@pytest.mark.parametrize("file", [".ci/run", ".github/workflows/checks.yml"])
def test_both_pipelines_run_the_same_targets(file: str) -> None:
    targets = re.findall(r"^\s*(?:- run: )?make (\S+)$", (ROOT / file).read_text(), re.MULTILINE)
    assert targets == ["check", "test"]


@pytest.mark.parametrize("target", ["demo", "test", "test-all", "check", "format", "jar", "docs"])
def test_make_knows_the_target_and_describes_it(target: str) -> None:
    command = ["make", "--dry-run", target]
    subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert f"#   make {target} " in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("code", [0, 1])
def test_make_hides_the_output_of_pip_unless_it_fails(tmp_path: Path, code: int) -> None:
    """A shell script replaces Python. Called as ``python -m pip``, it prints 99 lines."""
    for name in ("Makefile", "setup.cfg", "pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    program = tmp_path / ".venv" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.write_text(
        '#!/bin/sh\n[ "$2" = pip ] || exit 0\nfor n in $(seq 99); do echo "line $n;"; done\n'
        f"exit {code}\n"
    )
    program.chmod(0o755)
    # `make test PYTHON=...` hands its variables to every make that it starts.
    env = {name: x for name, x in os.environ.items() if name not in ("MAKEFLAGS", "PYTHON")}
    done = subprocess.run(
        ["make", "test"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert bool(done.returncode) == bool(code)
    assert "this can take minutes, the log is .venv/install.log" in done.stdout
    assert ("line 99;" in done.stdout) == bool(code)
    assert "line 50;" not in done.stdout
    assert ("pip failed" in done.stdout) == bool(code)
    assert (tmp_path / ".venv" / ".installed").exists() != bool(code)
    assert "line 50;" in (tmp_path / ".venv" / "install.log").read_text()

"""Helpers that run commands as a user does, in this process or in a child process."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from spade_pyserini.cli.main import main
from spade_pyserini.formats import temporary


class Result(NamedTuple):
    code: int
    out: str
    err: str


class Commands:
    """Runs commands: ``run("encode", "--corpus", "pydoc")`` returns exit code and output."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capfd: pytest.CaptureFixture[str],
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        self.monkeypatch, self.capfd, self.caplog = monkeypatch, capfd, caplog

    def __call__(self, command: str, *arguments: object) -> Result:
        words = [command, *map(str, arguments)]
        self.monkeypatch.setattr(sys, "argv", ["spade", *words])
        self.capfd.readouterr()
        self.caplog.clear()
        # `spade sweep` changes the level of this logger; it is restored afterwards.
        index_logger = logging.getLogger("spade_pyserini.index")
        level = index_logger.level
        try:
            code = main()
        except SystemExit as stop:  # argparse exits after --help, or if options are wrong
            assert isinstance(stop.code, int)
            code = stop.code
        finally:
            index_logger.setLevel(level)
        out, err = self.capfd.readouterr()
        return Result(code, out, err + self.caplog.text)  # pytest captures log lines separately


def child(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``python -m MODULE ARGUMENT ...`` in a child process."""
    command = [sys.executable, "-m", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a shell command with the programs of this Python's environment on the PATH."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # Real models run faster with several threads. The test workers share the cores equally.
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    threads = max(1, len(os.sched_getaffinity(0)) // workers)
    environment = {**os.environ, "PATH": path, "OMP_NUM_THREADS": str(threads)}
    return subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def copy_artifact(folder: Path, target: Path) -> Path:
    """Copy vectors or an index with the files next to them (manifest, tokenizer, counts)."""
    shutil.copytree(folder, target / folder.name)
    for path in folder.parent.glob(f"{folder.name}.*"):
        shutil.copy(path, target / path.name)
    return target / folder.name


def fill_disk(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Write outputs whose names contain ``name`` to /dev/full, where every write fails (ENOSPC)."""
    create = temporary._create_file

    def create_on_full_disk(output: Path) -> tuple[Path, int]:
        path, descriptor = create(output)
        if name in output.name:
            os.close(descriptor)
            descriptor = os.open("/dev/full", os.O_WRONLY)
        return path, descriptor

    monkeypatch.setattr(temporary, "_create_file", create_on_full_disk)

"""The program ``spade``: overview, version, exit codes, and calls with ``python -m``."""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import pytest

import spade_pyserini
from spade_pyserini.cli import main, registry
from spade_pyserini.errors import SpadeError, UsageError
from tests.commands import Commands, child

NAMES = [*registry.SUMMARIES]


def test_the_console_script_prints_the_version() -> None:
    """This version must be installed in the environment; `make` installs it."""
    script = Path(sys.executable).with_name("spade")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"spade {version('spade_pyserini')}\n"
    assert spade_pyserini.__version__ == version("spade_pyserini")


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_the_overview_groups_all_commands(arguments: tuple[str, ...]) -> None:
    done = child("spade_pyserini", *arguments)
    assert done.returncode == 0
    assert done.stdout.startswith("usage: python -m spade_pyserini COMMAND")
    for title, commands in registry.GROUPS.items():
        section = done.stdout.split(f"\n{title}:\n")[1].split("\n\n")[0]
        assert [line.split()[0] for line in section.splitlines()] == [*commands]


def test_an_unknown_command_is_exit_code_2(run: Commands) -> None:
    result = run("enkode")
    assert result.code == 2
    assert "there is no command 'enkode'; did you mean encode?" in result.err


@pytest.mark.parametrize("name", [name for name in NAMES if name != "completion"])
def test_every_command_is_a_module_too(name: str) -> None:
    """``python -m spade_pyserini.encode`` still works, as in versions without ``spade``."""
    done = child(f"spade_pyserini.{name}", "--help")
    assert done.returncode == 0, done.stderr
    assert f"usage: python -m spade_pyserini.{name} " in done.stdout


def test_a_module_prints_the_same_as_the_command(run: Commands) -> None:
    done = child("spade_pyserini.evaluate", "--qrels", "nowhere", "--run", "x")
    result = run("evaluate", "--qrels", "nowhere", "--run", "x")
    assert done.returncode == result.code == 1
    assert done.stderr == result.err
    assert "there are no qrels and no file with the name 'nowhere'" in result.err


@pytest.mark.parametrize("name", NAMES)
def test_help_has_a_usage_and_an_example(run: Commands, name: str) -> None:
    result = run(name, "--help")
    assert result.code == 0
    assert f"usage: spade {name} " in result.out
    assert f"spade {name}" in result.out.split("example:")[1]


@pytest.mark.parametrize("name", NAMES)
def test_names_in_examples_exist_or_are_yours(run: Commands, name: str) -> None:
    """Examples use the collection pydoc, which is built in, or files called ``my-...``."""
    words = run(name, "--help").out.split("example:")[1].replace("=", " ").split()
    options = ("--corpus", "--topics", "--queries", "--qrels", "--pairs", "corpus", "queries")
    for option, value in pairwise(words):
        if option in options and not value.startswith(("my-", "runs/")):
            topics = value.replace("-", "/") in ("pydoc/dev", "pydoc/test")
            assert value == "pydoc" or topics, (option, value)


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_call_is_exit_code_2(run: Commands, name: str) -> None:
    result = run(name, "--no-such-flag")
    assert result.code == 2
    assert "Traceback" not in result.err


class Failing:
    """A command that raises an error."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser()
        parser.add_argument("--verbose", action="store_true")
        parser.add_argument("--overwrite", action="store_true")
        return parser

    def run(self, options: argparse.Namespace) -> None:
        raise self.error


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (SpadeError("it failed"), 1, "error: it failed\n"),
        (UsageError("wrong call"), 2, "error: wrong call\n"),
        (SpadeError("pass overwrite=True"), 1, "error: pass --overwrite\n"),
        (MemoryError(), 1, f"error: {main.NO_MEMORY}\n"),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory"),
            1,
            f"error: {main.NO_MEMORY}\n",
        ),
        (
            UsageError("config.json: no model (Cannot allocate memory (os error 12))"),
            1,
            f"error: {main.NO_MEMORY}\n",
        ),
        (ImportError("x.so: failed to map segment"), 1, f"error: {main.NO_MEMORY}\n"),
        (KeyboardInterrupt(), 130, "interrupted; run the same command again to continue\n"),
        (PermissionError(13, "Permission denied", "x.txt"), 1, "error: x.txt: Permission denied\n"),
    ],
)
def test_errors_become_one_line_and_a_code(
    error: BaseException,
    code: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "load", lambda _: Failing(error))
    assert main.run_command("failing", [], "spade failing") == code
    assert capsys.readouterr().err == message


def test_a_bug_shows_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "load", lambda _: Failing(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        main.run_command("failing", [], "spade failing")


def test_output_to_a_closed_pipe_prints_no_traceback() -> None:
    program = f"{sys.executable} -m spade_pyserini corpora | head -c 1"
    done = subprocess.run(program, shell=True, capture_output=True, text=True, check=True)
    assert len(done.stdout) == 1
    assert done.stderr == ""

from __future__ import annotations

import argparse
import re
import tomllib
from pathlib import Path

import pytest

from spade_pyserini import __version__
from spade_pyserini.__main__ import COMMANDS
from spade_pyserini.cli import command
from spade_pyserini.errors import SpadeError, UsageError
from tests.commands import Commands, child
from tests.conftest import ROOT

NAMES = re.findall(r"^  (\w+) ", COMMANDS, flags=re.MULTILINE)


def test_the_list_of_commands_is_complete() -> None:
    package = ROOT / "spade_pyserini"
    folders = {path.parent.name for path in package.glob("*/__main__.py")}
    modules = {
        path.stem for path in package.glob("*.py") if "command.run(main)" in path.read_text()
    }
    assert set(NAMES) == folders | modules
    assert child("spade_pyserini").stdout == COMMANDS + "\n"


def test_commands_after_a_space_work_too() -> None:
    done = child("spade_pyserini", "evaluate", "--qrels", "nowhere", "--run", "x")
    assert done.returncode == 1
    assert "no qrels or file is called 'nowhere'" in done.stderr
    assert child("spade_pyserini", "enkode").returncode == 2


@pytest.mark.parametrize("name", NAMES)
def test_help_ends_with_an_example(run: Commands, name: str) -> None:
    result = run(name, "--help")
    assert result.code == 0
    assert f"usage: python -m spade_pyserini.{name}" in result.out
    assert f"python -m spade_pyserini.{name}" in result.out.split("example:")[1]


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_call_is_exit_code_2(run: Commands, name: str) -> None:
    arguments = () if name == "pyserini" else ("--no-such-flag",)
    result = run(name, *arguments)
    assert result.code == 2
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (SpadeError("it failed"), 1, "error: it failed\n"),
        (UsageError("wrong call"), 2, "error: wrong call\n"),
        (KeyboardInterrupt(), 130, "interrupted; run the same command again to go on\n"),
    ],
)
def test_errors_become_one_line_and_a_code(
    error: BaseException, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def main(_: list[str]) -> None:
        raise error

    with pytest.raises(SystemExit) as stop:
        command.run(main)
    assert stop.value.code == code
    assert capsys.readouterr().err == message


def test_a_bug_shows_its_traceback() -> None:
    def main(_: list[str]) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        command.run(main)


def test_numbers_that_are_not_positive() -> None:
    assert command.positive("3") == 3
    for text in ("0", "-1"):
        with pytest.raises(argparse.ArgumentTypeError):
            command.positive(text)


def test_the_version_is_written_once_more_in_setup_cfg() -> None:
    assert f"version = {__version__}\n" in (ROOT / "setup.cfg").read_text()


def test_every_requirement_is_pinned() -> None:
    setup = (ROOT / "setup.cfg").read_text()
    block = setup.split("install_requires =")[1].split("[options.packages.find]")[0]
    extras = setup.split("[options.extras_require]")[1].split("[tool:pytest]")[0]
    wanted = {
        re.split(r"[<>=\s]", line.strip())[0].lower().replace("_", "-")
        for line in (block + extras).splitlines()
        if line.startswith("    ") and not line.strip().startswith("#")
    }
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in pins if "==" in line}
    assert wanted <= pinned
    assert not tomllib.loads((ROOT / "pyproject.toml").read_text()).get("project")


def test_no_path_of_a_machine_in_the_package() -> None:
    for path in [*Path(ROOT, "spade_pyserini").rglob("*.py"), ROOT / "README.md"]:
        assert not re.search(r"/(root|home|work|tmp)/", path.read_text()), path

"""Run every command and program of the README, in their order, in one folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.commands import shell
from tests.conftest import ROOT
from tests.docs.pages import CARD, README, assert_same_output, fenced, tables
from tests.evaluate.test_measures import assert_same_digits

pytestmark = pytest.mark.java

TEXT = README.read_text()
COMMANDS = [
    line.split("#")[0].strip() for block in fenced(TEXT, "bash") for line in block.splitlines()
]
PROGRAMS, OUTPUTS = fenced(TEXT, "python"), fenced(TEXT, "text")
ORDER = [
    "Install",
    "A first search in Python",
    "Results",
    "When to use it, and when not",
    "The four steps by hand",
    "With plain Pyserini",
    "Where to read on",
    "How to cite",
    "Licence",
]


@pytest.fixture(scope="module")
def folder(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the vectors of the demo, so that `spade encode` takes only seconds."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(demo_folder / "encode", folder / "encode")
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_readme(folder: Path, command: str) -> None:
    program, target, *_ = command.split()
    if program == "python3":  # without pip, which takes seconds to install
        create, activate = command.split(" && source ")
        assert shell(f"{create} --without-pip", folder).returncode == 0
        assert (folder / activate).is_file()
        assert f"VENV := {Path(activate).parts[0]}\n" in (ROOT / "Makefile").read_text()
        return
    if program == "make":  # test_demo.py runs the demo; `make test` would run this test again
        done = shell(f"make --dry-run {target}", ROOT)
    elif program == "pip":  # a dry run without dependencies, which installs nothing
        quick = "--dry-run --no-deps --no-build-isolation --disable-pip-version-check"
        done = shell(f"python -m {command} {quick}", ROOT)
    else:
        done = shell(command, folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_scores_of_the_readmes_runs_are_trec_evals(folder: Path) -> None:
    qrels = ROOT / "spade_pyserini" / "corpora" / "pydoc_data" / "qrels.pydoc-test.txt"
    runs = sorted((folder / "runs").glob("run.*.pydoc-test.txt"))
    assert [run.name.split(".")[2] for run in runs] == ["bm25", "spade-mini"]
    for run in runs:
        assert_same_digits(qrels, run)


def test_plain_pyserini_gives_the_same_ranking(folder: Path) -> None:
    """Compares documents and ranks. Pyserini writes other scores for tied documents."""
    ours = folder / "runs" / "run.pydoc.spade-mini.pydoc-test.txt"
    theirs = folder / "runs" / "run.pyserini.txt"
    columns = [
        [line.split()[0:3:2] for line in run.read_text().splitlines()] for run in (ours, theirs)
    ]
    assert columns[0]
    assert columns[0] == columns[1]


def test_the_program_prints_what_the_readme_shows(folder: Path) -> None:
    (program,), (output,) = PROGRAMS, OUTPUTS
    (folder / "program.py").write_text(program)
    done = shell("python program.py", folder)
    assert done.returncode == 0, done.stderr
    assert_same_output(output, done.stdout)


def test_the_readme_has_its_sections_in_order_and_is_short() -> None:
    sections = [line.removeprefix("## ") for line in TEXT.splitlines() if line.startswith("## ")]
    assert sections == ORDER
    assert len(TEXT.splitlines()) <= 150
    assert len(COMMANDS) >= 12


def test_the_results_are_those_of_the_card() -> None:
    """Compares these columns of the README and the card: collection, queries, BM25, spade-mini."""
    (card,) = (table for table in tables(CARD.read_text()) if "ratio" in table[0])
    (readme,) = (table for table in tables(TEXT) if "spade-mini" in table[0])
    assert len(card) == len(readme) == 9
    columns = [readme[0].index(name) for name in ("collection", "queries", "BM25", "spade-mini")]
    for expected, row in zip(card[2:], readme[2:], strict=True):
        shown = [row[column].replace("*", "") for column in columns]
        assert shown == expected[:4]

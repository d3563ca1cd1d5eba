"""Every command and program of the README, in their order, in one folder."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from spade_pyserini import SpadeModel
from tests.commands import shell
from tests.conftest import ROOT

pytestmark = pytest.mark.java

README = (ROOT / "README.md").read_text()
COMMANDS = [
    line.split("#")[0].strip()
    for block in re.findall(r"```bash\n(.*?)```", README, flags=re.DOTALL)
    for line in block.splitlines()
]
PROGRAMS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the commands of the README name."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "my-corpus").mkdir()
    texts = ["Delete a folder and all files in it.", "Open a file for reading.", "The time now."]
    lines = [json.dumps({"_id": f"d{n}", "text": text}) for n, text in enumerate(texts)]
    (folder / "my-corpus" / "corpus.jsonl").write_text("\n".join(lines))
    (folder / "runs").mkdir()
    shutil.copy(ROOT / "runs" / "reproduce.yaml", folder / "runs")
    (folder / "collection.tsv").write_text("".join(f"{n}\t{t}\n" for n, t in enumerate(texts)))
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_readme(folder: Path, command: str) -> None:
    program, target, *_ = command.split()
    if program == "source":
        assert f"VENV := {Path(target).parts[0]}\n" in (ROOT / "Makefile").read_text()
        return
    # tests/cli/test_demo.py runs the recipe of `make demo`, and `make test` is running.
    done = shell(f"make --dry-run {target}", ROOT) if program == "make" else shell(command, folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_readmes_training_left_a_model(folder: Path) -> None:
    model = SpadeModel.from_pretrained(folder / "my-model" / "best")
    assert model.config.trained
    assert model.encode(["Delete a folder."])[0]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_of_the_readme(folder: Path, program: str) -> None:
    (folder / "program.py").write_text(program)
    done = shell("python program.py", folder)
    assert done.returncode == 0, done.stderr
    assert "Hit(docid='d" in done.stdout


def test_the_readme_has_commands_and_a_program() -> None:
    assert len(COMMANDS) >= 12
    assert len(PROGRAMS) == 1


def test_links_of_the_readme_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", README):
        assert (ROOT / target).exists(), target

"""The registry lists all command files, and ``--help`` imports no heavy library."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from spade_pyserini.cli import registry
from tests.conftest import ROOT

# Libraries that are slow to import, or that start other programs. ``--help`` must not import them.
HEAVY = {
    *("torch", "transformers", "tokenizers", "sentence_transformers", "peft", "accelerate"),
    *("numpy", "scipy", "pandas", "matplotlib", "faiss", "datasets", "pyarrow", "ray"),
    *("jnius", "pyserini", "ir_datasets", "ir_measures", "pytrec_eval", "yaml", "requests"),
    *("fastapi", "uvicorn", "pydantic"),
}
SHARED = {"__init__", "arguments", "flags", "main", "queries", "registry", "tables"}
PROGRAM = """
import contextlib, io, json, sys
from spade_pyserini.cli.main import main
with contextlib.redirect_stdout(io.StringIO()) as stream, contextlib.suppress(SystemExit):
    main(sys.argv[1:])
print(json.dumps([stream.getvalue(), sorted(name.split(".")[0] for name in sys.modules)]))
"""


def test_every_file_is_a_command_or_shared_by_commands() -> None:
    files = {path.stem for path in (ROOT / "spade_pyserini" / "cli").glob("*.py")}
    assert files == {*registry.SUMMARIES} | SHARED


def test_names_are_not_in_two_groups() -> None:
    assert sum(map(len, registry.GROUPS.values())) == len(registry.SUMMARIES)


@pytest.mark.parametrize("name", ["", *registry.SUMMARIES])
def test_help_imports_nothing_heavy(name: str) -> None:
    words = [name, "--help"] if name else ["--help"]
    command = [sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    text, modules = json.loads(done.stdout)
    assert text.startswith("usage: spade ")
    assert not HEAVY & set(modules)

"""Tests of the completion scripts, run by bash and zsh."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from spade_pyserini.cli import registry
from tests.commands import Commands

BASH = """
source /dev/stdin
COMP_WORDS=({words} '')
COMP_CWORD={position}
COMP_LINE="{words} "
_shtab_spade
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def complete(script: str, words: str) -> set[str]:
    """Return what bash suggests after these words."""
    program = BASH.format(words=words, position=len(words.split()))
    command = ["bash", "-c", program]
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_bash_completes_commands_options_and_choices(run: Commands) -> None:
    script = run("completion", "bash").out
    assert complete(script, "spade") >= {*registry.SUMMARIES}
    engines = {"ciff", "pisa", "opensearch", "milvus", "qdrant", "seismic", "bmp"}
    assert complete(script, "spade export --to") == engines


def test_zsh_reads_its_script(run: Commands) -> None:
    script = run("completion", "zsh").out
    assert script.startswith("#compdef spade")
    for name in registry.SUMMARIES:
        assert f"\n    {name}:'" in script
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed; its script was not run")
    subprocess.run(["zsh", "-n"], input=script, text=True, check=True)


def test_an_unknown_shell_is_a_wrong_call(run: Commands) -> None:
    assert run("completion", "cmd").code == 2

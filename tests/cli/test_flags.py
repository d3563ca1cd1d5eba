"""Parameter names in messages of the library become flags of the command that runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spade_pyserini.cli import registry
from spade_pyserini.cli.flags import flag_names, with_flags
from tests.commands import Commands

FLAGS = {"overwrite": "--overwrite", "tokenizer": "--tokenizer", "data_dir": "--data-dir"}


@pytest.mark.parametrize(
    ("message", "translated"),
    [
        (
            "it exists; pass overwrite=True to replace it",
            "it exists; pass --overwrite to replace it",
        ),
        ("give tokenizer=PATH.", "give --tokenizer PATH."),
        (
            "give tokenizer=NAME|PATH, or data_dir=DIR",
            "give --tokenizer NAME|PATH, or --data-dir DIR",
        ),
        ("(data_dir=/a/b.c)", "(--data-dir /a/b.c)"),
        ("data_dir=/nowhere: no such folder", "--data-dir /nowhere: no such folder"),
        ("`tokenizer='a b'` is missing", "`--tokenizer 'a b'` is missing"),
        ("add tokenizer=...", "add --tokenizer ..."),
        ("not a parameter: other=True", "not a parameter: other=True"),
        ("text of the user: 'overwrite=True'", "text of the user: 'overwrite=True'"),
        ("a path: /runs/overwrite=True/x", "a path: /runs/overwrite=True/x"),
        ("part of a name: my_overwrite=True", "part of a name: my_overwrite=True"),
        ("a comparison: overwrite == True", "a comparison: overwrite == True"),
    ],
)
def test_messages(message: str, translated: str) -> None:
    assert with_flags(message, FLAGS) == translated


def test_settings_of_a_recipe(run: Commands, tmp_path: Path) -> None:
    flags = flag_names(registry.load("train").parser())
    assert with_flags("add queries=FILE", flags) == "add --set queries=FILE"
    assert with_flags("pass resume=True", flags) == "pass --resume"
    # Recipes have no setting `query_field`.
    assert with_flags("with query_field=COLUMN,", flags) == "with query_field=COLUMN,"
    result = run("train", "--recipe", "mini", "--output", tmp_path / "model")
    assert result.code == 2
    assert re.search(r"add --set \w+=", result.err), result.err


def test_flags_of_a_command() -> None:
    flags = flag_names(registry.load("fuse").parser())
    assert flags["rrf_k"] == "--rrf-k"
    assert flags["run"] == "--run"
    assert "help" not in flags


def test_a_library_error_names_the_flag(run: Commands, tmp_path: Path) -> None:
    runs = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path in runs:
        path.write_text("q1 Q0 d1 1 1.0 x\n")
    output = tmp_path / "fused.txt"
    output.write_text("mine\n")
    result = run("fuse", "--run", *runs, "--output", output)
    assert result.code == 1
    assert result.err == f"error: {output} exists already; pass --overwrite to replace it\n"
    assert output.read_text() == "mine\n"

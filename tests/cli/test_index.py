"""The command `spade index`."""

from __future__ import annotations

import pytest

from tests.commands import Commands


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--bm25",),
        ("--input", "x", "--bm25", "--corpus", "y"),
        ("--corpus", "y"),
        ("--input", "x", "--corpus-path", "y"),
        ("--input", "x", "--expansions-per-doc", "3"),
        ("--input", "x", "--threads", "100000"),
        ("--input", "x", "--verify", "--overwrite"),
        ("--input", "x", "--verify", "--optimize"),
        ("--input", "x", "--add", "--output", "y", "--overwrite"),
        ("--delete", "d1", "--output", "y", "--builder", "direct"),
    ],
)
def test_calls_that_make_no_sense(run: Commands, arguments: tuple[str, ...]) -> None:
    assert run("index", *arguments).code == 2

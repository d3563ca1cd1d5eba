from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from spade_pyserini.cli import arguments
from tests.commands import Commands


def test_positive() -> None:
    assert arguments.positive("3") == 3
    for text in ("0", "-1"):
        with pytest.raises(argparse.ArgumentTypeError):
            arguments.positive(text)


def test_integer() -> None:
    assert arguments.integer(0, 5)("5") == 5
    with pytest.raises(argparse.ArgumentTypeError, match="6 is not between 0 and 5"):
        arguments.integer(0, 5)("6")


def test_options_cannot_be_abbreviated(run: Commands) -> None:
    assert run("corpora", "--verb").code == 2
    assert run("corpora", "--verbose").code == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("--doc-field article", "--doc-field article; did you mean --qrels-doc-field?"),
        ("--doc-field=article", "--doc-field=article; did you mean --qrels-doc-field?"),
        (
            "--query-id-field nr --doc-field article",
            "--query-id-field nr --doc-field article; "
            "did you mean --qrels-query-field and --qrels-doc-field?",
        ),
        ("--zzz", "--zzz"),
        ("-z", "-z"),
    ],
)
def test_similar_options_are_suggested(run: Commands, call: str, message: str) -> None:
    result = run("evaluate", "--qrels", "q", "--run", "r", *call.split())
    assert result.code == 2
    assert result.err.endswith(f"error: unrecognized arguments: {message}\n")


def test_a_data_dir_that_is_missing_is_a_wrong_call(run: Commands, tmp_path: Path) -> None:
    result = run("corpora", "--data-dir", tmp_path / "nowhere")
    assert result.code == 2
    assert "no such folder" in result.err


def test_the_data_dir_is_passed_on(run: Commands, tmp_path: Path) -> None:
    """The second call in the same process must not see the folder of the first call."""
    for name in ("one", "two"):
        folder = tmp_path / name / f"corpus-{name}"
        folder.mkdir(parents=True)
        (folder / "corpus.jsonl").write_text('{"_id": "d1", "text": "a cat"}\n')
    first = run("corpora", "--data-dir", tmp_path / "one")
    second = run("corpora", "--data-dir", tmp_path / "two")
    assert "corpus-one" in first.out and "corpus-two" not in first.out
    assert "corpus-two" in second.out and "corpus-one" not in second.out
    assert "corpus-two" not in run("corpora").out

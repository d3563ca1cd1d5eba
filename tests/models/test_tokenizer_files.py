"""A malformed tokenizer.json raises an error; it never ends the process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spade_pyserini.errors import InputError
from spade_pyserini.models import tokenizer_files
from spade_pyserini.models.minilm import minilm_folder
from spade_pyserini.models.seq2seq import load_seq2seq
from spade_pyserini.models.tokenizer_files import check_tokenizer


@pytest.fixture
def definition() -> dict[str, Any]:
    values: dict[str, Any] = json.loads((minilm_folder() / "tokenizer.json").read_text())
    return values


def write(folder: Path, definition: dict[str, Any]) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(definition))
    return path


def test_a_valid_file(tmp_path: Path, definition: dict[str, Any]) -> None:
    check_tokenizer(write(tmp_path, definition))


def test_an_added_token_does_not_hide_the_id_in_the_vocabulary(
    tmp_path: Path, definition: dict[str, Any]
) -> None:
    """Without a check, the library would allocate memory for all smaller ids, and crash."""
    definition["model"]["vocab"]["[MASK]"] = 2**31
    with pytest.raises(InputError, match=r"tokenizer\.json: the token '\[MASK\]' has two ids"):
        check_tokenizer(write(tmp_path, definition))


def test_a_large_id_of_another_kind_of_tokenizer(tmp_path: Path) -> None:
    model = {"type": "WordLevel", "vocab": {"a": 0, "[UNK]": 2**31}, "unk_token": "[UNK]"}
    with pytest.raises(InputError, match=r"has the id 2,147,483,648; ids must be 0 to 9,999,999"):
        check_tokenizer(write(tmp_path, {"model": model}))


def test_an_unknown_token_that_is_not_in_the_vocabulary(
    tmp_path: Path, definition: dict[str, Any]
) -> None:
    definition["model"]["unk_token"] = "[UNK"
    with pytest.raises(InputError, match=r"Missing \[UNK\] token from the vocabulary\); copy or"):
        check_tokenizer(write(tmp_path, definition))


@pytest.mark.parametrize("name", [[], {}, None, 3])
def test_a_special_token_whose_name_is_no_text(
    tmp_path: Path, definition: dict[str, Any], name: object
) -> None:
    definition["post_processor"]["single"][0]["SpecialToken"]["id"] = name
    with pytest.raises(InputError, match="which it does not define"):
        check_tokenizer(write(tmp_path, definition))


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import os; os.abort()", "the tokenizers library crashes: signal 6"),
        ("raise BaseException('a panic')", r"\(a panic\)"),
        ("import time; time.sleep(60)", "takes longer than 0.5 seconds"),
    ],
)
def test_a_crash_happens_in_the_child_process(
    tmp_path: Path,
    definition: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    reason: str,
) -> None:
    monkeypatch.setattr(tokenizer_files, "TRIAL", program)
    if "sleep" in program:  # the others may take longer than half a second on a busy machine
        monkeypatch.setattr(tokenizer_files, "SECONDS", 0.5)
    with pytest.raises(InputError, match=f"{reason}.*; copy or download the tokenizer again"):
        check_tokenizer(write(tmp_path, definition))


def test_tokenizers_that_transformers_loads_are_checked(
    tmp_path: Path, definition: dict[str, Any]
) -> None:
    definition["model"]["vocab"]["[MASK]"] = 2**31
    write(tmp_path, definition)
    with pytest.raises(InputError, match="has two ids"):
        load_seq2seq(str(tmp_path))

"""Vectors of other tools are checked line by line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.index import build_foreign_index
from tests.index.conftest import GOOD, write_foreign

pytestmark = pytest.mark.java


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"id": "b", "vector": {"cat": 1.5}}, "the impact of 'cat' is 1.5"),
        ({"id": "b", "vector": {"cat": 1.5}}, "quantize the vectors first"),
        ({"id": "b", "vector": {"cat": 65_536}}, "is 65,536, the maximum is 65,535; quantize"),
        ({"id": "b", "vector": {"cat": 0}}, "the impact of 'cat' is 0"),
        ({"id": "b", "vector": {"cat": True}}, "the impact of 'cat' is True"),
        ({"id": "b", "vector": {"a cat": 1}}, "would split the term 'a cat'"),
        ({"id": "b", "vector": {"cat\n": 1}}, "would split the term 'cat\\n'"),
        ({"id": "b", "vector": {"cat ": 1}}, "would split the term 'cat '"),
        ({"id": "b", "vector": {"x" * 300: 1}}, "is longer than 255 characters"),
        ({"id": "b", "vector": {"Cat": 1}}, "'Cat' is not in the vocabulary of the tokenizer"),
        ({"id": "b", "vector": {"\ud800": 1}}, "contains half of a surrogate pair"),
        ({"id": "a", "vector": {"cat": 1}}, "the id 'a' occurs twice"),
        ({"id": "b c", "vector": {"cat": 1}}, "white space"),
        ({"id": " b", "vector": {"cat": 1}}, "white space"),
        ({"id": 7, "vector": {"cat": 1}}, "a string"),
        ({"id": "b", "vector": [1]}, "must be an object"),
        ("{", "not valid JSON"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_built(
    tiny_index: Path, tmp_path: Path, line: dict[str, Any] | str, message: str
) -> None:
    source = write_foreign(tmp_path / "v", GOOD, line)
    tokenizer = tiny_index.with_name(f"{tiny_index.name}.tokenizer.json")
    with pytest.raises(InputError, match=r"vectors\.jsonl:2") as caught:
        build_foreign_index(source, tmp_path / "x", tokenizer)
    assert message in str(caught.value)
    assert not (tmp_path / "x").exists()


def test_invalid_unicode_is_refused_without_a_tokenizer(tmp_path: Path) -> None:
    source = write_foreign(tmp_path / "v", {"id": "b", "vector": {"\ud800": 1}})
    with pytest.raises(InputError, match="contains half of a surrogate pair"):
        build_foreign_index(source, tmp_path / "x")


def test_an_empty_folder_has_no_vectors(tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    with pytest.raises(NotFoundError, match="this folder has no vectors"):
        build_foreign_index(tmp_path / "v", tmp_path / "x")

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_pyserini.formats.ids import MAX_ID_LENGTH, IdSet, id_problem


@given(st.lists(st.text(min_size=1, max_size=3)))
def test_the_id_set_is_a_set(ids: list[str]) -> None:
    small = IdSet()
    small.RECENT = 4  # small, so that ids are moved to the sorted array
    seen: set[str] = set()
    for docid in ids:
        assert small.add(docid) == (docid not in seen)
        seen.add(docid)


@pytest.mark.parametrize("identifier", ["1", "doc#3", "shutil.rmtree", "é", "d" * MAX_ID_LENGTH])
def test_valid_ids(identifier: str) -> None:
    assert id_problem(identifier) is None


@pytest.mark.parametrize(
    ("identifier", "problem"),
    [
        ("", "the id is empty"),
        ("a b", "white space or control"),
        ("a\n", "white space or control"),
        ("a\u00a0b", "white space or control"),
        ("a\x00b", "white space or control"),
        ("a\ud800", "white space or control"),
        ("d" * (MAX_ID_LENGTH + 1), "the id has 1001 characters, the maximum is 1000"),
    ],
)
def test_invalid_ids(identifier: str, problem: str) -> None:
    assert problem in str(id_problem(identifier))

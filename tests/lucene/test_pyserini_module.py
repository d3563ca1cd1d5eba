"""Run any Pyserini module with the Java runtime that this package finds."""

from __future__ import annotations

import pytest

from tests.commands import child

pytestmark = pytest.mark.java


def test_a_module_that_pyserini_does_not_have() -> None:
    done = child("spade_pyserini.pyserini", "no.such.module")
    assert done.returncode == 2
    message = "pyserini has no module pyserini.no.such.module; give one such as search.lucene"
    assert done.stderr == f"error: {message}\n"

"""Run any Pyserini module on the Java that this package finds."""

from __future__ import annotations

import pytest

from tests.commands import child

pytestmark = pytest.mark.java


def test_a_module_that_pyserini_does_not_have() -> None:
    done = child("spade_pyserini.pyserini", "no.such.module")
    assert done.returncode == 2
    assert done.stderr == "error: pyserini has no module pyserini.no.such.module\n"

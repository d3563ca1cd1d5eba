"""Options for building an index."""

from __future__ import annotations

import pytest

from spade_pyserini.errors import UsageError
from spade_pyserini.index import IndexOptions


def test_options_that_contradict_each_other() -> None:
    with pytest.raises(UsageError, match="builder must be direct or anserini, not x"):
        IndexOptions(builder="x")
    with pytest.raises(UsageError, match="reorder=True needs builder=direct, not anserini"):
        IndexOptions(builder="anserini", reorder=True)

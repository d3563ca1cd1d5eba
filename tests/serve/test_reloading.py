"""A changed index replaces the old one, which is closed after its last request."""

from __future__ import annotations

import pytest

from spade_pyserini.errors import ArtifactError
from spade_pyserini.serve.reloading import Reloading


class Files:
    """A simulated index whose files change, and a list of all opened versions."""

    def __init__(self) -> None:
        self.version = 1
        self.opened: list[Opened] = []

    def open(self) -> Opened:
        if self.version < 0:
            raise ArtifactError("damaged")
        self.opened.append(Opened(self.version))
        return self.opened[-1]


class Opened:
    def __init__(self, version: int) -> None:
        self.version, self.closed = version, 0

    def close(self) -> None:
        self.closed += 1


def test_a_request_keeps_what_it_began_with() -> None:
    files = Files()
    reloading = Reloading(files.open, lambda: files.version)
    assert not reloading.refresh()
    with reloading.use() as old, reloading.use():
        files.version = 2
        assert reloading.refresh()
        with reloading.use() as new:
            assert (old.version, new.version) == (1, 2)
        assert old.closed == 0
    assert (old.closed, new.closed) == (1, 0)
    files.version = 3
    assert reloading.refresh()  # no request uses the old version, so it is closed at once
    assert [opened.closed for opened in files.opened] == [1, 1, 0]
    reloading.close()
    assert [opened.closed for opened in files.opened] == [1, 1, 1]


def test_the_old_one_remains_if_the_new_one_cannot_be_opened(
    caplog: pytest.LogCaptureFixture,
) -> None:
    files = Files()
    reloading = Reloading(files.open, lambda: files.version)
    files.version = -1
    assert not reloading.refresh()
    assert "the old index is served: damaged" in caplog.text
    with reloading.use() as value:
        assert (value.version, value.closed) == (1, 0)
    files.version = 5
    assert reloading.refresh()

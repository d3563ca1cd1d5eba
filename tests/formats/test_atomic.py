from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini.errors import SpadeError
from spade_pyserini.formats.atomic import atomic_write


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic_write(path) as stream:
        stream.write(b"new")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_one_clear_error(tmp_path: Path) -> None:
    # /dev/full takes no byte: the real ENOSPC of the kernel.
    (tmp_path / ".a.txt.tmp").symlink_to("/dev/full")
    with (
        pytest.raises(SpadeError, match="the disk is full"),
        atomic_write(tmp_path / "a.txt") as stream,
    ):
        stream.write(b"x" * 100_000)
    assert list(tmp_path.iterdir()) == []

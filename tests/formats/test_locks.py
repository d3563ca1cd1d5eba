from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from spade_pyserini.errors import OutputExistsError
from spade_pyserini.formats.locks import lock


def test_a_lock_that_is_waited_for(tmp_path: Path) -> None:
    """Waiting threads get the lock one after the other."""
    held: list[int] = []
    inside = threading.Lock()

    def take(number: int) -> None:
        with lock(tmp_path / "x", wait=True):
            assert inside.acquire(blocking=False)
            held.append(number)
            time.sleep(0.01)
            inside.release()

    with lock(tmp_path / "x"):
        threads = [threading.Thread(target=take, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        with pytest.raises(OutputExistsError, match="another process"), lock(tmp_path / "x"):
            pass
        assert not held
    for thread in threads:
        thread.join(timeout=30)
    assert sorted(held) == list(range(8))


def test_an_error_under_a_lock_is_raised(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="in the body"), lock(tmp_path / "x"):
        raise FileNotFoundError("in the body")


@pytest.mark.parametrize("kind", ["link", "file with contents", "folder", "fifo"])
def test_a_lock_that_is_not_ours(tmp_path: Path, kind: str) -> None:
    """A link is not followed, because that would empty its target. A user's file is kept."""
    target, path = tmp_path / "precious", tmp_path / "x.lock"
    target.write_text("keep")
    if kind == "link":
        path.symlink_to(target)
    elif kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.write_text("keep")
    with pytest.raises(OutputExistsError, match="not a lock of this program"), lock(tmp_path / "x"):
        pass
    assert target.read_text() == "keep" and path.lstat()

from __future__ import annotations

import gzip
import threading
import time
from pathlib import Path

import pytest

from spade_pyserini.errors import InputError, NotFoundError, OutputExistsError, SpadeError
from spade_pyserini.formats.files import (
    atomic_write,
    is_local,
    location,
    lock,
    read_lines,
    refuse_existing,
    safe_file_name,
)


def test_lines_are_numbered_and_ends_are_removed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeffone\r\ntwo\n\nfour".encode())
    assert list(read_lines(tmp_path / "a.txt")) == [(1, "one"), (2, "two"), (3, ""), (4, "four")]


def test_unicode_line_separators_do_not_split_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\u2028still one\x85\ntwo", encoding="utf-8")
    assert len(list(read_lines(tmp_path / "a.txt"))) == 2


def test_bytes_that_are_not_utf8_name_file_line_and_offset(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"good\nb\xe9d\n")
    with pytest.raises(InputError, match=r"a\.txt:2: byte 6 \(0xe9\) is not UTF-8"):
        list(read_lines(path))


def test_a_truncated_gz_is_an_error_not_a_short_file(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"line\n" * 10_000)[:-20])
    with pytest.raises(InputError, match="damaged or cut off"):
        list(read_lines(path))


def test_a_gz_that_is_none_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(b"plain text")
    with pytest.raises(InputError, match="damaged or cut off"):
        list(read_lines(tmp_path / "a.gz"))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="nowhere"):
        list(read_lines(tmp_path / "nowhere"))


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


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "..", ".hidden", "a b", "é", ""])
def test_a_name_is_always_one_harmless_path_component(name: str) -> None:
    cleaned = safe_file_name(name)
    assert Path(cleaned).name == cleaned
    assert cleaned not in ("", ".", "..")
    assert not cleaned.startswith(".")


def test_a_place_below_a_file_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputExistsError, match="file is no folder that can be written to"):
        refuse_existing(tmp_path / "file" / "below" / "x.txt", overwrite=True)
    refuse_existing(tmp_path / "new" / "below" / "x.txt", overwrite=False)


def test_a_lock_that_is_waited_for(tmp_path: Path) -> None:
    """Whoever waits gets it when it is free, one after the other."""
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


def test_what_goes_wrong_under_a_lock_is_heard(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="of the body"), lock(tmp_path / "x"):
        raise FileNotFoundError("of the body")


def test_an_address_of_a_local_file_is_a_path(tmp_path: Path) -> None:
    assert location(f"file://{tmp_path}/x") == tmp_path / "x"
    assert is_local(location(f"file://{tmp_path}/x"))

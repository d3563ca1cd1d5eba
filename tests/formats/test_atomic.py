from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from spade_pyserini.errors import OutputExistsError, SpadeError
from spade_pyserini.formats.atomic import atomic_path, atomic_write
from spade_pyserini.formats.private_names import private_sibling
from spade_pyserini.formats.temporary import temporary_file, temporary_folder
from tests.commands import fill_disk


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic_write(path) as stream:
        stream.write(b"new")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill_disk(monkeypatch, "a.txt")
    with (
        pytest.raises(SpadeError, match="the disk is full"),
        atomic_write(tmp_path / "a.txt") as stream,
    ):
        stream.write(b"x" * 100_000)
    assert list(tmp_path.iterdir()) == []


def test_what_others_put_next_to_a_file_is_not_touched(tmp_path: Path) -> None:
    """A link with a guessable name is not followed; a file of the user is not removed."""
    target = tmp_path / "precious"
    target.write_text("keep")
    (tmp_path / ".a.txt.tmp").symlink_to(target)
    (tmp_path / ".a.txt.mine.tmp").write_text("keep")
    with atomic_write(tmp_path / "a.txt") as stream:
        stream.write(b"new")
    assert target.read_text() == "keep" == (tmp_path / ".a.txt.mine.tmp").read_text()
    assert (tmp_path / "a.txt").read_text() == "new"


@pytest.mark.parametrize("kind", ["link", "dangling link", "fifo", "folder"])
def test_only_regular_files_are_replaced(tmp_path: Path, kind: str) -> None:
    path, target = tmp_path / "out", tmp_path / "target"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(target)
    if kind == "link":
        target.write_text("keep")
    before = path.lstat()
    for write in (atomic_write, atomic_path):
        with pytest.raises(OutputExistsError, match="choose another output"), write(path):
            pass
    assert path.lstat() == before
    assert kind != "link" or target.read_text() == "keep"


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    """The temporary file of a running process is locked; one without a lock is removed."""
    path = tmp_path / "a.txt"
    private_sibling(path).write_text("left")
    private_sibling(path).mkdir()
    with temporary_file(path) as living, temporary_folder(path) as folder:
        with atomic_write(path) as stream:
            stream.write(b"new")
        expected = {path.name, Path(living.name).name, folder.name}
        assert {other.name for other in tmp_path.iterdir()} == expected
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_of_another_library_has_the_usual_permissions(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "a.bin") as unfinished:
        unfinished.write_bytes(b"x")
        unfinished.chmod(0o600)
    (tmp_path / "usual").touch()
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a.bin", "usual")]
    assert modes[0] == modes[1]


def test_errors_name_the_output_and_not_a_temporary_file() -> None:
    for create in (temporary_file, temporary_folder):
        with pytest.raises(OSError, match=r": '/proc/output'$"), create(Path("/proc/output")):
            pass

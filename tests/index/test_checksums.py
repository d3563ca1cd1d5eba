"""Damage to an index is reported before it gives wrong hits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spade_pyserini import ImpactSearcher
from spade_pyserini.errors import ArtifactError
from spade_pyserini.index import checksums
from spade_pyserini.index.checksums import check_index_files
from tests.commands import Commands, copy_artifact

pytestmark = pytest.mark.java


def flip(path: Path, position: int) -> None:
    """Flip a bit of a file, as a failing disk does, without a change of its size and time."""
    state, content = path.stat(), bytearray(path.read_bytes())
    content[position] ^= 4
    path.write_bytes(content)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def test_a_flipped_bit_in_any_file(tiny_index: Path, tmp_path: Path) -> None:
    """A bit is flipped at the start, in the middle and at the end of every file of an index."""
    names = sorted(path.name for path in tiny_index.iterdir() if path.name != "write.lock")
    assert len(names) > 8
    for number, name in enumerate(names):
        for position in (0, -1, (tiny_index / name).stat().st_size // 2):
            index = copy_artifact(tiny_index, tmp_path / f"{number}.{position}")
            flip(index / name, position)
            with pytest.raises(ArtifactError, match=f"{name} is damaged: its checksum is wrong"):
                check_index_files(index)


def test_search_checks_an_index_once(
    tiny_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Commands
) -> None:
    index = copy_artifact(tiny_index, tmp_path)
    with ImpactSearcher(index):
        pass
    read: list[str] = []
    is_intact = checksums._is_intact

    def counted(path: Path) -> bool:
        read.append(path.name)
        return is_intact(path)

    monkeypatch.setattr(checksums, "_is_intact", counted)
    with ImpactSearcher(index):
        assert not read
    path = next(index.glob("*.doc"))
    os.utime(path)
    with ImpactSearcher(index):
        assert read == [path.name]
    copy = copy_artifact(index, tmp_path / "copy")
    flip(copy / path.name, path.stat().st_size // 2)
    result = run("search", "--index", copy, "--query", "the old cat")
    assert result.code == 1 and f"error: {copy}: {path.name} is damaged" in result.err
    assert "--no-check" not in result.err
    # Lucene may or may not notice the damage.
    run("search", "--index", copy, "--query", "cat", "--no-check")
    assert read.count(path.name) == 2  # with --no-check, the file was not checked again

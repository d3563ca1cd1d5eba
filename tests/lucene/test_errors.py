"""Java exceptions become errors that name the index and the cure."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import pytest

from spade_pyserini.lucene.errors import try_to_write
from tests.commands import Commands, copy_artifact

pytestmark = pytest.mark.java


@pytest.mark.parametrize("other", ["format", b"7", b"x"])
def test_an_index_of_another_lucene(
    tiny_index: Path, tmp_path: Path, run: Commands, other: str | bytes
) -> None:
    """The test changes the file ``segments_N``: its format version, or the names of codecs."""
    index = copy_artifact(tiny_index, tmp_path)
    path = next(index.glob("segments_*"))
    content = bytearray(path.read_bytes())
    if isinstance(other, str):
        content[content.index(b"segments") + len("segments") + 3] = 99
    else:  # Lucene99 becomes Lucene77 or Lucenexx
        text = re.sub(rb"(?<=Lucene)\d+", lambda name: other * len(name[0]), bytes(content))
        content = bytearray(text)
    content[-8:] = zlib.crc32(content[:-8]).to_bytes(8, "big")
    path.write_bytes(content)
    searching = run("search", "--index", index, "--query", "cat")
    for result in (searching, run("index", "--verify", "--output", index)):
        assert result.code == 1
        assert (
            "another version of Lucene wrote this index" in result.err
            and "damaged" not in result.err
        )


@pytest.mark.parametrize("command", ["stats", "ciff", "opensearch", "add", "delete"])
def test_damaged_postings_are_reported(
    tiny_index: Path, tiny_vectors: Path, tmp_path: Path, run: Commands, command: str
) -> None:
    """An exception while Lucene reads becomes one line that names the index."""
    index = copy_artifact(tiny_index, tmp_path)
    path = next(index.glob("*.tim"))
    content = path.read_bytes()
    path.write_bytes(content[:60] + b"\xff" * (len(content) - 80) + content[-20:])
    export = ("export", "--index", index, "--output", tmp_path / "out", "--to", command)
    change = ("--delete", "d1") if command == "delete" else ("--add", "--input", tiny_vectors)
    commands: dict[str, tuple[object, ...]] = {"stats": ("stats", index)}
    commands |= dict.fromkeys(("ciff", "opensearch"), export)
    name, *flags = commands.get(command, ("index", *change, "--output", index))
    result = run(str(name), *flags)
    assert result.code == 1 and "Traceback" not in result.err
    assert f"error: {index}: {path.name} is damaged: its checksum is wrong" in result.err
    assert result.err.count("\n") == 1


def test_the_reason_that_java_hides(tmp_path: Path) -> None:
    """If Lucene cannot create its lock, Java only says that the lock does not exist."""
    try_to_write(tmp_path)
    assert not list(tmp_path.iterdir())
    with pytest.raises(OSError, match="gone"):
        try_to_write(tmp_path / "gone")

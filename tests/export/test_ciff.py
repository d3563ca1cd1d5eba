"""Export to CIFF, and read it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini.errors import InputError, OutputExistsError
from spade_pyserini.export.ciff import read_ciff, write_ciff
from spade_pyserini.index import delete_documents
from tests.commands import Commands, copy_artifact

pytestmark = pytest.mark.java


def test_ciff_and_back(
    tiny_index: Path,
    tiny_vectors: Path,
    wanted: dict[str, dict[str, int]],
    tmp_path: Path,
    run: Commands,
) -> None:
    path = tmp_path / "tiny.ciff"
    assert run("export", "--index", tiny_index, "--to", "ciff", "--output", path).code == 0
    ciff = read_ciff(path)
    assert ciff.vectors == wanted
    assert ciff.description == "tiny"
    with pytest.raises(OutputExistsError):
        write_ciff(tiny_index, path)
    flags = ("--to", "ciff", "--output", tmp_path / "direct.ciff")
    assert run("export", "--input", tiny_vectors, *flags).code == 0
    assert read_ciff(tmp_path / "direct.ciff") == ciff
    assert write_ciff(tiny_index, path, overwrite=True) == len(set().union(*wanted.values()))


def test_ciff_without_deleted_documents(
    tiny_index: Path, wanted: dict[str, dict[str, int]], tmp_path: Path
) -> None:
    index = copy_artifact(tiny_index, tmp_path)
    deleted = ["d0", "d7", "d29"]
    delete_documents(index, deleted)
    write_ciff(index, tmp_path / "x.ciff")
    remaining = {docid: impacts for docid, impacts in wanted.items() if docid not in deleted}
    assert read_ciff(tmp_path / "x.ciff").vectors == remaining


def test_a_damaged_ciff_file(tiny_index: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.ciff"
    write_ciff(tiny_index, path)
    complete = path.read_bytes()
    for content in (complete[:-5], complete[:40], b"", complete + b"\0", b"\xff" * 50):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"x\.ciff"):
            read_ciff(path)

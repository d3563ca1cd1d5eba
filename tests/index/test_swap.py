"""kill -9 while an index is replaced leaves the old or the new index."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from spade_pyserini import build_impact_index
from spade_pyserini.formats.index_manifest import PREVIOUS, previous_paths
from spade_pyserini.formats.private_names import private_sibling
from spade_pyserini.index import add_documents, delete_documents, verify_index
from tests.commands import Commands, copy_artifact
from tests.conftest import file_bytes

pytestmark = pytest.mark.java


@pytest.mark.parametrize("moment", ["no folder", "old manifest", "not cleaned up"])
def test_a_change_that_was_killed(
    tiny_index: Path, added_vectors: Path, tmp_path: Path, moment: str
) -> None:
    """Make each of the three states that kill -9 can leave while a new index replaces the old."""
    index = copy_artifact(tiny_index, tmp_path / "index")
    old = (index.parent / f"{index.name}.manifest.json").read_bytes()
    other = copy_artifact(tiny_index, tmp_path / "old")
    changed = add_documents(added_vectors, index)
    other.rename(private_sibling(index, PREVIOUS))
    if moment == "no folder":
        index.rename(private_sibling(index))
    if moment != "not cleaned up":
        (index.parent / f"{index.name}.manifest.json").write_bytes(old)
    again = add_documents(added_vectors, index)
    assert again == replace(changed, commit=again.commit)
    assert verify_index(index) == again
    names = {path.name for path in index.parent.iterdir()}
    assert names == {"tiny", "tiny.manifest.json", "tiny.tokenizer.json"}


def test_search_and_build_where_a_change_was_killed(
    tiny_index: Path, tiny_vectors: Path, added_vectors: Path, tmp_path: Path, run: Commands
) -> None:
    """A kill between the two renames leaves no folder; earlier changes must not be lost."""
    index = copy_artifact(tiny_index, tmp_path / "index")
    changed = add_documents(added_vectors, index)
    index.rename(private_sibling(index, PREVIOUS))
    assert run("search", "--index", index, "--query", "cat").code == 0
    assert not index.exists()
    refused = run("index", "--input", tiny_vectors, "--output", index)
    assert refused.code == 1 and "were added to or deleted from" in refused.err
    assert verify_index(index) == changed
    assert not previous_paths(index)


KILLED = """
import os, sys
from spade_pyserini.index import IndexManifest, build_impact_index
if sys.argv[3] == "manifest":
    IndexManifest.save = lambda *_: os.kill(os.getpid(), 9)
else:
    import pathlib
    real = pathlib.Path.replace
    def replace(self, target):
        if self.name.endswith(".tmp") and self.is_dir():
            os.kill(os.getpid(), 9)
        return real(self, target)
    pathlib.Path.replace = replace
build_impact_index(sys.argv[1], sys.argv[2], overwrite=True)
"""


@pytest.mark.parametrize("moment", ["folder", "manifest"])
def test_an_overwriting_build_that_was_killed(
    tiny_index: Path, tiny_vectors: Path, added_vectors: Path, tmp_path: Path, moment: str
) -> None:
    """After kill -9 before the new folder or its manifest is renamed, the old index remains."""
    index = copy_artifact(tiny_index, tmp_path / "index")
    command = [sys.executable, "-c", KILLED, str(added_vectors), str(index), moment]
    assert subprocess.run(command, capture_output=True, check=False).returncode == -9
    assert delete_documents(index, ["d1"]).documents == 29
    assert verify_index(index, tiny_vectors).documents == 29
    assert build_impact_index(added_vectors, index, overwrite=True).documents == 20
    names = {path.name for path in index.parent.iterdir()}
    assert names == {"tiny", "tiny.manifest.json", "tiny.tokenizer.json"}


def test_other_folders_next_to_an_index_are_not_mistaken_for_it(
    tiny_index: Path, tiny_vectors: Path, tmp_path: Path
) -> None:
    """The folders have names that users choose for backups, or that earlier versions used."""
    index = copy_artifact(tiny_index, tmp_path)
    suffixes = ("before", "previous", "before-the-change", "building", "bm25-input", "reordered")
    for suffix in suffixes:
        shutil.copytree(index, tmp_path / f"{index.name}.{suffix}")
    build_impact_index(tiny_vectors, index)
    build_impact_index(tiny_vectors, index, overwrite=True)
    delete_documents(index, ["d1"])
    for suffix in suffixes:
        assert file_bytes(tmp_path / f"{index.name}.{suffix}") == file_bytes(tiny_index)

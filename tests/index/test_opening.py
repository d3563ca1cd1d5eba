"""Readers see the old or the new index, while it is replaced and after a writer was killed."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from spade_pyserini import ImpactSearcher, build_impact_index
from spade_pyserini.formats.index_manifest import PREVIOUS, IndexManifest, manifest_path
from spade_pyserini.formats.private_names import private_sibling
from spade_pyserini.index import add_documents, delete_documents, verify_index
from tests.commands import Commands, copy_artifact

pytestmark = pytest.mark.java


def test_searches_while_the_index_changes(
    tiny_index: Path, tiny_vectors: Path, added_vectors: Path, tmp_path: Path
) -> None:
    index = copy_artifact(tiny_index, tmp_path / "index")
    failures: list[BaseException] = []
    counts: set[int] = set()
    done = threading.Event()

    def search() -> None:
        while not done.is_set():
            try:
                with ImpactSearcher(index) as searcher:
                    counts.add(searcher.manifest.documents)
                    assert searcher.search("the old cat", 100)
            except BaseException as error:
                failures.append(error)

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(6):
            add_documents(added_vectors, index)
            delete_documents(index, ["d1", "d2"])
            build_impact_index(tiny_vectors, index, overwrite=True)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not failures
    assert counts <= {30, 40, 38} and len(counts) > 1


@pytest.mark.parametrize("moment", ["no folder", "old manifest", "not cleaned up"])
def test_search_right_after_a_kill(
    tiny_index: Path, added_vectors: Path, tmp_path: Path, moment: str, run: Commands
) -> None:
    """Commands that only read work even before the next ``spade index`` has cleaned up."""
    index = copy_artifact(tiny_index, tmp_path / "index")
    old = manifest_path(index).read_bytes()
    previous = copy_artifact(tiny_index, tmp_path / "old")
    add_documents(added_vectors, index)
    previous.rename(private_sibling(index, PREVIOUS))
    if moment == "no folder":
        index.rename(private_sibling(index))
    if moment != "not cleaned up":
        manifest_path(index).write_bytes(old)
    expected = 40 if moment == "not cleaned up" else 30
    with ImpactSearcher(index) as searcher:
        assert searcher.manifest.documents == expected
        assert searcher.search("the old cat")
    assert verify_index(index).documents == expected
    for command in (("search", "--index", index, "--query", "cat"), ("stats", index)):
        result = run(*map(str, command))
        assert result.code == 0, result.err


KILLED = """
import os, sys
from pathlib import Path
from spade_pyserini.index import build_foreign_index
from spade_pyserini.models.wordpieces import WordPieces
real, left = os.replace, [int(sys.argv[4])]
def replace(self, target):
    left[0] -= 1
    if left[0] < 0:
        os.kill(os.getpid(), 9)
    real(self, target)
    return Path(target)
Path.replace = replace
build_foreign_index(sys.argv[1], sys.argv[2], sys.argv[3], overwrite=True)
"""


def test_an_index_with_another_tokenizer_is_killed_at_every_rename(
    tiny_index: Path, tmp_path: Path
) -> None:
    """Either the index, manifest and tokenizer all change, or none of them does."""
    tokenizer = tiny_index.with_name("tiny.tokenizer.json").read_text()
    (tmp_path / "other.json").write_text(tokenizer.replace('"lowercase":true', '"lowercase":false'))
    assert (tmp_path / "other.json").read_text() != tokenizer
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "a.jsonl").write_text('{"id": "a", "vector": {"cat": 1}}')
    killed = 0
    for renames in range(20):
        index = copy_artifact(tiny_index, tmp_path / str(renames))
        command = [sys.executable, "-c", KILLED, str(tmp_path / "v"), str(index)]
        command += [str(tmp_path / "other.json"), str(renames)]
        code = subprocess.run(command, capture_output=True, check=False).returncode
        with ImpactSearcher(index) as searcher:
            lowercase = '"lowercase":true' in searcher.wordpieces._tokenizer.to_str()
            assert (searcher.manifest.documents, lowercase) in ((30, True), (1, False))
        if code == 0:
            break
        assert code == -9
        killed += 1
    assert killed >= 4
    assert IndexManifest.load(index).documents == 1


def test_java_sees_the_working_folder_of_python(
    tiny_index: Path, tiny_vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The JVM was started in another folder; it must resolve relative paths in Python's folder."""
    with ImpactSearcher(tiny_index) as searcher:
        expected = searcher.search("the old cat")
    monkeypatch.chdir(tmp_path)
    build_impact_index(tiny_vectors, "x")
    delete_documents("x", ["d1"])
    assert verify_index("x").documents == 29
    build_impact_index(tiny_vectors, "x", overwrite=True)
    with ImpactSearcher("x") as searcher:
        assert searcher.search("the old cat") == expected
        assert searcher.doc("d1")


def test_a_symbolic_link_to_an_index(
    tiny_index: Path, tiny_vectors: Path, added_vectors: Path, tmp_path: Path, run: Commands
) -> None:
    """Readers follow a link. Writers refuse it: they would replace the link, not its target."""
    index = copy_artifact(tiny_index, tmp_path / "disk")
    link = tmp_path / "link"
    link.symlink_to(index)
    expected = run("search", "--index", index, "--query", "the old cat", "--json").out
    assert run("search", "--index", link, "--query", "the old cat", "--json").out == expected
    assert run("stats", link).code == 0
    assert run("index", "--verify", "--output", link).code == 0
    assert run("export", "--index", link, "--to", "ciff", "--output", tmp_path / "x.ciff").code == 0
    for words in (
        ("--input", added_vectors, "--overwrite"),
        ("--input", added_vectors, "--add"),
        ("--delete", "d1"),
        ("--bm25", "--corpus", tmp_path / "more", "--overwrite"),
    ):
        refused = run("index", "--output", link, *words)
        assert refused.code == 1, refused.err
        assert f"{link} is a symbolic link to {index}, and links are not replaced" in refused.err
    assert link.is_symlink() and verify_index(index).documents == 30
    assert sorted(path.name for path in tmp_path.glob("*link*")) == ["link"]

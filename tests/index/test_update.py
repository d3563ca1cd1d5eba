"""An index that is there: verified, described, changed; and vectors of other tools' making."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spade_pyserini import (
    ImpactSearcher,
    SpadeModel,
    build_impact_index,
    encode_corpus,
    open_corpus,
    read_vectors,
)
from spade_pyserini.analysis.stats import index_stats
from spade_pyserini.errors import (
    ArtifactError,
    InputError,
    NotFoundError,
    OutputExistsError,
    UsageError,
)
from spade_pyserini.index import (
    IndexManifest,
    add_documents,
    build_foreign_index,
    delete_documents,
    update,
    verify_index,
)
from spade_pyserini.index.manifest import BEFORE
from spade_pyserini.index.postings import Postings
from spade_pyserini.lucene import jvm
from tests.commands import Commands, copy_artifact
from tests.conftest import write_corpus

# Verify


def test_a_whole_index_is_verified(tiny_index: Path, tiny_vectors: Path) -> None:
    assert verify_index(tiny_index, tiny_vectors) == IndexManifest.load(tiny_index)
    assert verify_index(tiny_index, tiny_vectors, sample=3)


@pytest.mark.parametrize("ending", ["doc", "tim", "fdt", "dvd"])
def test_a_flipped_bit_is_found(tiny_index: Path, tmp_path: Path, ending: str) -> None:
    index = copy_artifact(tiny_index, tmp_path)
    path = next(index.glob(f"*.{ending}"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    with pytest.raises(ArtifactError, match=r"damaged.*(checksum|[Cc]orrupt)"):
        verify_index(index)


def test_other_vectors_are_told(
    tiny_index: Path, tiny_model: SpadeModel, tmp_path: Path, run: Commands
) -> None:
    corpus = open_corpus(str(write_corpus(tmp_path / "corpus", 12)))
    encode_corpus(corpus, tiny_model, tmp_path / "other")
    with pytest.raises(ArtifactError, match="was not built from"):
        verify_index(tiny_index, tmp_path / "other")
    assert run("index", "--verify", "--output", tiny_index).code == 0
    assert run("index", "--verify").code == 2


def test_a_lock_that_is_held_is_no_damage(tiny_index: Path, tmp_path: Path) -> None:
    index = copy_artifact(tiny_index, tmp_path)
    directory = jvm.java_class("org.apache.lucene.store.FSDirectory").open(
        jvm.java_class("java.nio.file.Paths").get(str(index))
    )
    held = directory.obtainLock("write.lock")
    try:
        assert verify_index(index).documents == 30
    finally:
        held.close()


def test_an_index_of_another_tools_making_is_checked(
    tiny_index: Path, tiny_vectors: Path, tmp_path: Path, run: Commands
) -> None:
    index = copy_artifact(tiny_index, tmp_path)
    (tmp_path / "tiny.manifest.json").unlink()
    assert run("index", "--verify", "--output", index).code == 0
    assert run("index", "--verify", "--output", index, "--input", tiny_vectors).code == 0
    path = next(index.glob("*.doc"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    told = run("index", "--verify", "--output", index)
    assert told.code == 1 and "damaged, Lucene's CheckIndex says" in told.err
    assert run("index", "--verify", "--output", tmp_path / "nowhere").code == 1


def test_a_half_written_index(tiny_index: Path, tmp_path: Path) -> None:
    index = copy_artifact(tiny_index, tmp_path)
    next(index.glob("segments_*")).unlink()
    with pytest.raises(ArtifactError, match=r"damaged.*no segment"):
        verify_index(index)


@pytest.mark.parametrize("command", ["stats", "ciff", "opensearch", "add", "delete"])
def test_damaged_postings_are_told(
    tiny_index: Path, tiny_vectors: Path, tmp_path: Path, run: Commands, command: str
) -> None:
    """What Lucene throws in the middle of its work, as one line that names the index."""
    index = copy_artifact(tiny_index, tmp_path)
    path = next(index.glob("*.tim"))
    whole = path.read_bytes()
    path.write_bytes(whole[:60] + b"\xff" * (len(whole) - 80) + whole[-20:])
    export = ("export", "--index", index, "--output", tmp_path / "out", "--to", command)
    change = ("--delete", "d1") if command == "delete" else ("--add", "--input", tiny_vectors)
    commands: dict[str, tuple[object, ...]] = {"stats": ("stats", index)}
    commands |= dict.fromkeys(("ciff", "opensearch"), export)
    name, *flags = commands.get(command, ("index", *change, "--output", index))
    told = run(str(name), *flags)
    assert told.code == 1 and "Traceback" not in told.err
    assert f"error: {index}: Lucene cannot read this index" in told.err and "--verify" in told.err


@pytest.mark.parametrize("command", ["add", "delete"])
def test_a_change_that_lucene_cannot_write(
    tiny_index: Path, more: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """A copy without files stands for a disk that lost them."""
    index = copy_artifact(tiny_index, tmp_path / "index")
    monkeypatch.setattr(update, "_link", lambda *_: None)
    with pytest.raises(ArtifactError, match=r"Lucene cannot write this index .*; see that"):
        add_documents(more, index) if command == "add" else delete_documents(index, ["d1"])
    assert verify_index(index).documents == 30


# Figures


def test_figures_of_an_index(tiny_index: Path, tiny_vectors: Path, run: Commands) -> None:
    vectors = [vector.impacts for vector in read_vectors(tiny_vectors)]
    found = index_stats(tiny_index, 2)
    assert found["documents"] == 30
    assert found["terms"] == len(set().union(*vectors))
    assert found["postings"] == sum(map(len, vectors))
    assert found["percentiles"]["50"] == sorted(map(len, vectors))[15]
    impacts = [impact for vector in vectors for impact in vector.values()]
    assert found["impacts"] == {str(one): impacts.count(one) for one in sorted(set(impacts))}
    most = found["frequent"][0]
    assert most["documents"] == sum(most["term"] in vector for vector in vectors)
    assert most["impacts"] == sum(vector.get(most["term"], 0) for vector in vectors)

    shown = run("stats", tiny_index)
    assert shown.code == 0
    assert "documents           30" in shown.out and most["term"] in shown.out
    assert json.loads(run("stats", tiny_index, "--json", "--frequent", 2).out) == found
    assert run("stats", "nowhere").code == 1


# Changes


@pytest.fixture
def more(tiny_model: SpadeModel, tiny_vectors: Path, tmp_path: Path) -> Path:
    """Vectors of d20 to d39, so ten of them replace others; d25's text is another one."""
    source = write_corpus(tmp_path / "more", 40)
    lines = (source / "corpus.jsonl").read_text().splitlines()[20:]
    changed = json.loads(lines[5])
    lines[5] = json.dumps({**changed, "text": "cat cat fish"})
    (source / "corpus.jsonl").write_text("\n".join(lines))
    encode_corpus(open_corpus(str(source)), tiny_model, tmp_path / "vectors")
    return tmp_path / "vectors"


def test_documents_are_added_to_an_index_of_anserinis(
    tiny_vectors: Path, more: Path, tmp_path: Path
) -> None:
    build_impact_index(tiny_vectors, tmp_path / "x", builder="anserini")
    manifest = add_documents(more, tmp_path / "x")
    assert verify_index(tmp_path / "x") == manifest and manifest.documents == 40
    with ImpactSearcher(tmp_path / "x") as searcher:
        for vector in (*read_vectors(more), next(iter(read_vectors(tiny_vectors)))):
            assert searcher.doc(vector.docid)


def test_documents_are_added_and_replaced(
    tiny_index: Path,
    tiny_vectors: Path,
    more: Path,
    tmp_path: Path,
    run: Commands,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = copy_artifact(tiny_index, tmp_path / "index")
    before = sorted(path.name for path in tiny_index.iterdir())
    asked: list[int] = []
    real = Postings.vectors

    def counted(self: Postings, docids: list[str]) -> list[dict[str, int] | None]:
        asked.append(len(docids))
        return real(self, docids)

    with monkeypatch.context() as patch:
        patch.setattr(update, "BATCH", 7)
        patch.setattr(Postings, "vectors", counted)
        manifest = add_documents(more, index, threads=2)
    assert asked == [7, 7, 6]  # never more in memory
    wanted = {vector.docid: vector.impacts for vector in read_vectors(tiny_vectors)}
    wanted |= {vector.docid: vector.impacts for vector in read_vectors(more)}
    assert manifest.documents == 40 == len(wanted)
    assert manifest.postings == sum(map(len, wanted.values()))
    with ImpactSearcher(index) as searcher:
        assert {docid: searcher.doc(docid) for docid in wanted} == wanted
        assert len(searcher.search("the cat fish", 100)) > 10
    assert verify_index(index) == manifest
    with monkeypatch.context() as patch:
        patch.setattr(update, "Postings", None)
        assert add_documents(more, index) == manifest  # once is enough, and nothing is read
    assert index_stats(index)["postings"] == manifest.postings
    assert sorted(path.name for path in tiny_index.iterdir()) == before
    with pytest.raises(OutputExistsError, match="was changed since"):
        build_impact_index(tiny_vectors, index)
    assert run("index", "--input", more, "--add", "--output", index).code == 0
    assert run("index", "--input", more, "--add").code == 2
    assert run("index", "--verify", "--input", more, "--output", index).code == 0
    told = run("index", "--verify", "--input", tiny_vectors, "--output", index)
    assert told.code == 1 and "was changed since" in told.err


def test_documents_are_deleted(
    tiny_index: Path, tiny_vectors: Path, tmp_path: Path, run: Commands
) -> None:
    index = copy_artifact(tiny_index, tmp_path)
    manifest = delete_documents(index, ["d3", "d4", "d3"])
    assert manifest.documents == 28
    left = {one.docid: one.impacts for one in read_vectors(tiny_vectors)}
    assert manifest.postings == sum(len(left[docid]) for docid in left if docid[1:] not in "34")
    with ImpactSearcher(index) as searcher:
        assert searcher.doc("d3") is None and searcher.doc("d5") == left["d5"]
        hits = {hit.docid for hit in searcher.search("the cat dog bird fish", 100)}
        assert not hits & {"d3", "d4"}
    assert verify_index(index, tiny_vectors) == manifest  # what is still there
    assert delete_documents(index, ["d4", "d3"]) == manifest
    with pytest.raises(NotFoundError, match="has no document 'd3'; nothing was deleted"):
        delete_documents(index, ["d3", "d5"])
    with pytest.raises(NotFoundError, match="has no document"):
        delete_documents(index, ["d5", "\udcff"])  # what a shell makes of a byte that is not UTF-8
    assert run("index", "--delete", "d5", "d6", "--output", index).code == 0
    assert IndexManifest.load(index).documents == 26


def test_vectors_made_in_another_way_are_refused(
    tiny_index: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    index = copy_artifact(tiny_index, tmp_path / "index")
    source = write_corpus(tmp_path / "corpus", 3)
    other = tiny_model.with_settings(k=tiny_model.config.k + 1)
    encode_corpus(open_corpus(str(source)), other, tmp_path / "vectors")
    with pytest.raises(ArtifactError, match="encoded in another way"):
        add_documents(tmp_path / "vectors", index)
    assert verify_index(index).documents == 30


def test_an_empty_document_is_counted_once(
    tiny_vectors: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    build_impact_index(tiny_vectors, tmp_path / "x")
    for number, (text, wanted) in enumerate((("", 1), ("\u4e2d", 1), ("old cat", 0))):
        source = tmp_path / f"{number}.jsonl"
        source.write_text(json.dumps({"id": "e", "contents": text}))
        encode_corpus(open_corpus(str(source)), tiny_model, tmp_path / f"v{number}")
        manifest = add_documents(tmp_path / f"v{number}", tmp_path / "x")
        assert (manifest.empty_documents, len(manifest.empty)) == (wanted, wanted)
        assert manifest.documents == 31 - wanted


def test_vectors_of_another_tool_cannot_be_added_to(more: Path, tmp_path: Path) -> None:
    build_foreign_index(write_foreign(tmp_path / "v", GOOD), tmp_path / "x")
    with pytest.raises(ArtifactError, match="as after --foreign; build it again, of all vectors"):
        add_documents(more, tmp_path / "x")


@pytest.mark.parametrize("moment", ["no folder", "no manifest", "not tidied"])
def test_a_change_that_was_killed(
    tiny_index: Path, more: Path, tmp_path: Path, moment: str
) -> None:
    """What kill -9 leaves in the three moments of putting a change in its place."""
    index = copy_artifact(tiny_index, tmp_path / "index")
    old = (index.parent / f"{index.name}.manifest.json").read_bytes()
    other = copy_artifact(tiny_index, tmp_path / "old")
    changed = add_documents(more, index)
    other.rename(index.parent / f"{index.name}.{BEFORE}")
    if moment == "no folder":
        index.rename(index.parent / f"{index.name}.building")
    if moment != "not tidied":
        (index.parent / f"{index.name}.manifest.json").write_bytes(old)
    assert add_documents(more, index) == changed
    assert verify_index(index) == changed
    assert not list(index.parent.glob(f"*.{BEFORE}"))


def test_search_and_build_where_a_change_was_killed(
    tiny_index: Path, tiny_vectors: Path, more: Path, tmp_path: Path, run: Commands
) -> None:
    """Between the two renames there is no folder: earlier changes are not to be lost."""
    index = copy_artifact(tiny_index, tmp_path / "index")
    changed = add_documents(more, index)
    index.rename(index.parent / f"{index.name}.{BEFORE}")
    told = run("search", "--index", index, "--query", "cat")
    assert told.code == 1 and "a change of this index was interrupted; run" in told.err
    assert not index.exists()
    refused = run("index", "--input", tiny_vectors, "--output", index)
    assert refused.code == 1 and "was changed since" in refused.err
    assert verify_index(index) == changed
    assert not list(index.parent.glob(f"*.{BEFORE}"))


KILLED = """
import os, sys
from spade_pyserini.index import IndexManifest, build_impact_index
if sys.argv[3] == "manifest":
    IndexManifest.save = lambda *_: os.kill(os.getpid(), 9)
else:
    import pathlib
    real = pathlib.Path.replace
    def replace(self, target):
        if self.name.endswith(".building"):
            os.kill(os.getpid(), 9)
        return real(self, target)
    pathlib.Path.replace = replace
build_impact_index(sys.argv[1], sys.argv[2], overwrite=True)
"""


@pytest.mark.parametrize("moment", ["folder", "manifest"])
def test_an_overwriting_build_that_was_killed(
    tiny_index: Path, tiny_vectors: Path, more: Path, tmp_path: Path, moment: str
) -> None:
    """kill -9 before the new folder, or its manifest, is in place: the old index is there."""
    index = copy_artifact(tiny_index, tmp_path / "index")
    command = [sys.executable, "-c", KILLED, str(more), str(index), moment]
    assert subprocess.run(command, capture_output=True, check=False).returncode == -9
    assert delete_documents(index, ["d1"]).documents == 29
    assert verify_index(index, tiny_vectors).documents == 29
    assert build_impact_index(more, index, overwrite=True).documents == 20
    names = {path.name for path in index.parent.iterdir()}
    assert names == {"tiny", "tiny.manifest.json", "tiny.tokenizer.json"}


def test_what_stood_beside_an_index_is_not_taken_for_it(
    tiny_index: Path, tiny_vectors: Path, tmp_path: Path
) -> None:
    index = copy_artifact(tiny_index, tmp_path)
    (tmp_path / f"{index.name}.{BEFORE}").mkdir()
    backup = tmp_path / f"{index.name}.before"  # a name that people choose
    backup.mkdir()
    build_impact_index(tiny_vectors, index)
    assert backup.is_dir()
    assert not list(tmp_path.glob(f"*.{BEFORE}"))


def test_a_change_where_files_cannot_be_linked(
    tiny_index: Path, more: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_link(*_: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", no_link)
    index = copy_artifact(tiny_index, tmp_path / "index")
    changed = add_documents(more, index)
    assert verify_index(index) == changed


# Vectors of other tools


def write_foreign(folder: Path, *lines: dict[str, Any] | str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (folder / "vectors.jsonl").write_text("\n".join(text) + "\n")
    return folder


GOOD = {"id": "a", "contents": "a cat", "vector": {"cat": 3, "dog": 1}}


def test_foreign_vectors_are_indexed_and_searched(
    tiny_index: Path, tmp_path: Path, run: Commands
) -> None:
    source = write_foreign(tmp_path / "splade", GOOD, {"id": "b", "vector": {}})
    tokenizer = tiny_index.with_name(f"{tiny_index.name}.tokenizer.json")
    flags = ("--foreign", "--input", source, "--output", tmp_path / "x")
    assert run("index", *flags, "--tokenizer", tokenizer).code == 0
    assert verify_index(tmp_path / "x").empty_documents == 1
    with ImpactSearcher(tmp_path / "x") as searcher:
        assert [tuple(hit) for hit in searcher.search("cat cat dog fish")] == [("a", 4)]
        assert searcher.unknown_terms("fish and cat") == ["fish", "and"]
        assert searcher.unknown_terms("") == []
    (tmp_path / "x.manifest.json").unlink()  # as another tool would have left it
    (tmp_path / "x.tokenizer.json").unlink()
    found = run("search", "--index", tmp_path / "x", "--tokenizer", tokenizer, "--query", "cat")
    assert found.code == 0 and "a" in found.out
    assert index_stats(tmp_path / "x")["postings"] == 2
    assert run("search", "--index", tmp_path / "x", "--query", "cat").code == 1
    assert run("index", "--input", source, "--tokenizer", tokenizer).code == 2


def test_foreign_vectors_are_compared_with_their_index(tmp_path: Path, run: Commands) -> None:
    source = write_foreign(tmp_path / "v", GOOD)
    build_foreign_index(source, tmp_path / "x")
    flags = ("--verify", "--output", tmp_path / "x", "--input", source)
    assert run("index", *flags).code == 0
    write_foreign(source, {**GOOD, "vector": {"cat": 4}})
    told = run("index", *flags)
    assert told.code == 1 and "was not built from" in told.err
    (tmp_path / "x.manifest.json").unlink()
    told = run("index", *flags)
    assert told.code == 1 and "the document 'a' is not as its vector" in told.err


def test_without_their_tokenizer_a_search_asks_for_it(tmp_path: Path) -> None:
    build_foreign_index(write_foreign(tmp_path / "v", GOOD), tmp_path / "x")
    with pytest.raises(ArtifactError, match="pass --tokenizer"):
        ImpactSearcher(tmp_path / "x")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"id": "b", "vector": {"cat": 1.5}}, "the impact of 'cat' is 1.5"),
        ({"id": "b", "vector": {"cat": 1.5}}, "quantize first, to whole numbers"),
        ({"id": "b", "vector": {"cat": 65_536}}, "is 65,536, the most is 65,535; quantize"),
        ({"id": "b", "vector": {"cat": 0}}, "the impact of 'cat' is 0"),
        ({"id": "b", "vector": {"cat": True}}, "the impact of 'cat' is True"),
        ({"id": "b", "vector": {"a cat": 1}}, "would split the term 'a cat'"),
        ({"id": "b", "vector": {"cat\n": 1}}, "would split the term 'cat\\n'"),
        ({"id": "b", "vector": {"cat ": 1}}, "would split the term 'cat '"),
        ({"id": "b", "vector": {"x" * 300: 1}}, "would split the term"),
        ({"id": "b", "vector": {"Cat": 1}}, "'Cat' is no WordPiece of this tokenizer"),
        ({"id": "b", "vector": {"\ud800": 1}}, "holds half of a surrogate pair"),
        ({"id": "a", "vector": {"cat": 1}}, "the id 'a' was used before"),
        ({"id": "b c", "vector": {"cat": 1}}, "white space"),
        ({"id": " b", "vector": {"cat": 1}}, "white space"),
        ({"id": 7, "vector": {"cat": 1}}, "`id` as text"),
        ({"id": "b", "vector": [1]}, "as an object"),
        ("{", "not valid JSON"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_built(
    tiny_index: Path, tmp_path: Path, line: dict[str, Any] | str, told: str
) -> None:
    source = write_foreign(tmp_path / "v", GOOD, line)
    tokenizer = tiny_index.with_name(f"{tiny_index.name}.tokenizer.json")
    with pytest.raises(InputError, match=r"vectors\.jsonl:2") as caught:
        build_foreign_index(source, tmp_path / "x", tokenizer)
    assert told in str(caught.value)
    assert not (tmp_path / "x").exists()


def test_what_is_refused_without_a_tokenizer_too(tmp_path: Path) -> None:
    source = write_foreign(tmp_path / "v", {"id": "b", "vector": {"\ud800": 1}})
    with pytest.raises(InputError, match="holds half of a surrogate pair"):
        build_foreign_index(source, tmp_path / "x")
    with pytest.raises(UsageError, match="the builder is direct or anserini, not x"):
        build_foreign_index(source, tmp_path / "x", builder="x")


def test_an_empty_folder_has_no_vectors(tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    with pytest.raises(NotFoundError, match="no vectors there"):
        build_foreign_index(tmp_path / "v", tmp_path / "x")


def test_a_tokenizer_that_is_not_there(tiny_index: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no tokenizer 'no-such/tokenizer'"):
        ImpactSearcher(tiny_index, "no-such/tokenizer")

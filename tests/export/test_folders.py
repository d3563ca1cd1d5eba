"""Exports that are folders: Qdrant, Seismic and BMP, tested with the engines' own libraries."""

from __future__ import annotations

import importlib
import json
import random
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from spade_pyserini import ImpactSearcher
from spade_pyserini.errors import ArtifactError, NotFoundError, OutputExistsError
from spade_pyserini.index import build_foreign_index, verify_index
from spade_pyserini.models.wordpieces import WordPieces
from tests.commands import Commands, copy_artifact
from tests.export.conftest import QUERIES, same_hits

pytestmark = [pytest.mark.java, pytest.mark.filterwarnings("ignore")]
LIBRARIES = {"qdrant": "qdrant_edge", "seismic": "seismic", "bmp": "bmp"}


def export_module(engine: str) -> Any:
    reason = f"needs pip install 'spade_pyserini[{engine}]'"
    pytest.importorskip(LIBRARIES[engine], reason=reason)
    return importlib.import_module(f"spade_pyserini.export.{engine}")


def searcher_class(engine: str) -> Any:
    return getattr(export_module(engine), f"{engine.capitalize()}Searcher")


@pytest.mark.parametrize("engine", LIBRARIES)
def test_the_command_and_the_readme(
    tiny_index: Path, tmp_path: Path, run: Commands, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_export = searcher_class(engine)
    output = tmp_path / "x"
    done = run("export", "--index", tiny_index, "--to", engine, "--output", output)
    assert done.code == 0, done.err
    assert str(output) in done.out
    assert run("export", "--index", tiny_index, "--to", engine, "--output", output).code == 1
    again = run("export", "--index", tiny_index, "--to", engine, "--output", output, "--overwrite")
    assert again.code == 0, again.err
    searcher = open_export(output)
    with ImpactSearcher(tiny_index) as lucene:
        for query in [*QUERIES, "zebra", "cat zebra"]:
            for k in (3, 10):
                ours, theirs = lucene.search(query, k), searcher.search(query, k)
                scores = {hit.docid: hit.score for hit in lucene.search(query, 30)}
                assert all(scores[hit.docid] == hit.score for hit in theirs)
                if engine == "qdrant":  # Seismic and BMP may lose hits in such a small index
                    same_hits(list(ours), theirs, k)
                assert bool(theirs) == bool(ours)
    text = (tmp_path / "x.README.md").read_text()
    assert "$" not in text and "SEARCHER" not in text
    (first, *_) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    printed: list[tuple[object, ...]] = []
    exec(first, {"print": lambda *values: printed.append(values)})
    assert printed and all(isinstance(score, int) for _, score in printed)


@pytest.fixture(scope="module")
def larger_index(tiny_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of 600 documents; in many of them, the term "the" has the same impact."""
    folder = tmp_path_factory.mktemp("larger")
    tokenizer = tiny_index.with_name(f"{tiny_index.name}.tokenizer.json")
    words = [term for term in WordPieces.load(tokenizer).terms if term.isalpha()]
    choose = random.Random(4)
    (folder / "v").mkdir()
    with (folder / "v" / "a.jsonl").open("w") as stream:
        for number in range(600):
            terms = choose.sample(words, min(12, len(words)))
            vector = {term: choose.randint(1, 255) for term in terms} | {"the": 7}
            stream.write(json.dumps({"id": f"d{number}", "vector": vector}) + "\n")
    build_foreign_index(folder / "v", folder / "index", tokenizer)
    return folder / "index"


@pytest.mark.parametrize("engine", LIBRARIES)
def test_the_same_hits_as_lucene(larger_index: Path, tmp_path: Path, engine: str) -> None:
    getattr(export_module(engine), f"write_{engine}")(larger_index, tmp_path / "x")
    searcher = searcher_class(engine)(tmp_path / "x")
    found = total = 0.0
    with ImpactSearcher(larger_index) as lucene:
        for query in ["cat", "the", "old dog", "the old dog", "fish and bird", "a red river file"]:
            for k in (3, 10, 40):
                ours, theirs = list(lucene.search(query, k)), searcher.search(query, k)
                if engine != "seismic":
                    same_hits(ours, theirs, k)
                found += sum(hit.score for hit in theirs)
                total += sum(hit.score for hit in ours)
    assert found >= 0.95 * total


@pytest.mark.parametrize("engine", LIBRARIES)
def test_an_export_is_replaced_when_the_new_one_is_complete(
    tiny_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    module = export_module(engine)
    write = getattr(module, f"write_{engine}")
    assert write(tiny_index, tmp_path / "x") == 30
    with pytest.raises(OutputExistsError):
        write(tiny_index, tmp_path / "x")
    before = sorted(path.name for path in tmp_path.rglob("*"))

    def no_space(*_: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(WordPieces, "save", no_space)
    with pytest.raises(OSError, match="no space"):
        write(tiny_index, tmp_path / "x", overwrite=True)
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


@pytest.mark.parametrize("engine", LIBRARIES)
def test_a_missing_library_is_named(
    tiny_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Commands, engine: str
) -> None:
    monkeypatch.setitem(sys.modules, LIBRARIES[engine], None)
    done = run("export", "--index", tiny_index, "--to", engine, "--output", tmp_path / "x")
    assert done.code == 1
    assert f"pip install 'spade_pyserini[{engine}]'" in done.err
    assert list(tmp_path.iterdir()) == []
    module = importlib.import_module(f"spade_pyserini.export.{engine}")
    with pytest.raises(NotFoundError):
        getattr(module, f"write_{engine}")(tiny_index, tmp_path / "x")


@pytest.mark.parametrize("engine", LIBRARIES)
def test_nothing_but_an_export_is_replaced(
    tiny_index: Path, tmp_path: Path, run: Commands, engine: str
) -> None:
    export_module(engine)
    thesis = tmp_path / "thesis" / "chapter1.tex"
    thesis.parent.mkdir()
    thesis.write_text("keep")
    index = copy_artifact(tiny_index, tmp_path)
    flags = ("--index", index, "--to", engine, "--overwrite")
    refused = run("export", *flags, "--output", thesis.parent)
    assert refused.code == 1 and "contains chapter1.tex" in refused.err
    assert thesis.read_text() == "keep"
    assert run("export", *flags, "--output", index).code == 2
    assert verify_index(index).documents == 30


def test_compressed_bounds_of_bmp(
    larger_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bmp = export_module("bmp")
    monkeypatch.setattr(bmp, "LARGE", 0)
    monkeypatch.setattr(bmp, "LARGE_BLOCK", bmp.SMALL_BLOCK)
    test_the_same_hits_as_lucene(larger_index, tmp_path, "bmp")


def test_large_impacts_are_refused_by_bmp(tiny_index: Path, tmp_path: Path) -> None:
    write_bmp = export_module("bmp").write_bmp
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "a.jsonl").write_text(json.dumps({"id": "a", "vector": {"cat": 256}}))
    tokenizer = tiny_index.with_name(f"{tiny_index.name}.tokenizer.json")
    build_foreign_index(tmp_path / "v", tmp_path / "index", tokenizer)
    with pytest.raises(ArtifactError, match="impacts up to 256, but BMP stores impacts up to 255"):
        write_bmp(tmp_path / "index", tmp_path / "x")


@pytest.mark.parametrize("engine", LIBRARIES)
def test_an_index_without_a_tokenizer(
    index_without_tokenizer: Path, tiny_index: Path, tmp_path: Path, engine: str
) -> None:
    """An export needs a tokenizer, whose vocabulary must have all terms; "zebra" is missing."""
    write = getattr(export_module(engine), f"write_{engine}")
    with pytest.raises(ArtifactError):
        write(index_without_tokenizer, tmp_path / "x")
    tokenizer = tiny_index.with_name(f"{tiny_index.name}.tokenizer.json")
    with pytest.raises(ArtifactError, match="'zebra'"):
        write(index_without_tokenizer, tmp_path / "x", tokenizer)

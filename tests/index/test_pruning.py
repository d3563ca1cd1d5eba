"""Static pruning: which terms of a document are indexed."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from spade_pyserini import build_impact_index, read_vectors
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.index_manifest import IndexManifest
from spade_pyserini.formats.vector_manifest import VectorManifest
from spade_pyserini.index import IndexOptions, add_documents, build_foreign_index, verify_index
from spade_pyserini.index.counts import lucene_counts
from spade_pyserini.index.postings import Postings
from spade_pyserini.index.pruning import StaticPruning
from spade_pyserini.records import ImpactVector
from tests.commands import Commands
from tests.index.conftest import write_foreign


@pytest.mark.parametrize(
    ("pruning", "kept"),
    [
        (StaticPruning(), "abcd"),
        (StaticPruning(keep=1.0), "abcd"),
        (StaticPruning(keep=0.9), "abc"),  # the sum is 101: 60 + 20 is not enough
        (StaticPruning(keep=0.5), "a"),
        (StaticPruning(keep=0.001), "a"),
        (StaticPruning(keep=0.7), "abc"),  # b and c have the same impact
        (StaticPruning(prune_ratio=1 / 3), "abc"),
        (StaticPruning(prune_ratio=0.34), "a"),
        (StaticPruning(keep=0.99, prune_ratio=0.3), "abc"),
    ],
)
def test_the_terms_that_are_kept(pruning: StaticPruning, kept: str) -> None:
    vector = ImpactVector("d", {"b": 20, "a": 60, "d": 1, "c": 20})
    result = pruning.apply(vector).impacts
    assert sorted(result) == list(kept)
    assert list(result) == [term for term in vector.impacts if term in result]
    assert pruning.apply(ImpactVector("e", {})).impacts == {}


@pytest.mark.parametrize(
    "values", [{"keep": 0.0}, {"keep": 1.1}, {"prune_ratio": 1.0}, {"prune_ratio": -0.1}]
)
def test_values_out_of_range(values: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(values))}="):
        IndexOptions(**values)  # type: ignore[arg-type]


@pytest.mark.java
def test_java_and_python_keep_the_same_terms(tmp_path: Path) -> None:
    choose = random.Random(5)
    vectors = [
        ImpactVector(
            f"d{number}",
            {f"t{term}": choose.randint(1, 12) ** 2 for term in range(choose.randint(1, 30))},
        )
        for number in range(60)
    ]
    lines = [{"id": vector.docid, "vector": vector.impacts} for vector in vectors]
    source = write_foreign(tmp_path / "v", *lines)
    for number, (keep, ratio) in enumerate([(0.9, 0.0), (0.5, 0.1), (1.0, 0.25)]):
        index = tmp_path / str(number)
        build_foreign_index(source, index, options=IndexOptions(keep=keep, prune_ratio=ratio))
        expected = list(map(StaticPruning(keep, ratio).apply, vectors))
        assert expected != vectors
        with Postings(index) as postings:
            assert list(postings.all_vectors()) == [
                ImpactVector(vector.docid, dict(sorted(vector.impacts.items())))
                for vector in expected
            ]


@pytest.mark.java
def test_a_pruned_index_of_both_builders(tiny_vectors: Path, tmp_path: Path, run: Commands) -> None:
    encoded = VectorManifest.load(tiny_vectors)
    indexes = []
    for name, flags in [("direct", ()), ("anserini", ("--builder", "anserini"))]:
        output = tmp_path / name
        done = run("index", "--input", tiny_vectors, "--output", output, "--keep", 0.8, *flags)
        assert done.code == 0, done.err
        manifest = verify_index(output, tiny_vectors)  # compares the pruned vectors
        left_out = encoded.terms - manifest.postings
        assert 0 < left_out == manifest.pruned_postings
        assert manifest.impacts + manifest.pruned_impacts == encoded.impacts
        assert manifest.impacts >= 0.8 * encoded.impacts
        assert f"static pruning left out {left_out} of {encoded.terms} postings" in done.err
        assert manifest.keep == 0.8
        assert manifest.documents == 30
        indexes.append(lucene_counts(output))
    assert indexes[0] == indexes[1]
    again = run("index", "--input", tiny_vectors, "--output", tmp_path / "direct")
    assert again.code == 1
    assert "different: keep" in again.err


@pytest.mark.java
def test_reordered_documents_are_pruned(tiny_vectors: Path, tmp_path: Path) -> None:
    options = IndexOptions(reorder=True, prune_ratio=0.5)
    manifest = build_impact_index(tiny_vectors, tmp_path / "x", options)
    kept = [StaticPruning(1.0, 0.5).apply(vector) for vector in read_vectors(tiny_vectors)]
    assert manifest.postings == sum(len(vector.impacts) for vector in kept)
    assert manifest.pruned_postings > 0


@pytest.mark.java
def test_added_documents_are_pruned_like_the_others(
    tiny_vectors: Path, added_vectors: Path, tmp_path: Path
) -> None:
    pruning = StaticPruning(0.7)
    build_impact_index(tiny_vectors, tmp_path / "x", IndexOptions(keep=0.7))
    manifest = add_documents(added_vectors, tmp_path / "x")
    new = {vector.docid: pruning.apply(vector).impacts for vector in read_vectors(added_vectors)}
    with Postings(tmp_path / "x") as postings:
        assert dict(zip(new, postings.vectors(list(new)), strict=True)) == new
    assert manifest.keep == 0.7
    verify_index(tmp_path / "x", added_vectors)


@pytest.mark.java
def test_a_manifest_without_pruning_has_no_new_fields(tiny_index: Path) -> None:
    values = json.loads(tiny_index.with_name("tiny.manifest.json").read_text())
    assert not {"keep", "prune_ratio", "pruned_postings", "pruned_impacts"} & set(values)
    assert IndexManifest.load(tiny_index).keep == 1.0


@pytest.mark.parametrize(
    "mode",
    [
        ("--bm25", "--corpus", "x"),
        ("--input", "x", "--verify"),
        ("--input", "x", "--add", "--output", "y"),
        ("--delete", "d1", "--output", "y"),
        ("--input", "x", "--keep", "0"),
    ],
)
def test_calls_that_make_no_sense(run: Commands, mode: tuple[str, ...]) -> None:
    assert run("index", "--keep", "0.9", *mode).code == 2

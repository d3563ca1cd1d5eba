"""A part of a job: the shards that one of several runs processes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from spade_pyserini.errors import ArtifactError
from spade_pyserini.formats.vectors import verify
from spade_pyserini.sharding.part import ALL_SHARDS, check_shards
from tests.commands import Commands


def test_missing_and_short_shards_are_noticed(tiny_vectors: Path) -> None:
    manifest = verify(tiny_vectors)
    check_shards(tiny_vectors, ALL_SHARDS, manifest, 30)
    gap = replace(manifest, shards=[manifest.shards[0], manifest.shards[2]])
    for wrong, documents, number in ((gap, 30, 1), (manifest, 36, 2), (manifest, 37, 2)):
        with pytest.raises(ArtifactError, match=f"shard {number} has .* the corpus is the same"):
            check_shards(tiny_vectors, ALL_SHARDS, wrong, documents)


@pytest.mark.parametrize(
    "flags", [("--shard-id", 0), ("--shard-num", 2), ("--shard-id", 2, "--shard-num", 2)]
)
def test_an_incomplete_or_impossible_part_is_refused(
    corpus_of_95: Path, tmp_path: Path, run: Commands, flags: tuple[object, ...]
) -> None:
    result = run("encode", "--corpus", corpus_of_95, "--output", tmp_path / "x", *flags)
    assert result.code == 2
    assert "shard" in result.err

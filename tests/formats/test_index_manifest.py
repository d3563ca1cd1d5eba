"""The manifest of an index."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from spade_pyserini import ImpactSearcher
from spade_pyserini.errors import ArtifactError
from spade_pyserini.formats.index_manifest import FORMAT, IndexManifest, manifest_path
from spade_pyserini.formats.sealed_json import write_sealed
from tests.commands import copy_artifact

pytestmark = pytest.mark.java


def test_an_older_manifest_without_a_field(tiny_index: Path, tmp_path: Path) -> None:
    index = copy_artifact(tiny_index, tmp_path)
    manifest = IndexManifest.load(index)
    values = asdict(manifest)
    del values["reordered"], values["updates"], values["encoder"]
    write_sealed(manifest_path(index), {"format": FORMAT, **values})
    assert IndexManifest.load(index) == replace(manifest, encoder=None)


def test_an_index_made_by_something_else(tiny_index: Path, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="no such index"):
        ImpactSearcher(tmp_path / "nowhere")
    index = copy_artifact(tiny_index, tmp_path)
    (tmp_path / "tiny.manifest.json").rename(tmp_path / "kept.json")
    with pytest.raises(ArtifactError, match="built by another tool, or its build was not finished"):
        ImpactSearcher(index)
    (tmp_path / "kept.json").rename(tmp_path / "tiny.manifest.json")
    next(index.glob("segments_*")).unlink()
    with pytest.raises(ArtifactError, match="Lucene cannot open this index"):
        ImpactSearcher(index)

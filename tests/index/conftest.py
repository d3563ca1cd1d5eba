"""Fixtures and helpers of the tests of indexes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spade_pyserini import SpadeModel, build_impact_index, encode_corpus, open_corpus
from spade_pyserini.index import IndexOptions
from tests.conftest import write_corpus


@pytest.fixture(scope="module")
def both_indexes(tiny_vectors: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Indexes of the same vectors by both builders. The tests share them: do not change them."""
    folder = tmp_path_factory.mktemp("both")
    for builder in ("direct", "anserini"):
        build_impact_index(tiny_vectors, folder / builder, IndexOptions(builder=builder, threads=2))
    return {builder: folder / builder for builder in ("direct", "anserini")}


@pytest.fixture
def added_vectors(tiny_model: SpadeModel, tiny_vectors: Path, tmp_path: Path) -> Path:
    """Vectors of d20 to d39. Ten of these documents are in `tiny_index`; d25 has another text."""
    source = write_corpus(tmp_path / "more", 40)
    lines = (source / "corpus.jsonl").read_text().splitlines()[20:]
    changed = json.loads(lines[5])
    lines[5] = json.dumps({**changed, "text": "cat cat fish"})
    (source / "corpus.jsonl").write_text("\n".join(lines))
    encode_corpus(open_corpus(str(source)), tiny_model, tmp_path / "vectors")
    return tmp_path / "vectors"


def write_foreign(folder: Path, *lines: dict[str, Any] | str) -> Path:
    """Write vectors without a manifest, as another tool would."""
    folder.mkdir(parents=True, exist_ok=True)
    text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (folder / "vectors.jsonl").write_text("\n".join(text) + "\n")
    return folder


GOOD = {"id": "a", "contents": "a cat", "vector": {"cat": 3, "dog": 1}}

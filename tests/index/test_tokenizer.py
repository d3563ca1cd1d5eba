"""The tokenizer of an index."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spade_pyserini import ImpactSearcher
from spade_pyserini.errors import ArtifactError, NotFoundError
from spade_pyserini.index import build_foreign_index
from spade_pyserini.models.minilm import minilm_folder
from tests.commands import Commands, copy_artifact
from tests.index.conftest import GOOD, write_foreign

pytestmark = pytest.mark.java


def test_an_index_made_with_another_tokenizer_is_refused(
    tiny_index: Path, tmp_path: Path, run: Commands
) -> None:

    with pytest.raises(ArtifactError, match="built with another tokenizer"):
        ImpactSearcher(tiny_index, tokenizer=minilm_folder())
    index = copy_artifact(tiny_index, tmp_path)
    path = tmp_path / "tiny.tokenizer.json"
    definition = json.loads(path.read_text())
    definition["normalizer"]["lowercase"] = False
    path.write_text(json.dumps(definition))
    result = run("search", "--index", index, "--query", "cat")
    assert result.code == 1
    assert "built with another tokenizer" in result.err


def test_a_search_without_a_tokenizer_is_an_error(tmp_path: Path) -> None:
    build_foreign_index(write_foreign(tmp_path / "v", GOOD), tmp_path / "x")
    with pytest.raises(ArtifactError, match="give tokenizer=PATH"):
        ImpactSearcher(tmp_path / "x")


def test_a_tokenizer_that_is_not_there(tiny_index: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no tokenizer 'no-such/tokenizer'"):
        ImpactSearcher(tiny_index, "no-such/tokenizer")

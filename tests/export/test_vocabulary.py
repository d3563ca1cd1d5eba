"""Exports that need a tokenizer, and engines that are not installed."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

from spade_pyserini.errors import ArtifactError, NotFoundError
from spade_pyserini.export.vocabulary import vectors_in_vocabulary
from spade_pyserini.index.postings import Postings
from spade_pyserini.models.minilm import minilm_folder
from spade_pyserini.models.wordpieces import WordPieces
from tests.commands import Commands

pytestmark = pytest.mark.java


def test_a_tokenizer_for_an_index_without_one(
    tiny_index: Path, index_without_tokenizer: Path, tmp_path: Path, run: Commands
) -> None:
    """The missing tokenizer is reported first, so this needs no Milvus."""
    tokenizer = tiny_index.with_name("tiny.tokenizer.json")
    flags = ("--index", index_without_tokenizer, "--to", "milvus", "--uri", tmp_path / "x.db")
    result = run("export", *flags)
    assert result.code == 1 and "tokenizer.json is missing" in result.err
    given = run("export", *flags, "--tokenizer", tokenizer)
    assert given.code == 1 and "is missing" not in given.err
    refused = run(
        "export", "--index", index_without_tokenizer, "--to", "ciff", "--tokenizer", tokenizer
    )
    assert refused.code == 2 and "--tokenizer applies only with" in refused.err
    for others, message in (
        (("--to", "ciff", "--field", "sparse_vector"), "--with-text and --field apply only"),
        (("--to", "pisa", "--token", "a"), "--token and --collection apply only"),
        (("--to", "milvus", "--uri", "x.db", "--output", "y"), "--uri is the output"),
    ):
        refused = run("export", "--index", "index/x", *others)
        assert refused.code == 2 and message in refused.err


def test_terms_that_the_tokenizer_does_not_know(
    tiny_index: Path, index_without_tokenizer: Path
) -> None:
    with Postings(index_without_tokenizer) as postings:
        vectors = vectors_in_vocabulary(postings, WordPieces.load(minilm_folder()))
        assert list(vectors) == [("a", {"cat": 3, "zebra": 2})]
        other = WordPieces.load(tiny_index.with_name("tiny.tokenizer.json"))
        with pytest.raises(
            ArtifactError, match="'zebra' of the document 'a' is not in the vocabulary"
        ):
            list(vectors_in_vocabulary(postings, other))


@pytest.mark.parametrize(
    ("engine", "library", "extra"),
    [("pisa", "pyterrier_pisa", "pisa"), ("milvus", "pymilvus", "milvus")],
)
def test_an_engine_that_is_not_installed(
    tiny_index: Path,
    tmp_path: Path,
    run: Commands,
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
    library: str,
    extra: str,
) -> None:
    from spade_pyserini.export import milvus, pisa

    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == library:
            raise ModuleNotFoundError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(NotFoundError, match=rf"pip install 'spade_pyserini\[{extra}\]'"):
        if engine == "pisa":
            pisa.write_pisa(tiny_index, tmp_path / "x")
        else:
            milvus.write_milvus(tiny_index, "x.db", "x")

"""Corpora and vectors on object stores, which fsspec's in-memory file system simulates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from spade_pyserini import (
    SpadeModel,
    build_impact_index,
    encode_corpus,
    open_corpus,
    read_vectors,
)
from spade_pyserini.encode import EncodeOptions, Part, merge_parts
from spade_pyserini.errors import UsageError
from tests.commands import Commands
from tests.conftest import file_bytes


def test_object_stores(tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path) -> None:
    """Read a corpus from an object store, and write vectors to the store."""
    from upath import UPath

    store = UPath("memory://bucket")
    (store / "corpora" / "tiny").mkdir(parents=True)
    plain = (tiny_corpus / "corpus.jsonl").read_bytes()
    (store / "corpora" / "tiny" / "corpus.jsonl").write_bytes(plain)
    corpus = open_corpus("memory://bucket/corpora/tiny")
    assert (corpus.name, corpus.count()) == ("tiny", 30)
    output = "memory://bucket/encode/tiny"
    local = encode_corpus(
        open_corpus(str(tiny_corpus)), tiny_model, tmp_path / "x", EncodeOptions(shard_size=12)
    )
    local = replace(local, source={"corpus": "memory://bucket/corpora/tiny"})
    assert encode_corpus(corpus, tiny_model, output, EncodeOptions(shard_size=12)) == local
    stored = {path.name: path.read_bytes() for path in (store / "encode" / "tiny").iterdir()}
    assert stored == file_bytes(tmp_path / "x")
    assert list(read_vectors(output)) == list(read_vectors(tmp_path / "x"))
    (store / "encode" / "tiny" / "docs0001.jsonl.gz").unlink()
    (store / "encode" / "tiny" / "docs0002.jsonl.gz").write_bytes(b"cut")
    assert (
        encode_corpus(corpus, tiny_model, output, EncodeOptions(shard_size=12)) == local
    )  # the missing shard and the damaged shard are encoded again
    stored = {path.name: path.read_bytes() for path in (store / "encode" / "tiny").iterdir()}
    assert stored == file_bytes(tmp_path / "x")
    for number in (0, 1):
        part = Part(number, 2)
        encode_corpus(
            corpus, tiny_model, f"{output}-parts", EncodeOptions(shard_size=12, part=part)
        )
    assert merge_parts(f"{output}-parts") == local
    with pytest.raises(UsageError, match="copy memory://bucket/encode/tiny to this machine"):
        build_impact_index(output, tmp_path / "index")


@pytest.mark.parametrize("uri", ["s3://bucket/x", "nowhere://x"])
def test_an_object_store_without_its_library(tiny_corpus: Path, run: Commands, uri: str) -> None:
    result = run("encode", "--corpus", uri)
    assert result.code == 1
    assert uri in result.err and "Traceback" not in result.err

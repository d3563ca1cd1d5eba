"""The encoding of a shard."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from spade_pyserini import (
    SpadeModel,
    encode_corpus,
    open_corpus,
    read_vectors,
)
from spade_pyserini.encode import EncodeOptions
from spade_pyserini.errors import ArtifactError, SpadeError
from spade_pyserini.formats.vectors import verify
from spade_pyserini.models import SpadeEncoder
from tests.conftest import file_bytes


def test_vectors_equal_those_of_the_model(
    tiny_vectors: Path, tiny_corpus: Path, tiny_model: SpadeModel
) -> None:
    documents = list(open_corpus(str(tiny_corpus)))
    texts = [document.contents for document in documents]
    vectors = list(read_vectors(tiny_vectors))
    assert [vector.docid for vector in vectors] == [document.docid for document in documents]
    alone = SpadeEncoder(tiny_model).encode(texts, batch_size=1)
    for vector, expected in zip(vectors, alone, strict=True):
        # In another batch, a weight may be rounded differently.
        for term in vector.impacts.keys() | expected.keys():
            assert abs(vector.impacts.get(term, 0) - expected.get(term, 0)) <= 1


def test_a_model_that_gives_nan_writes_nothing(
    tiny_corpus: Path, tiny_backbone: Path, tmp_path: Path
) -> None:
    model = SpadeModel.from_backbone(tiny_backbone).with_settings(scale=1.0, max_length=32)
    with torch.no_grad():
        model.expansion.head.bias[30] = float("nan")
    with pytest.raises(ArtifactError, match="NaN or infinite"):
        encode_corpus(open_corpus(str(tiny_corpus)), model, tmp_path / "x")
    assert file_bytes(tmp_path / "x") == {}


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_a_device_without_memory_is_reported_with_a_cure(
    tiny_corpus: Path,
    tiny_model: SpadeModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    device: str,
) -> None:
    def full(*_inputs: torch.Tensor) -> None:
        if device == "cuda":
            raise torch.OutOfMemoryError("CUDA out of memory")
        torch.empty(2**55)  # raises a RuntimeError, like every failed allocation on a CPU

    monkeypatch.setattr(tiny_model, "forward", full)
    corpus = open_corpus(str(tiny_corpus))
    with pytest.raises(SpadeError, match=r"of 512 WordPieces; .* smaller batch_tokens=256 and"):
        encode_corpus(corpus, tiny_model, tmp_path / "x", EncodeOptions(batch_tokens=512))
    assert file_bytes(tmp_path / "x") == {}
    monkeypatch.undo()
    encode_corpus(
        corpus, tiny_model, tmp_path / "x", EncodeOptions(batch_tokens=64, overwrite=True)
    )
    assert verify(tmp_path / "x").documents == 30

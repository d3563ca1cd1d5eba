"""The scale of a model that was saved without a scale."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini import (
    SpadeConfig,
    SpadeModel,
    encode_corpus,
    open_corpus,
    read_vectors,
)
from spade_pyserini.encode import EncodeOptions
from tests.conftest import write_corpus


def test_an_uncalibrated_model_is_calibrated_before_it_starts(
    tiny_corpus: Path, tiny_backbone: Path, tmp_path: Path
) -> None:
    model = SpadeModel.from_backbone(tiny_backbone, SpadeConfig(max_length=32))
    encode_corpus(open_corpus(str(tiny_corpus)), model, tmp_path / "x")
    largest = max(max(vector.impacts.values()) for vector in read_vectors(tmp_path / "x"))
    assert largest == 255
    assert model.config.scale is None


def test_a_scale_is_not_inherited_from_another_corpus(tiny_backbone: Path, tmp_path: Path) -> None:
    model = SpadeModel.from_backbone(tiny_backbone, SpadeConfig(max_length=32))
    first = open_corpus("one", write_corpus(tmp_path / "one", 30))
    (tmp_path / "two.jsonl").write_text('{"id": "x", "contents": "river"}')
    second = open_corpus(str(tmp_path / "two.jsonl"))
    fresh = encode_corpus(second, model, tmp_path / "fresh").settings.scale
    encode_corpus(first, model, tmp_path / "x")
    again = encode_corpus(
        second, model, tmp_path / "x", EncodeOptions(overwrite=True)
    ).settings.scale
    assert again == fresh

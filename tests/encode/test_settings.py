"""Settings of an encoder that the vectors of a corpus depend on."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from spade_pyserini import encode_corpus, open_corpus, read_vectors
from spade_pyserini.analysis.sweep.components import Components
from spade_pyserini.encode import EncodeOptions
from spade_pyserini.errors import OutputExistsError
from spade_pyserini.models import SpadeEncoder


@pytest.fixture
def encoder(tiny_model_folder: Path) -> SpadeEncoder:
    return SpadeEncoder.from_pretrained(tiny_model_folder)


def test_the_manifest_has_the_precision(
    encoder: SpadeEncoder, tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True})
    corpus = open_corpus(str(tiny_corpus))
    manifest = encode_corpus(corpus, encoder.with_precision("bf16"), tmp_path / "vectors")
    assert manifest.settings.precision == "bf16"
    with pytest.raises(OutputExistsError, match="precision"):
        encode_corpus(corpus, encoder, tmp_path / "vectors")


def test_a_sweep_aggregates_saturated_weights_as_the_encoder_does(
    encoder: SpadeEncoder, tiny_corpus: Path, tmp_path: Path
) -> None:
    saturated = encoder.with_settings(saturate=True)
    corpus = open_corpus(str(tiny_corpus))
    options = EncodeOptions(components=True)
    encode_corpus(corpus, saturated, tmp_path / "components", options)
    encode_corpus(corpus, saturated.with_settings(alpha=0.3), tmp_path / "direct")
    components = Components(tmp_path / "components", [0.3])
    components.write_vectors(tmp_path / "mixed", 0.3, set(), 40.0)
    assert dict(read_vectors(tmp_path / "mixed")) == dict(read_vectors(tmp_path / "direct"))

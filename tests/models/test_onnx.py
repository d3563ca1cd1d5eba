"""Cross-encoders and bi-encoders in ONNX format, compared with transformers."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer

from spade_pyserini.errors import InputError, UsageError
from spade_pyserini.models.bi_encoder import open_bi_encoder
from spade_pyserini.models.cross_encoder import load_cross_encoder
from spade_pyserini.models.onnx import find_onnx
from tests.baselines.test_rerank import save_cross_encoder
from tests.models.onnx_files import export_onnx

TEXTS = ["the old cat sleeps", "a dog", "big red fish eats the small blue bird", "tree"]


@pytest.fixture(scope="module")
def onnx_folder(tiny_backbone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("onnx") / "bi-encoder"
    export_onnx(AutoModel.from_pretrained(tiny_backbone), folder / "onnx" / "model.onnx")
    shutil.copy(tiny_backbone / "tokenizer.json", folder)
    return folder


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_embeddings_are_those_of_transformers(
    onnx_folder: Path, tiny_backbone: Path, pooling: str
) -> None:
    encoder = open_bi_encoder(str(onnx_folder), max_length=6, pooling=pooling, query_prefix="a ")
    tokenizer = AutoTokenizer.from_pretrained(tiny_backbone)
    model = AutoModel.from_pretrained(tiny_backbone).eval()

    def expected(text: str) -> torch.Tensor:
        inputs = tokenizer(text, return_tensors="pt", truncation=True, max_length=6)
        with torch.inference_mode():
            hidden = model(**inputs)[0][0]
        vector: torch.Tensor = hidden[0] if pooling == "first" else hidden.mean(dim=0)
        return torch.nn.functional.normalize(vector, dim=0)

    documents, queries = encoder.embed_documents(TEXTS), encoder.embed_queries(TEXTS)
    for row, text in enumerate(TEXTS):
        np.testing.assert_allclose(documents[row], expected(text), atol=1e-5)
        np.testing.assert_allclose(queries[row], expected(f"a {text}"), atol=1e-5)


def test_scores_are_those_of_transformers(tiny_backbone: Path, tmp_path: Path) -> None:
    source = save_cross_encoder(tiny_backbone, tmp_path / "torch")
    model = AutoModelForSequenceClassification.from_pretrained(source).eval()
    folder = tmp_path / "onnx"
    export_onnx(model, folder / "model.onnx")
    shutil.copy(source / "tokenizer.json", folder)
    tokenizer = AutoTokenizer.from_pretrained(source)

    def expected(text: str) -> float:
        inputs = tokenizer("old cat", text, return_tensors="pt", return_token_type_ids=True)
        with torch.inference_mode():
            return float(model(**inputs).logits)

    scores = load_cross_encoder(str(folder))([("old cat", text) for text in TEXTS])
    assert scores == pytest.approx([expected(text) for text in TEXTS], abs=1e-4)
    # A folder with safetensors weights is not loaded as an ONNX model.
    shutil.copy(source / "model.safetensors", folder)
    assert find_onnx(folder) is None


def test_bad_onnx_folders(onnx_folder: Path, tiny_backbone: Path, tmp_path: Path) -> None:
    assert find_onnx(tiny_backbone) is None
    folder = tmp_path / "bad"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"no model")
    with pytest.raises(InputError, match="needs a tokenizer"):
        load_cross_encoder(str(folder))
    shutil.copy(tiny_backbone / "tokenizer.json", folder)
    with pytest.raises(InputError, match="cannot be loaded"):
        load_cross_encoder(str(folder))
    with pytest.raises(UsageError, match="a re-ranker needs the shape"):
        load_cross_encoder(str(onnx_folder))([("a", "cat")])
    with pytest.raises(UsageError, match="pooling must be mean or first"):
        open_bi_encoder(str(onnx_folder), pooling="last")

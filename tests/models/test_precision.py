"""Encoding in other numbers than fp32: offered where the processor is made for them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeModel, encode_corpus, open_corpus
from spade_pyserini.errors import OutputExistsError, UsageError
from spade_pyserini.models.precision import check_precision
from tests.commands import Commands

CPU = torch.device("cpu")
TEXTS = ["the old cat sleeps in the tree", "delete a folder", "a red fish"]


@pytest.fixture
def bf16(tiny_model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> SpadeModel:
    """A model that encodes in bf16, which any CPU can do in its own time."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True})
    model = SpadeModel.from_pretrained(tiny_model_folder)
    model.use_precision("bf16")
    return model


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_bf16_is_near_fp32(bf16: SpadeModel, alpha: float) -> None:
    bf16.reconfigure(alpha=alpha)
    ids = bf16.wordpieces.document_ids(TEXTS, 32)
    near = bf16.weigh(ids)
    bf16.use_precision("fp32")
    exact = bf16.weigh(ids)
    assert near.dtype == exact.dtype == torch.float32
    assert not torch.equal(near, exact)
    assert torch.cosine_similarity(near, exact).min() > 0.99


def test_the_manifest_knows_the_precision(
    bf16: SpadeModel, tiny_corpus: Path, tmp_path: Path
) -> None:
    corpus = open_corpus(str(tiny_corpus))
    assert encode_corpus(corpus, bf16, tmp_path / "v").settings.precision == "bf16"
    bf16.use_precision("fp32")
    with pytest.raises(OutputExistsError, match="precision"):
        encode_corpus(corpus, bf16, tmp_path / "v")


def test_what_does_not_pay_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True, "amx_bf16": False})
    check_precision("fp32", CPU)
    for precision, reason in (
        ("bf16", "eight times as slow"),
        ("fp16", "for GPUs"),
        ("int8", "rankings worse"),
        ("fp64", "they are fp32, bf16, fp16"),
    ):
        with pytest.raises(UsageError, match=reason):
            check_precision(precision, CPU)


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (("--precision", "int8"), "int8 is not offered"),
        (("--backend", "onnx"), "0.92 times as fast as in torch"),
    ],
)
def test_the_command_says_why(
    run: Commands,
    tiny_corpus: Path,
    tiny_model_folder: Path,
    tmp_path: Path,
    flags: tuple[str, str],
    reason: str,
) -> None:
    places = ("--corpus", tiny_corpus, "--model", tiny_model_folder, "--output", tmp_path / "v")
    found = run("encode", *places, *flags)
    assert found.code == 2
    assert reason in found.err
    assert not (tmp_path / "v").exists()

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from spade_pyserini.errors import UsageError
from spade_pyserini.models import SpadeEncoder
from spade_pyserini.models.precision import check_precision

CPU = torch.device("cpu")
TEXTS = ["the old cat sleeps in the tree", "delete a folder", "a red fish"]


@pytest.fixture
def encoder(tiny_model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> SpadeEncoder:
    """An encoder that accepts bf16 on any CPU: without the CPU's support, bf16 is only slow."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True})
    return SpadeEncoder.from_pretrained(tiny_model_folder)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_bf16_is_near_fp32(encoder: SpadeEncoder, alpha: float) -> None:
    exact = encoder.with_settings(alpha=alpha)
    ids = exact.wordpieces.document_ids(TEXTS, 32)
    bf16 = exact.with_precision("bf16").weigh(ids)
    fp32 = exact.weigh(ids)
    assert bf16.dtype == fp32.dtype == torch.float32
    assert not torch.equal(bf16, fp32)
    assert torch.cosine_similarity(bf16, fp32).min() > 0.99


def test_precisions_that_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True, "amx_bf16": False})
    check_precision("fp32", CPU)
    for precision, reason in (
        ("bf16", "eight times slower"),
        ("fp16", "for GPUs"),
        ("int8", "precision must be one of fp32, bf16, fp16, not int8"),
    ):
        with pytest.raises(UsageError, match=reason):
            check_precision(precision, CPU)


def test_a_driver_can_set_a_precision_that_its_workers_check(encoder: SpadeEncoder) -> None:
    encoder.with_precision("bf16").check_precision()
    for_workers = replace(encoder, precision="fp16")
    with pytest.raises(UsageError, match="fp16 cannot be used on cpu"):
        for_workers.check_precision()
    with pytest.raises(UsageError, match="fp16 cannot be used on cpu"):
        encoder.with_precision("fp16")

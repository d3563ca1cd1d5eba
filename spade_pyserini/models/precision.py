"""In which numbers a model computes, and which are refused where they do not pay.

Measured with ``benchmarks/precision.py`` on two cores with AVX2: spade-mini, its transformers
by another engine, beside torch in fp32. torch's int8 is 1.17 times as fast, nDCG@10 on WikiQA dev
0.9 % lower; ONNX Runtime 0.92 times, in int8 1.26 times, and OpenVINO 1.02 times, in int8 0.84
times, with rankings as good. MiniLM's transformer alone in bf16: 0.13 times.
"""

from __future__ import annotations

from typing import Any

import torch

from spade_pyserini.errors import UsageError

HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}


def check_precision(precision: str, device: torch.device) -> None:
    """Raise `UsageError` with the reason where a precision would be slower, or wrong."""
    reason = None
    if precision == "int8":
        reason = (
            "with AVX2 it made the model 1.17 times as fast and its rankings worse (nDCG@10 on "
            "WikiQA dev by 0.9 %), by functions that torch is about to drop"
        )
    elif precision == "fp16" and device.type == "cpu":
        reason = "CPUs are made for fp32; fp16 is for GPUs"
    elif precision == "bf16" and device.type == "cpu" and not _cpu_has_bf16():
        reason = "without AMX or AVX512's bf16 it was eight times as slow as fp32"
    elif precision == "bf16" and device.type == "cuda" and not torch.cuda.is_bf16_supported():
        reason = "this GPU has none; take fp16"
    elif precision not in ("fp32", *HALF):
        reason = f"they are fp32, {', '.join(HALF)}"
    if reason:
        raise UsageError(f"the precision {precision} is not offered here: {reason}")


def check_backend(backend: str) -> None:
    """Raise `UsageError` with the reason for all but torch."""
    if backend != "torch":
        raise UsageError(
            f"the backend {backend} is not offered: with its transformers in ONNX Runtime, "
            "spade-mini was 0.92 times as fast as in torch, in OpenVINO 1.02 times (fp32, AVX2)"
        )


def _cpu_has_bf16() -> bool:
    known: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()  # older do not tell
    return any(found for name, found in known.items() if "bf16" in name)


def autocast(precision: str, device: torch.device) -> torch.autocast:
    """Where the matrix products are computed in ``precision``."""
    return torch.autocast(device.type, HALF.get(precision), enabled=precision in HALF)

"""Number formats for encoding, and the devices on which each format is useful.

The format int8 is not offered, and neither are other engines (ONNX Runtime, OpenVINO).
``benchmarks/precision.py`` measures int8 and these engines, see ``docs/results/precision.md``.
"""

from __future__ import annotations

from typing import Any

import torch

from spade_pyserini.errors import UsageError

HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}
PRECISIONS = ("fp32", *HALF)


def check_precision(precision: str, device: torch.device) -> None:
    """Raise `UsageError` if a precision is unknown, or not useful on this device.

    A precision is not useful if the device does not support it, or is slower with it than with
    fp32.
    """
    reason = None
    if precision not in PRECISIONS:
        raise UsageError(f"precision must be one of {', '.join(PRECISIONS)}, not {precision}")
    if precision == "fp16" and device.type == "cpu":
        reason = "fp16 is for GPUs; use fp32 on a CPU"
    elif precision == "bf16" and device.type == "cpu" and not _cpu_has_bf16():
        reason = (
            "this CPU has neither AMX nor AVX512-BF16; bf16 would be eight times slower; use fp32"
        )
    elif precision == "bf16" and device.type == "cuda" and not torch.cuda.is_bf16_supported():
        reason = "this GPU does not support bf16; use fp16"
    if reason:
        raise UsageError(f"the precision {precision} cannot be used on {device}: {reason}")


def fastest_precision(device: torch.device) -> str:
    """Return bf16 if matrix products on this device are faster in bf16 than in fp32, else fp32."""
    try:
        check_precision("bf16", device)
    except UsageError:
        return "fp32"
    return "bf16" if device.type in ("cpu", "cuda") else "fp32"


def _cpu_has_bf16() -> bool:
    # Older versions of torch cannot report what the CPU supports.
    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(supported for name, supported in capabilities.items() if "bf16" in name)


def autocast(precision: str, device: torch.device) -> torch.autocast:
    """Return a context manager in which matrix products are computed in ``precision``."""
    return torch.autocast(device.type, HALF.get(precision), enabled=precision in HALF)

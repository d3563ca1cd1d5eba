"""Move models to devices."""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import nn

from spade_pyserini.errors import UsageError

Model = TypeVar("Model", bound=nn.Module)


def move(model: Model, device: str | torch.device) -> Model:
    """Move a model to a device, in place."""
    try:
        if not str(device).startswith(("cpu", "cuda", "mps")):
            raise RuntimeError("expected cpu, cuda, cuda:N or mps")
        return model.to(device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"the device {str(device)!r} cannot be used: {reason}") from None

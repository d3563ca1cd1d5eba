"""Export models of the transformers library to ONNX, for tests."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class _FirstOutput(nn.Module):
    """A model of the transformers library that returns only its first output."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *inputs: Tensor) -> Any:
        return self.model(**dict(zip(INPUTS, inputs, strict=True)))[0]


def export_onnx(model: nn.Module, path: Path) -> None:
    """Write a BERT model to an ONNX file, with batches and texts of any size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    example = torch.ones(2, 5, dtype=torch.long)
    # The example has padding: with a mask of ones, the exported model would not have a mask.
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    axes = {name: {0: "batch", 1: "length"} for name in INPUTS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _FirstOutput(model).eval(),
            (example, mask, example),
            str(path),
            input_names=list(INPUTS),
            output_names=["output"],
            dynamic_axes={**axes, "output": {0: "batch"}},
            dynamo=False,
        )

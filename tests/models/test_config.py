from __future__ import annotations

from dataclasses import replace

import pytest

from spade_pyserini import SpadeConfig
from spade_pyserini.errors import UsageError


@pytest.mark.parametrize(
    "change",
    [
        {"alpha": 1.5},
        {"k": -1},
        {"pooling": "mean"},
        {"max_length": 2},
        {"bits": 0},
        {"scale": float("nan")},
        {"adapter_rank": 2, "shared_backbone": True},
        {"decoder_rank": -1},
        {"corpus_idf": 2.0},
        {"forms": -0.1},
        {"prune_ratio": 1.0},
        {"corpus_gamma": float("nan")},
        {"corpus_few": 1.5},
    ],
)
def test_settings_out_of_range(change: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=next(iter(change))):
        replace(SpadeConfig(), **change)  # type: ignore[arg-type]


def test_more_adapter_layers_than_the_backbone_has() -> None:
    backbone = {"num_hidden_layers": 2}
    assert SpadeConfig(adapter_rank=2, adapter_layers=2, backbone=backbone).adapter_layers == 2
    with pytest.raises(UsageError, match="adapter_layers must be from 0 to 2, not 3"):
        SpadeConfig(adapter_rank=2, adapter_layers=3, backbone=backbone)


@pytest.mark.parametrize("name", ["adapter_rank", "decoder_rank"])
def test_a_rank_above_the_hidden_size(name: str) -> None:
    """Such a rank could need any amount of memory. If the hidden size is missing, it is 768."""
    for backbone, most in (({"hidden_size": 64}, 64), ({"model_type": "bert"}, 768)):
        replace(SpadeConfig(backbone=backbone), **{name: most})  # type: ignore[arg-type]
        with pytest.raises(UsageError, match=f"{name} is {most + 1}; it must be at most {most}"):
            replace(SpadeConfig(backbone=backbone), **{name: most + 1})  # type: ignore[arg-type]

"""Errors for a config.json with sizes too large for its weights, or with unusable settings."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.models.backbone import load_backbone
from spade_pyserini.models.bi_encoder import load_bi_encoder
from spade_pyserini.models.cross_encoder import load_cross_encoder
from spade_pyserini.models.seq2seq import load_seq2seq
from spade_pyserini.models.sizes import check_sizes
from spade_pyserini.models.systems.loading import load_encoder
from tests.baselines.test_expand import save_t5


def change(source: Path, target: Path, **sizes: object) -> Path:
    """Copy a model and change settings of its transformers."""
    shutil.copytree(source, target)
    changed = 0
    for path in target.rglob("config.json"):
        config = json.loads(path.read_text())
        if "hidden_size" in config or "d_model" in config:
            path.write_text(json.dumps(config | sizes))
            changed += 1
    assert changed
    return target


@pytest.mark.parametrize("name", ["splade", "splade-max", "unicoil", "deepimpact"])
def test_systems(name: str, systems: dict[str, Path], tmp_path: Path) -> None:
    deep = change(systems[name], tmp_path / "deep", num_hidden_layers=10**6)
    with pytest.raises(InputError, match="num_hidden_layers is 1,000,000, but models have at most"):
        load_encoder(deep)
    wide = change(systems[name], tmp_path / "wide", intermediate_size=10**9)
    with pytest.raises(InputError, match="intermediate_size is 1,000,000,000, which needs more"):
        load_encoder(wide)


@pytest.mark.parametrize("load", [load_backbone, load_bi_encoder, load_cross_encoder])
def test_models_of_other_tools(
    load: Callable[[str], object], tiny_backbone: Path, tmp_path: Path
) -> None:
    deep = change(tiny_backbone, tmp_path / "deep", num_hidden_layers=10**6)
    with pytest.raises(InputError, match="models have at most 1,000 layers"):
        load(str(deep))


def test_sequence_to_sequence_models(tiny_backbone: Path, tmp_path: Path) -> None:
    deep = change(save_t5(tiny_backbone, tmp_path / "t5"), tmp_path / "deep", num_layers=10**6)
    with pytest.raises(InputError, match="num_layers is 1,000,000, but models have at most"):
        load_seq2seq(str(deep))


def test_settings_that_cannot_be_computed(
    systems: dict[str, Path], tiny_backbone: Path, tmp_path: Path
) -> None:
    """Loading the model reports such settings, before the first document is encoded."""
    odd = change(systems["unicoil"], tmp_path / "unicoil", chunk_size_feed_forward=2)
    with pytest.raises(InputError, match="the model cannot encode texts with the settings"):
        load_encoder(odd)
    t5 = save_t5(tiny_backbone, tmp_path / "t5")
    settings = json.loads((t5 / "tokenizer_config.json").read_text())
    negative = json.dumps(settings | {"model_max_length": -1})
    (t5 / "tokenizer_config.json").write_text(negative)
    with pytest.raises(NotFoundError, match="cannot be loaded"):
        load_seq2seq(str(t5))
    (t5 / "tokenizer_config.json").write_text(json.dumps(settings))
    dense = shutil.copytree(tiny_backbone, tmp_path / "dense")
    settings = json.loads((dense / "tokenizer_config.json").read_text())
    (dense / "tokenizer_config.json").write_text(json.dumps(settings | {"pad_token": "[PAD]x"}))
    with pytest.raises(NotFoundError, match="cannot be loaded"):
        load_bi_encoder(str(dense))
    (t5 / "generation_config.json").write_text("{}")
    config = json.loads((t5 / "config.json").read_text())
    config.pop("decoder_start_token_id", None)
    (t5 / "config.json").write_text(json.dumps(config))
    with pytest.raises(NotFoundError, match="cannot be loaded: `decoder_start_token_id`"):
        load_seq2seq(str(t5))


def test_numbers_that_are_no_sizes() -> None:
    """Sizes are checked, also in nested tables. Token ids, dropouts and other numbers are not."""
    config = {"eos_token_id": 10**9, "dropout": 0.1, "is_decoder": True, "task": {"max_length": 9}}
    check_sizes(config, 5, Path("config.json"))
    with pytest.raises(InputError, match="d_model is 6, which needs more weights"):
        check_sizes({"text_config": {"d_model": 6}}, 5, Path("config.json"))

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.utils import logging as verbosity

from spade_pyserini.errors import NotFoundError
from spade_pyserini.models.backbone import load_backbone
from spade_pyserini.models.bi_encoder import load_bi_encoder
from spade_pyserini.models.card import origin_folder
from spade_pyserini.models.cross_encoder import load_cross_encoder
from spade_pyserini.models.hub import load_hugging_face, resolve_model
from spade_pyserini.models.minilm import minilm_folder
from spade_pyserini.models.seq2seq import load_seq2seq
from spade_pyserini.models.wordpieces import PRETRAINED, resolve_tokenizer
from tests.commands import Commands

LOADERS = [load_backbone, load_bi_encoder, load_cross_encoder, load_seq2seq]


def test_names_of_models(tmp_path: Path) -> None:
    assert resolve_model("spade-mini") == PRETRAINED / "spade-mini"
    assert resolve_model(tmp_path) == tmp_path
    for name in ("no-such/model", "no-such-model"):
        with pytest.raises(NotFoundError, match=f"there is no model '{name}'.*spade-mini"):
            resolve_model(name)


def test_what_a_loader_gets() -> None:
    def load(source: str, options: dict[str, Any]) -> tuple[str, dict[str, Any], bool]:
        return source, options, verbosity.is_progress_bar_enabled()

    bars = verbosity.is_progress_bar_enabled()
    for name, source in (("minilm", str(minilm_folder())), ("owner/model", "owner/model")):
        assert load_hugging_face("model", name, load) == (source, {"use_safetensors": True}, False)
    assert verbosity.is_progress_bar_enabled() == bars


@pytest.mark.parametrize("message", ["first line\nsecond line", ""])
def test_any_error_becomes_one_line(message: str) -> None:
    def load(source: str, options: dict[str, Any]) -> None:
        raise KeyError(message) if not message else RuntimeError(message)

    with pytest.raises(NotFoundError) as caught:
        load_hugging_face("re-ranker", "owner/model", load)
    start = "the re-ranker 'owner/model' cannot be loaded: "
    assert str(caught.value).startswith(start)
    assert "\n" not in str(caught.value) and len(str(caught.value)) > len(start)


@pytest.mark.parametrize("load", LOADERS)
def test_pickled_weights_are_never_loaded(load: Any, tiny_backbone: Path, tmp_path: Path) -> None:
    """A pytorch_model.bin is a pickle, which can run any code."""
    folder = shutil.copytree(tiny_backbone, tmp_path / "model")
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    with pytest.raises(NotFoundError, match=r"model' cannot be loaded: "):
        load(str(folder))


@pytest.mark.parametrize("load", LOADERS)
def test_unknown_names_are_reported_in_one_line(load: Any) -> None:
    with pytest.raises(NotFoundError, match="'no-such/model' cannot be loaded: ") as caught:
        load("no-such/model")
    assert "\n" not in str(caught.value)


def test_the_output_of_training_stands_for_its_best_model(
    tiny_model_folder: Path, tiny_corpus: Path, tmp_path: Path, run: Commands
) -> None:
    (tmp_path / "old").mkdir()
    assert resolve_model(tmp_path / "old") == tmp_path / "old"
    best = shutil.copytree(tiny_model_folder, tmp_path / "my-model" / "best")
    assert resolve_model(tmp_path / "my-model") == resolve_model(best) == best
    assert resolve_tokenizer(tmp_path / "my-model") == best
    assert origin_folder(str(tmp_path / "my-model")) == best
    run.monkeypatch.chdir(tmp_path)
    encoded = run("encode", "--corpus", tiny_corpus, "--model", "my-model")
    assert encoded.out == "encode/tiny.my-model\n", encoded.err
    said = "my-model is the output of a training run; its model my-model/best is used"
    assert encoded.err.count(said) == 1
    explained = run("explain", "--text", "old cat", "--model", "my-model")
    assert explained.out == run("explain", "--text", "old cat", "--model", best).out != ""
    shutil.copy(best / "config.json", tmp_path / "my-model")  # now the folder itself is a model
    assert resolve_model(tmp_path / "my-model") == tmp_path / "my-model"

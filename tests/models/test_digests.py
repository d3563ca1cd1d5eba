"""Damage to the files of a model is reported when the model is loaded."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from spade_pyserini import SpadeModel
from spade_pyserini.errors import ArtifactError, NotFoundError

NOBODY = 65534  # the id of a user without rights


@pytest.fixture
def folder(tiny_model_folder: Path, tmp_path: Path) -> Path:
    return shutil.copytree(tiny_model_folder, tmp_path / "model")


def flip(path: Path, *, keep_time: bool = False) -> None:
    state, content = path.stat(), bytearray(path.read_bytes())
    content[-50] ^= 1
    path.write_bytes(content)
    if keep_time:
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_flipped_bit_is_reported(folder: Path, name: str) -> None:
    SpadeModel.from_pretrained(folder)
    flip(folder / name)
    with pytest.raises(ArtifactError, match=rf"{name}: damaged.*; copy or download the model"):
        SpadeModel.from_pretrained(folder)


def test_settings_may_be_edited(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"alpha": 0.25}))
    assert SpadeModel.from_pretrained(folder).config.alpha == 0.25
    assert "config.json was edited after the model was saved" in caplog.text


def test_a_model_without_digests(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The weights of a model without digests are compared with those that were loaded before."""
    (folder / "digests.json").unlink()
    SpadeModel.from_pretrained(folder)
    SpadeModel.from_pretrained(folder)
    assert not caplog.text
    flip(folder / "model.safetensors")
    SpadeModel.from_pretrained(folder)
    assert "the weights have changed since they were last loaded" in caplog.text
    flip(folder / "model.safetensors", keep_time=True)
    with pytest.raises(ArtifactError, match="its contents changed since it was last loaded"):
        SpadeModel.from_pretrained(folder)


def test_a_backbone_that_is_damaged(tiny_backbone: Path, tmp_path: Path) -> None:
    backbone = shutil.copytree(tiny_backbone, tmp_path / "backbone")
    SpadeModel.from_backbone(backbone)
    flip(backbone / "model.safetensors", keep_time=True)
    with pytest.raises(ArtifactError, match="damaged, its contents changed"):
        SpadeModel.from_backbone(backbone)


def test_weights_are_readable_for_others(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    usual = (tmp_path / "usual").stat().st_mode
    SpadeModel.from_pretrained(folder).save_pretrained(tmp_path / "again")
    assert {path.stat().st_mode for path in (tmp_path / "again").iterdir()} == {usual}


def test_weights_that_the_user_may_not_read(folder: Path) -> None:
    """The error is about permissions; it does not claim that the file is missing."""
    public = Path(tempfile.mkdtemp())  # other users cannot enter pytest's folders
    try:
        model = shutil.copytree(folder, public / "model")
        SpadeModel.from_pretrained(model)
        public.chmod(0o755)
        (model / "model.safetensors").chmod(0)
        user = os.geteuid()
        if user == 0:
            os.seteuid(NOBODY)
        try:
            with pytest.raises(PermissionError, match=r"Permission denied: .*model\.safetensors"):
                SpadeModel.from_pretrained(model)
        finally:
            os.seteuid(user)
    finally:
        shutil.rmtree(public)


def test_a_file_that_is_missing(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(
        (ArtifactError, NotFoundError), match=r"model\.safetensors: the file is missing"
    ):
        SpadeModel.from_pretrained(folder)

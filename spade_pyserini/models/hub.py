"""Which folder a model's name stands for."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini.errors import NotFoundError
from spade_pyserini.models.wordpieces import PRETRAINED

UNTRAINED = "untrained-minilm"
DEFAULT = "spade-mini"
WEIGHTS = "model.safetensors"
FILES = ["config.json", WEIGHTS, "tokenizer.json"]


def resolve_model(name: str | Path) -> Path:
    """The folder of a model; a Hugging Face name is downloaded, safetensors only."""
    ours = {folder.name: folder for folder in PRETRAINED.iterdir() if folder.is_dir()}
    if str(name) in ours:
        return ours[str(name)]
    if Path(name).is_dir():
        return Path(name)
    from huggingface_hub import snapshot_download

    try:
        if str(name).count("/") != 1:
            raise ValueError("a name on the hub is OWNER/MODEL")
        return Path(snapshot_download(str(name), allow_patterns=FILES))
    except Exception as error:  # the hub's own errors, offline, no such repository, a bad name
        raise NotFoundError(
            f"no model is called {str(name)!r}: not {' or '.join([*sorted(ours), UNTRAINED])}, not "
            f"a folder, and not to be had from the Hugging Face hub ({type(error).__name__})"
        ) from error

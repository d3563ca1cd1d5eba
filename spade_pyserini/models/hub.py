"""Names of models: the folder that a name stands for, and loading Hugging Face models."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from spade_pyserini.errors import NotFoundError
from spade_pyserini.models.digests import DIGESTS, check_known_weights
from spade_pyserini.models.minilm import MINILM, minilm_folder
from spade_pyserini.models.wordpieces import PRETRAINED

T = TypeVar("T")
UNTRAINED = "untrained-minilm"
DEFAULT = "spade-mini"
SUFFIX = ".safetensors"
WEIGHTS = f"model{SUFFIX}"
FILES = ["config.json", WEIGHTS, "tokenizer.json"]
# Settings, weights and vocabularies, also in the folders of modules; never code or pickled weights.
DOWNLOADED = [*FILES, DIGESTS, "*.json", f"*{SUFFIX}", "vocab.txt", "*/vocab.txt"]
SAFE: dict[str, Any] = {"use_safetensors": True}  # other weights are pickled and can run code


def resolve_model(name: str | Path) -> Path:
    """Return the folder of a model: a shipped one, ``name`` itself, or a download."""
    shipped = {folder.name: folder for folder in PRETRAINED.iterdir() if folder.is_dir()}
    if str(name) in shipped:
        return shipped[str(name)]
    if Path(name).is_dir():
        return Path(name)
    from huggingface_hub import snapshot_download

    names = " or ".join([*sorted(shipped), UNTRAINED])
    message = f"there is no model {str(name)!r}: it is not {names}, not a folder"
    if str(name).count("/") != 1:
        raise NotFoundError(f"{message}, and not a name OWNER/MODEL of the Hugging Face hub")
    try:
        return Path(snapshot_download(str(name), allow_patterns=DOWNLOADED))
    except Exception as error:  # the hub's own errors, offline, no such repository, a bad name
        reason = f"not available from the Hugging Face hub ({type(error).__name__})"
        raise NotFoundError(f"{message}, and {reason}") from error


def check_hugging_face(kind: str, name: str | Path) -> None:
    """Raise `NotFoundError` if ``name`` is clearly a path and nothing is there.

    Names on the hub, such as ``bert-base-uncased`` or ``OWNER/MODEL``, are not looked up.
    """
    text = str(name)
    is_path = text.startswith((".", "/", "~")) or text.count("/") > 1
    if is_path and not Path(text).exists():
        raise NotFoundError(f"the {kind} {text!r} cannot be loaded: no such folder")


def load_hugging_face(kind: str, name: str | Path, load: Callable[[str, dict[str, Any]], T]) -> T:
    """Load a Hugging Face model by its folder, its name on the hub, or ``minilm``.

    ``load`` gets the folder or name and the options to pass to ``from_pretrained``, which allow
    safetensors files only. Progress bars and reports of transformers are switched off. ``kind``
    names the model in the message of the `NotFoundError` that replaces any error of ``load``.
    """
    source = str(minilm_folder() if name == MINILM else name)
    if Path(source).is_dir():
        check_known_weights(Path(source), [path.name for path in Path(source).glob(f"*{SUFFIX}")])
    try:
        with _quiet():
            return load(source, SAFE)
    except Exception as error:  # the errors of the hub, transformers and safetensors
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise NotFoundError(f"the {kind} {str(name)!r} cannot be loaded: {reason}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Switch off the progress bars and warnings of transformers."""
    from transformers.utils import logging as verbosity

    level, bars = verbosity.get_verbosity(), verbosity.is_progress_bar_enabled()
    verbosity.set_verbosity(logging.ERROR)
    verbosity.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        verbosity.set_verbosity(level)
        if bars:
            verbosity.enable_progress_bar()  # type: ignore[no-untyped-call]

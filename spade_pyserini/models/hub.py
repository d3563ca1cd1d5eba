"""Find the folder of a model by its name, and load Hugging Face models."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from spade_pyserini.errors import NotFoundError
from spade_pyserini.formats.json_files import read_json_file
from spade_pyserini.formats.paths import trained_model
from spade_pyserini.models.config import FILE, MODEL_TYPE, MOST_BYTES
from spade_pyserini.models.digests import DIGESTS, check_known_weights
from spade_pyserini.models.minilm import MINILM, minilm_folder
from spade_pyserini.models.sizes import check_folder
from spade_pyserini.models.tokenizer_files import NAME as TOKENIZER
from spade_pyserini.models.tokenizer_files import check_tokenizer, is_panic
from spade_pyserini.models.wordpieces import PRETRAINED

T = TypeVar("T")
UNTRAINED = "untrained-minilm"
DEFAULT = "spade-mini"
SUFFIX = ".safetensors"
WEIGHTS = f"model{SUFFIX}"
INNER = "document_0_Transformer"  # the folder of the document encoder in a saved `SparseEncoder`
FILES = ["config.json", WEIGHTS, "tokenizer.json"]
# Files to download: settings, weights and vocabularies, but never code or pickled weights.
DOWNLOADED = [*FILES, DIGESTS, "*.json", f"*{SUFFIX}", "vocab.txt", "*/vocab.txt"]
SAFE: dict[str, Any] = {"use_safetensors": True}  # other formats are pickled and can run code


def resolve_model(name: str | Path) -> Path:
    """Return the folder of a shipped model, the folder ``name`` itself, or a downloaded folder.

    For the output of a training run, returns its subfolder ``best``. For a SpaDE model that was
    saved as a `SparseEncoder`, returns the subfolder ``document_0_Transformer``.
    """
    shipped = _shipped()
    if str(name) in shipped:
        return shipped[str(name)]
    if Path(name).is_dir():
        return _inner_model(trained_model(Path(name)))
    names = " or ".join([*sorted(shipped), UNTRAINED])
    message = f"there is no model {str(name)!r}: it is not {names}, not a folder"
    if str(name).count("/") != 1:
        raise NotFoundError(f"{message}, and not a name OWNER/MODEL of the Hugging Face hub")
    try:
        folder = download(str(name))
    except Exception as error:  # errors of the hub, such as offline, no repository, bad name
        raise NotFoundError(f"{message}, and {_reason(error)}") from error
    return _inner_model(folder)


def local_folder(name: str | Path) -> str:
    """Return the absolute path of a model that is in a local folder.

    Returns an empty string for shipped models and for models of the Hugging Face hub.
    """
    if str(name) in _shipped() or not Path(name).is_dir():
        return ""
    return str(trained_model(Path(name)).resolve())


def _shipped() -> dict[str, Path]:
    """Return the folders of the shipped models by name."""
    return {folder.name: folder for folder in PRETRAINED.iterdir() if folder.is_dir()}


def _reason(error: Exception) -> str:
    """Say why a download failed. The library of the hub has a class for each reason."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if "RepositoryNotFoundError" in kinds:
        return "the Hugging Face hub has no public model of this name"
    if kinds & {"LocalEntryNotFoundError", "OfflineModeIsEnabled", "ConnectionError"}:
        return "the Hugging Face hub cannot be reached"
    first = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return f"it cannot be downloaded from the Hugging Face hub ({first})"


def download(name: str, **options: Any) -> Path:
    """Download a model from the hub, without code and pickled weights; return the folder."""
    from huggingface_hub import snapshot_download

    return Path(snapshot_download(name, allow_patterns=DOWNLOADED, **options))


def _inner_model(folder: Path) -> Path:
    inner = folder / INNER
    if (folder / "modules.json").is_file() and (inner / FILE).is_file():
        values = read_json_file(inner / FILE, MOST_BYTES)
        return inner if values.get("model_type") == MODEL_TYPE else folder
    return folder


def check_hugging_face(kind: str, name: str | Path) -> None:
    """Raise `NotFoundError` if ``name`` looks like a path, but nothing exists at this path.

    Names on the hub, such as ``bert-base-uncased`` or ``OWNER/MODEL``, are not looked up.
    """
    text = str(name)
    is_path = text.startswith((".", "/", "~")) or text.count("/") > 1
    if is_path and not Path(text).exists():
        raise NotFoundError(f"the {kind} {text!r} cannot be loaded: no such folder")


def load_hugging_face(kind: str, name: str | Path, load: Callable[[str, dict[str, Any]], T]) -> T:
    """Load a Hugging Face model by its folder, its name on the hub, or ``minilm``.

    ``load`` gets the folder or name, and the options to pass to ``from_pretrained``. These options
    allow safetensors files only. Progress bars and reports of transformers are switched off.
    An error of ``load`` is reported as a `NotFoundError`. ``kind`` names the model in the message.
    """
    source = str(minilm_folder() if name == MINILM else name)
    if Path(source).is_dir():
        check_folder(Path(source), SUFFIX)
        check_known_weights(Path(source), [path.name for path in Path(source).glob(f"*{SUFFIX}")])
        if name != MINILM:
            _check_tokenizers(Path(source))
    try:
        with _quiet():
            return load(source, SAFE)
    except BaseException as error:  # errors of the hub or of a library, or a panic of Rust
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise NotFoundError(f"the {kind} {str(name)!r} cannot be loaded: {reason}") from error


def _check_tokenizers(folder: Path) -> None:
    """Check the tokenizers of a model, which may be in subfolders."""
    for path in (folder / TOKENIZER, *folder.glob(f"*/{TOKENIZER}")):
        if path.is_file():
            check_tokenizer(path)


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

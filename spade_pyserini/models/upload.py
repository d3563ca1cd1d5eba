"""Upload models to the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from spade_pyserini.errors import SpadeError, UsageError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.models.card import README
from spade_pyserini.models.digests import DIGESTS
from spade_pyserini.models.dual_encoder import DualEncoder
from spade_pyserini.models.hub import FILES
from spade_pyserini.models.persistence import save_model

UPLOADED = [*FILES, DIGESTS, README]
THIS_FOLDER = "THIS-FOLDER"  # the name of the model in the examples of a card


def push_model(
    model: DualEncoder,
    name: str,
    *,
    private: bool | None = None,
    token: str | None = None,
    message: str = "Upload a SpaDE model",
    half: bool = False,
) -> str:
    """Upload a model with its card; return the address (URL) of the commit.

    ``name`` is the name of the repository, in the form OWNER/MODEL. The repository is created if it
    does not exist. Without ``token``, the token of ``hf auth login`` or of the variable
    ``HF_TOKEN`` is used. ``half`` stores the weights in 16 bits.
    """
    from huggingface_hub import HfApi

    if name.count("/") != 1 or not all(name.split("/")):
        raise UsageError(f"the name {name!r} must have the form OWNER/MODEL")
    with TemporaryDirectory() as temporary:
        folder = Path(temporary, name.partition("/")[2])
        save_model(model, folder, half=half)
        _name_in_card(folder / README, name)
        try:
            api = HfApi(token=token)
            api.create_repo(name, private=private, exist_ok=True)
            commit = api.upload_folder(
                repo_id=name, folder_path=folder, allow_patterns=UPLOADED, commit_message=message
            )
        except Exception as error:  # the hub's own errors, no network, no permission
            reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
            cure = "check the name, and log in with `hf auth login`, or give token=TOKEN"
            raise SpadeError(f"{name} cannot be uploaded: {reason}; {cure}") from error
    return str(commit.commit_url)


def _name_in_card(path: Path, name: str) -> None:
    """Write the name of the model into the examples of its card."""
    text = path.read_text(encoding="utf-8").replace(THIS_FOLDER, name)
    with atomic_write(path) as stream:
        stream.write(text.encode())

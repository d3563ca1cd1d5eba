"""Dense bi-encoders by folder, by Hugging Face name, or ``minilm``: teachers and rivals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_pyserini.errors import NotFoundError
from spade_pyserini.models.backbone import quiet
from spade_pyserini.models.minilm import MINILM, minilm_folder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


def load_bi_encoder(name: str, device: str | None = None) -> SentenceTransformer:
    """A sentence-transformers model, safetensors only; on a GPU if there is one, unless said."""
    from sentence_transformers import SentenceTransformer  # costs seconds

    source = str(minilm_folder()) if name == MINILM else name
    try:
        with quiet():
            options = {"use_safetensors": True}
            return SentenceTransformer(source, device=device, model_kwargs=options)
    except Exception as error:  # the hub's errors, transformers' and safetensors' own
        reason = str(error).strip().splitlines()[0]
        raise NotFoundError(f"the dense model {name!r} cannot be loaded: {reason}") from error

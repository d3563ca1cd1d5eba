"""Dense bi-encoders: teachers in training, and baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spade_pyserini.models.hub import load_hugging_face

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


def load_bi_encoder(name: str, device: str | None = None) -> SentenceTransformer:
    """Load a sentence-transformers model by folder, Hugging Face name, or ``minilm``.

    Without a ``device``, it is loaded to a GPU if there is one.
    """
    from sentence_transformers import SentenceTransformer  # takes seconds to import

    def load(source: str, options: dict[str, Any]) -> SentenceTransformer:
        return SentenceTransformer(source, device=device, model_kwargs=options)

    return load_hugging_face("dense model", name, load)

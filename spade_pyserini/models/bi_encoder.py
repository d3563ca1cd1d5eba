"""Dense bi-encoders, which serve as teachers in training and as baselines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spade_pyserini.models.hub import load_hugging_face
from spade_pyserini.models.onnx import OnnxBiEncoder, find_onnx

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sentence_transformers import SentenceTransformer

    Embed = Callable[[Sequence[str]], NDArray[np.float32]]


class BiEncoder(NamedTuple):
    """Embeds queries and documents as vectors of unit length. ``digest`` identifies the model."""

    embed_queries: Embed
    embed_documents: Embed
    digest: str


def load_bi_encoder(name: str, device: str | None = None) -> SentenceTransformer:
    """Load a sentence-transformers model by folder, Hugging Face name, or ``minilm``.

    Without a ``device``, the model is loaded to a GPU if there is one.
    """
    from sentence_transformers import SentenceTransformer  # takes seconds to import

    def load(source: str, options: dict[str, Any]) -> SentenceTransformer:
        model = SentenceTransformer(source, device=device, model_kwargs=options)
        # If the model cannot encode, this fails now. Texts of two lengths test the padding, too.
        model.encode(["a", "a text of several words"], show_progress_bar=False)
        return model

    return load_hugging_face("dense model", name, load)


def open_bi_encoder(
    name: str, max_length: int = 512, pooling: str = "mean", query_prefix: str = ""
) -> BiEncoder:
    """Load a bi-encoder by folder or name: an ONNX model, or a sentence-transformers model.

    ``query_prefix`` is put before every query. Without it, a sentence-transformers model uses its
    own query prompt. ``pooling`` is for ONNX models, see `OnnxBiEncoder`; other models define their
    own pooling.
    """
    if files := find_onnx(name):
        onnx = OnnxBiEncoder(files, max_length, pooling)

        def embed_prefixed(texts: Sequence[str]) -> NDArray[np.float32]:
            return onnx.embed([query_prefix + text for text in texts])

        return BiEncoder(embed_prefixed, onnx.embed, files.digest)
    from spade_pyserini.models.fingerprint import weights_fingerprint

    model = load_bi_encoder(name)
    model.max_seq_length = min(max_length, model.max_seq_length or max_length)
    options: dict[str, Any] = {"normalize_embeddings": True, "show_progress_bar": False}
    prompt = query_prefix or None

    def embed_queries(texts: Sequence[str]) -> NDArray[np.float32]:
        return np.asarray(model.encode_query(list(texts), prompt=prompt, **options))

    def embed_documents(texts: Sequence[str]) -> NDArray[np.float32]:
        return np.asarray(model.encode_document(list(texts), **options))

    return BiEncoder(embed_queries, embed_documents, weights_fingerprint(model))

"""Cross-encoders (re-rankers), which score a query and a document together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from spade_pyserini.errors import UsageError
from spade_pyserini.models.hub import load_hugging_face
from spade_pyserini.models.onnx import OnnxCrossEncoder, find_onnx

Score = Callable[[list[tuple[str, str]]], Sequence[float]]


def load_cross_encoder(name: str, max_length: int | None = None, batch_size: int = 32) -> Score:
    """Load a cross-encoder by folder or Hugging Face name. The folder may hold an ONNX model.

    Returns a function that scores pairs of a query and a text. The scores are the raw outputs of
    the model: after a sigmoid, many of the best pairs would have the same score of 1.
    """
    if files := find_onnx(name):
        return OnnxCrossEncoder(files, max_length or 512)
    from sentence_transformers import CrossEncoder  # takes seconds to import
    from torch.nn import Identity

    def load(source: str, options: dict[str, Any]) -> Any:
        return CrossEncoder(source, max_length=max_length, model_kwargs=options)

    model = load_hugging_face("cross-encoder", name, load)
    config = model.config
    if config.architectures and type(model.model).__name__ not in config.architectures:
        # transformers has added an output layer with random weights.
        raise UsageError(
            f"{name!r} is not a cross-encoder but a {config.architectures[0]}; its scores would be "
            "random"
        )
    if model.num_labels != 1:
        raise UsageError(
            f"the cross-encoder {name!r} returns {model.num_labels} values per pair; a re-ranker "
            "returns one"
        )
    positions = getattr(config, "max_position_embeddings", None)
    if max_length and positions and max_length > positions:
        raise UsageError(
            f"max_length is {max_length}, but the model reads at most {positions} tokens"
        )

    def score(pairs: list[tuple[str, str]]) -> Sequence[float]:
        scores: Sequence[float] = model.predict(
            pairs, batch_size=batch_size, show_progress_bar=False, activation_fn=Identity()
        ).tolist()
        return scores

    return score

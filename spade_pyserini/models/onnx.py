"""Transformers in ONNX format, on the CPU: cross-encoders and bi-encoders of other projects.

A folder holds ``model.onnx`` (or ``onnx/model.onnx``) and ``tokenizer.json``. Such files contain
operators and tensors, but no code.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spade_pyserini.errors import InputError, UsageError
from spade_pyserini.formats.digests import sha256
from spade_pyserini.models.tokenizer_files import check_tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILES = ("model.onnx", "onnx/model.onnx")
BATCH = 32  # number of texts in a batch
Input = str | tuple[str, str]


class OnnxFiles(NamedTuple):
    """The two files of an ONNX model."""

    model: Path
    tokenizer: Path

    @property
    def digest(self) -> str:
        """The SHA-256 of the checksums of both files."""
        return hashlib.sha256(f"{sha256(self.model)} {sha256(self.tokenizer)}".encode()).hexdigest()


def find_onnx(folder: str | Path) -> OnnxFiles | None:
    """Return the files of an ONNX model in ``folder``, or None if it holds none.

    Returns None, too, if the folder has model.safetensors: these weights are loaded without ONNX.
    """
    path = Path(folder)
    model = next((path / name for name in FILES if (path / name).is_file()), None)
    if model is None or (path / "model.safetensors").is_file():
        return None
    tokenizer = path / "tokenizer.json"
    if not tokenizer.is_file():
        raise InputError("the folder of an ONNX model needs a tokenizer.json", path)
    return OnnxFiles(model, tokenizer)


class OnnxTransformer:
    """Runs a model on texts or on pairs of texts. A batch has inputs of similar length."""

    def __init__(self, files: OnnxFiles, max_length: int = 512) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        check_tokenizer(files.tokenizer)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = len(os.sched_getaffinity(0))
        try:
            self._tokenizer: Any = Tokenizer.from_file(str(files.tokenizer))
            self._session: Any = onnxruntime.InferenceSession(
                str(files.model), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime and tokenizers have no common class of errors
            reason = str(error).splitlines()[0]
            message = f"the ONNX model cannot be loaded: {reason}"
            raise InputError(message, files.model.parent) from None
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_length)
        self._inputs = {value.name for value in self._session.get_inputs()}

    def run(self, texts: Sequence[Input]) -> Iterator[tuple[list[int], Any, NDArray[np.int64]]]:
        """Yield three values for each batch: positions, the first output of the model, the mask.

        The positions are the indexes of the batch's texts in ``texts``. The mask [batch, length] is
        0 for padding.
        """
        encodings = self._tokenizer.encode_batch(list(texts))
        order = sorted(range(len(texts)), key=lambda position: len(encodings[position].ids))
        for start in range(0, len(order), BATCH):
            positions = order[start : start + BATCH]
            inputs = _pad([encodings[position] for position in positions])
            given = {name: inputs[name] for name in self._inputs}
            yield positions, self._session.run(None, given)[0], inputs["attention_mask"]


class OnnxBiEncoder:
    """Embeds queries and documents in the same way, as vectors of unit length.

    pooling: ``mean`` of all tokens, or ``first`` for the vector of the first token.
    """

    def __init__(self, files: OnnxFiles, max_length: int = 512, pooling: str = "mean") -> None:
        if pooling not in ("mean", "first"):
            raise UsageError(f"pooling must be mean or first, not {pooling!r}")
        self._transformer, self._pooling = OnnxTransformer(files, max_length), pooling

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the embeddings, [texts, dimensions]."""
        rows: list[Any] = [None] * len(texts)
        for positions, hidden, mask in self._transformer.run(texts):
            if self._pooling == "first":
                vectors = hidden[:, 0]
            else:
                vectors = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
            vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
            for position, vector in zip(positions, vectors, strict=True):
                rows[position] = vector
        return np.asarray(rows, np.float32)


class OnnxCrossEncoder:
    """Scores pairs of a query and a document."""

    def __init__(self, files: OnnxFiles, max_length: int = 512) -> None:
        self._transformer, self._folder = OnnxTransformer(files, max_length), files.model.parent

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return the score of each pair: the output of the model, without a sigmoid."""
        scores = [0.0] * len(pairs)
        for positions, output, _ in self._transformer.run(pairs):
            if output.shape != (len(positions), 1):
                message = f"the output for a pair has the shape {list(output.shape[1:])}"
                raise UsageError(f"{self._folder}: {message}; a re-ranker needs the shape [1]")
            for position, score in zip(positions, output[:, 0].tolist(), strict=True):
                scores[position] = score
        return scores


def _pad(encodings: list[Any]) -> dict[str, NDArray[np.int64]]:
    """Return the inputs of the model for a batch: padded arrays [batch, length] by input name."""
    shape = len(encodings), max(len(encoding.ids) for encoding in encodings)
    sources = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
    inputs = {name: np.zeros(shape, np.int64) for name in sources}
    for name, source in sources.items():
        for row, encoding in enumerate(encodings):
            values = getattr(encoding, source)
            inputs[name][row, : len(values)] = values
    return inputs

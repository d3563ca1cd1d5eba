"""The teachers of the stage ``teach``, with a cache of their scores."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from spade_pyserini.errors import UsageError
from spade_pyserini.formats.digests import sha256
from spade_pyserini.models.bi_encoder import BiEncoder, open_bi_encoder
from spade_pyserini.models.cross_encoder import load_cross_encoder
from spade_pyserini.models.onnx import find_onnx
from spade_pyserini.progress import progress_bar
from spade_pyserini.records import Topic
from spade_pyserini.train.beyond.score_cache import ScoreCache
from spade_pyserini.train.extension_settings import Teacher

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spade_pyserini.models.bi_encoder import Embed

TEXTS = 2000  # texts whose embeddings are written to the cache at once
QUERIES = 512  # queries that are compared with all documents at once


class Scorer(Protocol):
    """A teacher: scores pairs of a query and a document."""

    digest: str

    def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Return the score of each pair, [pairs]."""


def open_scorer(teacher: Teacher, cache: ScoreCache) -> Scorer:
    """Load a teacher; ``cache`` stores its scores or embeddings."""
    if not teacher.model:
        raise UsageError("recipe: a table [[teaching.teachers]] needs a model")
    if teacher.kind == "bi-encoder":
        return open_embedder(teacher, cache)
    return CrossEncoderScorer(teacher, cache)


def open_embedder(teacher: Teacher, cache: ScoreCache) -> BiEncoderScorer:
    """Load a bi-encoder; ``cache`` stores its embeddings."""
    options = teacher.max_length, teacher.pooling, teacher.query_prefix
    key = ["bi-encoder", *options]
    return BiEncoderScorer(open_bi_encoder(teacher.model, *options), key, cache)


class CrossEncoderScorer:
    """Scores pairs with a cross-encoder; the scores are cached."""

    def __init__(self, teacher: Teacher, cache: ScoreCache) -> None:
        self._score = load_cross_encoder(teacher.model, teacher.max_length)
        self.digest = _model_digest(teacher.model)
        self._key = ["cross-encoder", self.digest, teacher.max_length]
        self._cache = cache

    def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Return the score of each pair, [pairs]."""
        key = [*self._key, _digest(*(text for pair in pairs for text in pair))]
        return self._cache.get(key, lambda: self._compute(pairs))

    def _compute(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        return np.asarray(self._score(list(pairs)), np.float32)


class BiEncoderScorer:
    """Cosines of a bi-encoder, with a cache of embeddings."""

    def __init__(self, model: BiEncoder, key: list[object], cache: ScoreCache) -> None:
        self._model, self._cache, self.digest = model, cache, model.digest
        self._key = [*key, model.digest]
        self._embeddings: dict[str, NDArray[np.float32]] = {}

    def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Return the cosine of each pair, [pairs]."""
        self._embed(list(dict.fromkeys(document for _, document in pairs)))
        queries = list(dict.fromkeys(query for query, _ in pairs))
        rows = dict(zip(queries, self._model.embed_queries(queries), strict=True))
        cosines = [rows[query] @ self._embeddings[document] for query, document in pairs]
        return np.asarray(cosines, np.float32)

    def search(self, topics: list[Topic], texts: dict[str, str], hits: int) -> dict[str, list[str]]:
        """Return the docids of the nearest documents of each topic, the nearest first."""
        self._embed(list(texts.values()))
        matrix = np.stack([self._embeddings[text] for text in texts.values()])
        docids, found = list(texts), {}
        for start in range(0, len(topics), QUERIES):
            batch = topics[start : start + QUERIES]
            cosines = self._model.embed_queries([topic.text for topic in batch]) @ matrix.T
            best = np.argsort(-cosines, axis=1, kind="stable")[:, :hits]
            for topic, row in zip(batch, best, strict=True):
                found[topic.qid] = [docids[position] for position in row]
        return found

    def embed_queries(self, texts: list[str]) -> NDArray[np.float32]:
        """Return the embeddings of queries, [texts, m]."""
        key = [*self._key, "queries"]
        return np.concatenate(list(self._blocks(texts, key, self._model.embed_queries)))

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        """Return the embeddings of documents, [texts, m]."""
        self._embed(texts)
        return np.stack([self._embeddings[text] for text in texts])

    def _embed(self, texts: list[str]) -> None:
        """Embed the documents that have no embedding yet."""
        new = [text for text in dict.fromkeys(texts) if text not in self._embeddings]
        blocks = self._blocks(new, self._key, self._model.embed_documents)
        for start, rows in zip(range(0, len(new), TEXTS), blocks, strict=True):
            self._embeddings |= dict(zip(new[start : start + TEXTS], rows, strict=True))

    def _blocks(
        self, texts: list[str], key: list[object], embed: Embed
    ) -> Iterator[NDArray[np.float32]]:
        """Yield the embeddings of each block of texts. They are read from the cache or computed."""
        starts = range(0, len(texts), TEXTS)
        for start in progress_bar(starts, "embedding", "blocks", len(starts)):
            block = texts[start : start + TEXTS]
            yield self._cache.get([*key, _digest(*block)], partial(embed, block))


def _model_digest(model: str) -> str:
    """Return a digest of the weights in a folder, or of the name of a model on the hub."""
    if files := find_onnx(model):
        return files.digest
    weights = Path(model) / "model.safetensors"
    return sha256(weights) if weights.is_file() else _digest(model)


def _digest(*texts: str) -> str:
    """Return a digest of a sequence of texts."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(f"{len(text)} ".encode() + text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()

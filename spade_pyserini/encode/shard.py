"""One shard, from documents to a finished file, in three steps that can overlap with other shards'.

prepare     documents to WordPieces               the tokenizer's own threads
encode      WordPieces to sparse vectors          the model, on whatever device
finish      vectors to a file in its place        packing, and waiting for the disk
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from spade_pyserini.errors import SpadeError
from spade_pyserini.formats.components import ComponentVector, write_components
from spade_pyserini.formats.vectors import Shard, VectorSettings, shard_name, write_shard
from spade_pyserini.models import SpadeEncoder
from spade_pyserini.models.quantize import calibrate, largest_impact, quantize
from spade_pyserini.models.tensors import SparseVector, sparse
from spade_pyserini.records import Document, ImpactVector

T = TypeVar("T")
BATCH_TOKENS = 2048


class Prepared(NamedTuple):
    """The documents of a shard as WordPieces; ``digest`` is that of the documents."""

    number: int
    docids: list[str]
    ids: list[list[int]]
    digest: str


class Encoded(NamedTuple):
    """Their impacts, and where components are kept, both encoders' weights. In their order."""

    prepared: Prepared
    impacts: list[SparseVector]
    weighting: list[SparseVector]
    expansion: list[SparseVector]
    clipped: int


class ShardEncoder:
    """A model with the settings of a run; ``components`` keeps the two encoders' vectors too."""

    def __init__(
        self, model: SpadeEncoder, settings: VectorSettings, components: bool = False
    ) -> None:
        self.model, self.settings, self.components = model, settings, components

    def prepare(self, number: int, documents: list[Document], digest: str) -> Prepared:
        texts = [document.contents for document in documents]
        ids = self.model.wordpieces.document_ids(texts, self.settings.max_length)
        return Prepared(number, [document.docid for document in documents], ids, digest)

    def encode(self, prepared: Prepared, progress: Callable[[int, int], None]) -> Encoded:
        """``progress`` is told the documents and terms of each batch."""
        try:
            with self.model.fixed():
                return self._encode(prepared, progress)
        except RuntimeError as error:
            if not _is_of_memory(error):
                raise
            message = "the device has no memory left for a batch of"
            cure = "begin anew with a smaller --batch-tokens and --overwrite"
            size = f"{self.settings.batch_tokens} WordPieces"
            raise SpadeError(f"{message} {size}; {cure}") from None

    def _encode(self, prepared: Prepared, progress: Callable[[int, int], None]) -> Encoded:
        settings, model = self.settings, self.model
        impacts, weighting, expansion = ([NOTHING] * len(prepared.ids) for _ in range(3))
        cut_off = 0
        for batch, places in batches(prepared.ids, settings.batch_tokens):
            if self.components:
                own, added = model.components(batch)
                weights = model.aggregate(own, added)
                _put(weighting, places, sparse(own))
                _put(expansion, places, sparse(added))
            else:
                weights = model.weigh(batch)
            cut_off += clipped(weights, settings.scale, settings.bits)
            found = sparse(quantize(weights, settings.scale, settings.bits))
            _put(impacts, places, found)
            progress(len(batch), sum(len(vector.terms) for vector in found))
        return Encoded(prepared, impacts, weighting, expansion, cut_off)

    def finish(self, folder: Path, encoded: Encoded) -> tuple[Shard, str | None]:
        """Write a shard; returns it and the checksum of its components, which are written first."""
        number, docids, _, digest = encoded.prepared
        named = self.model.named
        checksum = None
        if self.components:
            parts = (map(named, vectors) for vectors in (encoded.weighting, encoded.expansion))
            checksum = write_components(folder, number, map(ComponentVector, docids, *parts))
        vectors = list(map(ImpactVector, docids, map(named, encoded.impacts)))
        return finish_shard(folder, number, vectors, encoded.clipped, digest), checksum


def _is_of_memory(error: RuntimeError) -> bool:
    """GPUs have a class for it, the CPU's allocator only says so."""
    return isinstance(error, torch.OutOfMemoryError) or "allocate memory" in str(error)


NOTHING = SparseVector(Tensor(), Tensor())


def _put(vectors: list[T], places: list[int], found: list[T]) -> None:
    for place, vector in zip(places, found, strict=True):
        vectors[place] = vector


def finish_shard(
    folder: Path, number: int, vectors: list[ImpactVector], cut_off: int, digest: str
) -> Shard:
    """Write a shard and tell what is in it."""
    return Shard(
        file=shard_name(number),
        documents=len(vectors),
        empty=[vector.docid for vector in vectors if not vector.impacts],
        terms=sum(len(vector.impacts) for vector in vectors),
        impacts=sum(sum(vector.impacts.values()) for vector in vectors),
        clipped=cut_off,
        sha256=write_shard(folder, number, vectors),
        input_sha256=digest,
    )


def clipped(weights: Tensor, scale: float, bits: int) -> int:
    """How many weights are too large for the largest impact."""
    return int((weights * scale > largest_impact(bits) + 0.5).sum())


def batches(ids: list[list[int]], batch_tokens: int) -> Iterator[tuple[list[list[int]], list[int]]]:
    """Batches of similar length, at most ``batch_tokens`` with padding, and their places."""
    order = sorted(range(len(ids)), key=lambda place: (len(ids[place]), place))
    places: list[int] = []
    for place in order:
        if places and (len(places) + 1) * len(ids[place]) > batch_tokens:
            yield [ids[one] for one in places], places
            places = []
        places.append(place)
    if places:
        yield [ids[one] for one in places], places


def calibrated_scale(model: SpadeEncoder, texts: list[str]) -> float:
    """A scale for quantization: the largest weight of these texts gets the largest impact."""
    ids = model.wordpieces.document_ids(texts, model.config.max_length)
    with model.fixed():
        weights = [model.weigh(batch).max().item() for batch, _ in batches(ids, BATCH_TOKENS)]
    return calibrate(max(weights, default=0.0), model.config.bits)


def input_digest(documents: list[Document]) -> str:
    digest = hashlib.sha256()
    for document in documents:
        for part in document:
            digest.update(part.encode() + b"\0")
    return digest.hexdigest()

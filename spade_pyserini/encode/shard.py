"""Documents to vectors to one finished shard."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Never, TypeVar

from torch import Tensor
from tqdm import tqdm

from spade_pyserini.components import ComponentVector, record, write_components
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.quantize import calibrate, largest_impact
from spade_pyserini.records import Document, ImpactVector
from spade_pyserini.vectors import Shard, VectorSettings, shard_name, write_shard

T = TypeVar("T")
Weights = list[dict[str, float]]
BATCH_TOKENS = 2048


class ShardEncoder:
    """A model with the settings of a run; ``components`` keeps the two encoders' vectors too."""

    def __init__(
        self, model: SpadeModel, settings: VectorSettings, components: bool = False
    ) -> None:
        self.model, self.settings, self.components = model, settings, components

    def write(
        self, folder: Path, number: int, documents: list[Document], digest: str, bar: tqdm[Never]
    ) -> Shard:
        impacts, parts, cut_off = self._encode([document.contents for document in documents], bar)
        docids = [document.docid for document in documents]
        vectors = list(map(ImpactVector, docids, impacts))
        if not self.components:
            return finish_shard(folder, number, vectors, cut_off, digest)
        checksum = write_components(folder, number, map(ComponentVector, docids, *parts))
        shard = finish_shard(folder, number, vectors, cut_off, digest)
        record(folder, shard, checksum)
        return shard

    def _encode(
        self, texts: list[str], bar: tqdm[Never]
    ) -> tuple[list[dict[str, int]], tuple[Weights, Weights], int]:
        """Impacts, weights of the weighting and of the expansion encoder, impacts cut off."""
        settings, model = self.settings, self.model
        ids = model.wordpieces.document_ids(texts, settings.max_length)
        impacts: list[dict[str, int]] = [{} for _ in texts]
        own: Weights = [{} for _ in texts]
        added: Weights = [{} for _ in texts]
        cut_off = 0
        for batch, places in batches(ids, settings.batch_tokens):
            weighting, expansion = model.components(batch)
            weights = model.aggregate(weighting, expansion)
            cut_off += clipped(weights, settings.scale, settings.bits)
            _put(impacts, places, model.impacts(weights, settings.scale))
            if self.components:
                _put(own, places, model.by_term(weighting))
                _put(added, places, model.by_term(expansion))
            bar.update(len(batch))
        return impacts, (own, added), cut_off


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


def calibrated_scale(model: SpadeModel, texts: list[str]) -> float:
    """A scale for quantization: the largest weight of these texts gets the largest impact."""
    ids = model.wordpieces.document_ids(texts, model.config.max_length)
    weights = [model.weigh(batch).max().item() for batch, _ in batches(ids, BATCH_TOKENS)]
    return calibrate(max(weights, default=0.0), model.config.bits)


def input_digest(documents: list[Document]) -> str:
    digest = hashlib.sha256()
    for document in documents:
        for part in document:
            digest.update(part.encode() + b"\0")
    return digest.hexdigest()

"""Documents to vectors to one finished shard."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Never

from tqdm import tqdm

from spade_pyserini.models import SpadeModel
from spade_pyserini.models.quantize import calibrate, largest_impact
from spade_pyserini.records import Document, ImpactVector
from spade_pyserini.vectors import Shard, VectorSettings, shard_name, write_shard

BATCH_TOKENS = 2048


class ShardEncoder:
    """A model with the settings of a run."""

    def __init__(self, model: SpadeModel, settings: VectorSettings) -> None:
        self.model, self.settings = model, settings

    def write(
        self, folder: Path, number: int, documents: list[Document], digest: str, bar: tqdm[Never]
    ) -> Shard:
        impacts, clipped = self._encode([document.contents for document in documents], bar)
        vectors = [
            ImpactVector(document.docid, impact)
            for document, impact in zip(documents, impacts, strict=True)
        ]
        return Shard(
            file=shard_name(number),
            documents=len(vectors),
            empty=[vector.docid for vector in vectors if not vector.impacts],
            terms=sum(len(vector.impacts) for vector in vectors),
            impacts=sum(sum(vector.impacts.values()) for vector in vectors),
            clipped=clipped,
            sha256=write_shard(folder, number, vectors),
            input_sha256=digest,
        )

    def _encode(self, texts: list[str], bar: tqdm[Never]) -> tuple[list[dict[str, int]], int]:
        settings = self.settings
        ids = self.model.wordpieces.document_ids(texts, settings.max_length)
        impacts: list[dict[str, int]] = [{} for _ in texts]
        clipped = 0
        for batch, places in batches(ids, settings.batch_tokens):
            weights = self.model.weigh(batch)
            clipped += int((weights * settings.scale > largest_impact(settings.bits) + 0.5).sum())
            vectors = self.model.impacts(weights, settings.scale)
            for place, vector in zip(places, vectors, strict=True):
                impacts[place] = vector
            bar.update(len(batch))
        return impacts, clipped


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

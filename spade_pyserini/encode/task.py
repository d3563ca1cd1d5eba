"""Encode the documents of a shard. A worker does this in three steps.

- ``prepare`` splits the documents into WordPieces, in the tokenizer's own threads.
- ``compute`` computes sparse vectors from the WordPieces, with the model on its device.
- ``write`` writes the vectors to a compressed file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from torch import Tensor

from spade_pyserini.encode.batches import batches
from spade_pyserini.errors import SpadeError, is_out_of_memory
from spade_pyserini.formats.components import ComponentVector, write_components
from spade_pyserini.formats.vector_manifest import Lengths, Shard, VectorSettings, shard_name
from spade_pyserini.formats.vectors import write_shard
from spade_pyserini.models.protocols import DocumentEncoder
from spade_pyserini.models.quantize import largest_impact, quantize
from spade_pyserini.models.tensors import SparseVector, named, sparse
from spade_pyserini.records import Document, ImpactVector
from spade_pyserini.sharding.protocols import Advance, Written

T = TypeVar("T")
EMPTY = SparseVector(Tensor(), Tensor())


class Prepared(NamedTuple):
    """The documents of a shard as WordPiece ids."""

    number: int
    docids: list[str]
    ids: list[list[int]]
    input_sha256: str
    lengths: Lengths


class Encoded(NamedTuple):
    """The vectors of a shard, in the order of its documents.

    columns: for each document, the terms that the columns of its vector stand for. For most
        systems, these are all terms of the vocabulary.
    weighting, expansion: the vectors of the two encoders; used only if components are written.
    clipped: number of weights above the largest impact.
    """

    prepared: Prepared
    columns: list[Sequence[str]]
    impacts: list[SparseVector]
    weighting: list[SparseVector]
    expansion: list[SparseVector]
    clipped: int


@dataclass(frozen=True)
class VectorTask:
    """Encodes shards; with ``components``, it also writes the vectors of both encoders."""

    encoder: DocumentEncoder
    settings: VectorSettings
    components: bool = False

    @property
    def device(self) -> str:
        """The torch device of the encoder."""
        return str(self.encoder.device)

    def on_device(self, device: str) -> VectorTask:
        """Return a copy of this task with its encoder on ``device``."""
        return replace(self, encoder=self.encoder.to(device))

    def check_device(self) -> None:
        """Raise `UsageError` if the device does not support the precision."""
        self.encoder.check_precision()

    def prepare(self, number: int, documents: list[Document], input_sha256: str) -> Prepared:
        """Split the documents of shard ``number`` into WordPieces."""
        texts = [document.contents for document in documents]
        cut = self.encoder.cut_documents(texts)
        lengths = Lengths(
            documents=len(documents),
            wordpieces=sum(document.length for document in cut),
            longer=sum(document.left_out > 0 for document in cut),
            left_out=sum(document.left_out for document in cut),
        )
        docids = [document.docid for document in documents]
        return Prepared(number, docids, [document.ids for document in cut], input_sha256, lengths)

    def compute(self, prepared: Prepared, advance: Advance) -> Encoded:
        """Encode documents in batches, and report the progress.

        After each batch, ``advance`` is called with the numbers of documents and terms in it.
        """
        try:
            with self.encoder.fixed():
                return self._encode(prepared, advance)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            tokens = self.settings.batch_tokens
            raise SpadeError(
                f"the device is out of memory with a batch of {tokens} WordPieces; start again "
                f"with a smaller batch_tokens={tokens // 2} and overwrite=True"
            ) from None

    def _encode(self, prepared: Prepared, advance: Advance) -> Encoded:
        settings, encoder = self.settings, self.encoder
        impacts, weighting, expansion = ([EMPTY] * len(prepared.ids) for _ in range(3))
        columns: list[Sequence[str]] = [()] * len(prepared.ids)
        total_clipped = 0
        for batch, indexes in batches(prepared.ids, settings.batch_tokens):
            if self.components:
                own, added = encoder.components(batch)
                weights = encoder.aggregate(own, added)
                _assign(weighting, indexes, sparse(own))
                _assign(expansion, indexes, sparse(added))
            else:
                weights = encoder.weigh(batch)
            total_clipped += clipped(weights, settings.scale, settings.bits)
            vectors = sparse(quantize(weights, settings.scale, settings.bits))
            _assign(impacts, indexes, vectors)
            _assign(columns, indexes, [encoder.columns(batch)] * len(batch))
            advance(len(batch), sum(len(vector.terms) for vector in vectors))
        return Encoded(prepared, columns, impacts, weighting, expansion, total_clipped)

    def write(self, folder: Path, computed: Encoded) -> Written:
        """Write the components if ``components`` is set, then the shard.

        Returns the record of the shard, and the checksum of the components (None without them).
        """
        number, docids, _, digest, lengths = computed.prepared
        columns = computed.columns
        checksum = None
        if self.components:
            both = (computed.weighting, computed.expansion)
            pairs = (map(named, columns, vectors) for vectors in both)
            checksum = write_components(folder, number, map(ComponentVector, docids, *pairs))
        vectors = list(map(ImpactVector, docids, map(named, columns, computed.impacts)))
        shard = write_vectors(folder, number, vectors, computed.clipped, digest)
        known = replace(
            shard,
            wordpieces=lengths.wordpieces,
            longer=lengths.longer,
            left_out=lengths.left_out,
        )
        return Written(known, checksum)


def _assign(vectors: list[T], indexes: Iterable[int], values: Iterable[T]) -> None:
    for index, value in zip(indexes, values, strict=True):
        vectors[index] = value


def write_vectors(
    folder: Path, number: int, vectors: list[ImpactVector], clipped: int, input_sha256: str
) -> Shard:
    """Write the vectors of a shard; return its record for the manifest."""
    return Shard(
        file=shard_name(number),
        documents=len(vectors),
        empty=[vector.docid for vector in vectors if not vector.impacts],
        terms=sum(len(vector.impacts) for vector in vectors),
        impacts=sum(sum(vector.impacts.values()) for vector in vectors),
        clipped=clipped,
        sha256=write_shard(folder, number, vectors),
        input_sha256=input_sha256,
    )


def clipped(weights: Tensor, scale: float, bits: int) -> int:
    """Return the number of weights that quantization reduces to the largest impact."""
    return int((weights * scale > largest_impact(bits) + 0.5).sum())

"""Documents that share terms beside each other: smaller gaps in the postings, better bounds.

Halves of halves: documents are parted in two by two-means (FAISS) on a random projection of their
vectors, and each half again, until a few are left. That is recursive bisection with the cosine in
place of the cost of the gaps; the vectors of the whole corpus are held in memory for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spade_pyserini.formats.vectors import write_shard
from spade_pyserini.records import ImpactVector

WIDTH = 64  # of the projection
SMALLEST = 32  # documents that are not parted any more
SHARD = 2000  # documents of a file
SAMPLE = 20_000  # documents that the two means are found on
Matrix = NDArray[np.float32]


def document_order(vectors: list[ImpactVector], seed: int = 0) -> list[int]:
    """The places of documents in their new order."""
    places = np.arange(len(vectors))
    return [int(place) for part in _parted(_projected(vectors, seed), places) for place in part]


def _projected(vectors: list[ImpactVector], seed: int) -> Matrix:
    """Directions of vectors in fewer dimensions: [documents, WIDTH]."""
    from scipy.sparse import csr_matrix

    numbers: dict[str, int] = {}
    columns = [numbers.setdefault(term, len(numbers)) for one in vectors for term in one.impacts]
    values = np.array([x for one in vectors for x in one.impacts.values()], dtype=np.float32)
    ends = np.cumsum([0, *(len(one.impacts) for one in vectors)])
    sparse = csr_matrix((values, columns, ends), shape=(len(vectors), max(1, len(numbers))))
    # A term that many documents have says little about which belong together.
    frequency = np.bincount(sparse.indices, minlength=sparse.shape[1])
    rarity = np.log1p(len(vectors) / np.maximum(frequency, 1)).astype(np.float32)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (sparse.shape[1], WIDTH))
    dense: Matrix = np.asarray(sparse @ (signs * rarity[:, None]), dtype=np.float32)
    dense /= np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), 1e-9)
    return dense


def _parted(points: Matrix, places: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    if len(places) <= SMALLEST:
        yield places
        return
    second = _nearer_to_the_second(points[places])
    if not 0.1 < second.mean() < 0.9:  # no two groups: anywhere is as good
        second = np.arange(len(places)) >= len(places) // 2
    yield from _parted(points, places[~second])
    yield from _parted(points, places[second])


def _nearer_to_the_second(points: Matrix) -> NDArray[np.bool_]:
    """Of two means that are found for these points."""
    import faiss

    few = {"min_points_per_centroid": 1, "max_points_per_centroid": SAMPLE}
    means = faiss.Kmeans(points.shape[1], 2, niter=10, nredo=3, seed=1, **few)
    means.train(np.ascontiguousarray(points))
    first, second = np.asarray(means.centroids)
    middle = (second @ second - first @ first) / 2
    nearer: NDArray[np.bool_] = points @ (second - first) > middle
    return nearer


def write_reordered(vectors: list[ImpactVector], folder: Path) -> list[Path]:
    """Write vectors in their new order; returns the files."""
    order = document_order(vectors)
    folder.mkdir(parents=True)
    files = []
    for number, start in enumerate(range(0, len(order), SHARD)):
        write_shard(folder, number, [vectors[place] for place in order[start : start + SHARD]])
        files.append(folder / f"docs{number:04d}.jsonl.gz")
    return files

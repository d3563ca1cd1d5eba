"""Reorder documents so that similar ones are neighbours in the index.

This makes the gaps between document numbers in the postings smaller, and the score bounds of blocks
tighter. The method is recursive bisection: the documents are split into two groups, and each group
is split again until it is small. The groups are the clusters that 2-means (FAISS) finds in a random
projection of the vectors. All vectors are kept in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spade_pyserini.formats.vector_manifest import shard_name
from spade_pyserini.formats.vectors import write_shard
from spade_pyserini.records import ImpactVector

WIDTH = 64  # dimensions of the projection
SMALLEST_GROUP = 32  # documents; a group of at most this size is not split
SHARD_SIZE = 2000  # documents per file
MOST_PER_CENTROID = 20_000  # documents that FAISS samples per centroid
Matrix = NDArray[np.float32]
Positions = NDArray[np.int64]


def document_order(vectors: list[ImpactVector], seed: int = 0) -> list[int]:
    """Return a permutation of ``range(len(vectors))``: the new order of the documents."""
    groups = _groups(_project(vectors, seed), np.arange(len(vectors)))
    return [int(position) for group in groups for position in group]


def _project(vectors: list[ImpactVector], seed: int) -> Matrix:
    """Project the vectors to ``WIDTH`` dimensions and normalize them: [documents, WIDTH]."""
    from scipy.sparse import csr_matrix

    columns_of_terms: dict[str, int] = {}
    columns = [
        columns_of_terms.setdefault(term, len(columns_of_terms))
        for vector in vectors
        for term in vector.impacts
    ]
    values = np.array(
        [impact for vector in vectors for impact in vector.impacts.values()], dtype=np.float32
    )
    row_ends = np.cumsum([0, *(len(vector.impacts) for vector in vectors)])
    shape = (len(vectors), max(1, len(columns_of_terms)))
    sparse = csr_matrix((values, columns, row_ends), shape=shape)
    # Inverse document frequency: a term in many documents says little about their similarity.
    frequency = np.bincount(sparse.indices, minlength=sparse.shape[1])
    idf = np.log1p(len(vectors) / np.maximum(frequency, 1)).astype(np.float32)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (sparse.shape[1], WIDTH))
    dense: Matrix = np.asarray(sparse @ (signs * idf[:, None]), dtype=np.float32)
    dense /= np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), 1e-9)
    return dense


def _groups(points: Matrix, positions: Positions) -> Iterator[Positions]:
    """Split ``positions`` recursively; yield the groups such that similar groups are neighbours."""
    if len(positions) <= SMALLEST_GROUP:
        yield positions
        return
    in_second = _in_second_cluster(points[positions])
    if not 0.1 < in_second.mean() < 0.9:  # one cluster is too small: split in the middle
        in_second = np.arange(len(positions)) >= len(positions) // 2
    yield from _groups(points, positions[~in_second])
    yield from _groups(points, positions[in_second])


def _in_second_cluster(points: Matrix) -> NDArray[np.bool_]:
    """Run 2-means; return a mask of the points nearer to the second centroid: [points]."""
    import faiss

    sampling = {"min_points_per_centroid": 1, "max_points_per_centroid": MOST_PER_CENTROID}
    means = faiss.Kmeans(points.shape[1], 2, niter=10, nredo=3, seed=1, **sampling)
    means.train(np.ascontiguousarray(points))
    first, second = np.asarray(means.centroids)
    # |x - second| < |x - first|, solved for the inner product with (second - first)
    threshold = (second @ second - first @ first) / 2
    nearer: NDArray[np.bool_] = points @ (second - first) > threshold
    return nearer


def write_reordered(vectors: list[ImpactVector], folder: Path) -> list[Path]:
    """Write the vectors in their new order to shards in ``folder``; return the files."""
    return write_shards((vectors[position] for position in document_order(vectors)), folder)


def write_shards(vectors: Iterable[ImpactVector], folder: Path) -> list[Path]:
    """Write vectors to shards in a new ``folder``, in the given order; return the files."""
    folder.mkdir(parents=True)
    remaining, files = iter(vectors), list[Path]()
    while part := list(islice(remaining, SHARD_SIZE)):
        write_shard(folder, len(files), part)
        files.append(folder / shard_name(len(files)))
    return files

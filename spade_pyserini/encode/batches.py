"""Batches of documents of similar length."""

from __future__ import annotations

from collections.abc import Iterator


def batches(ids: list[list[int]], batch_tokens: int) -> Iterator[tuple[list[list[int]], list[int]]]:
    """Split documents into batches, shortest documents first; yield (batch, indexes).

    ``ids`` has the WordPiece ids of each document. ``indexes`` are the positions in ``ids`` of the
    documents of the batch. A batch has a single document, or at most ``batch_tokens`` WordPieces
    including the padding.
    """
    order = sorted(range(len(ids)), key=lambda index: (len(ids[index]), index))
    indexes: list[int] = []
    for index in order:
        if indexes and (len(indexes) + 1) * len(ids[index]) > batch_tokens:
            yield [ids[member] for member in indexes], indexes
            indexes = []
        indexes.append(index)
    if indexes:
        yield [ids[member] for member in indexes], indexes

"""Batches of documents of similar length."""

from __future__ import annotations

from collections.abc import Iterator


def batches(ids: list[list[int]], batch_tokens: int) -> Iterator[tuple[list[list[int]], list[int]]]:
    """Split documents, given as WordPiece ids, into batches, shortest documents first.

    Yields each batch with the indexes of its documents in ``ids``. A batch has at most
    ``batch_tokens`` WordPieces, padding included, or a single document.
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

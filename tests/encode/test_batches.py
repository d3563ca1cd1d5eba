"""Batches of documents of similar length."""

from __future__ import annotations

from spade_pyserini import (
    open_corpus,
)
from spade_pyserini.encode.batches import batches
from spade_pyserini.encode.options import BATCH_TOKENS, SHARD_SIZE
from spade_pyserini.models.wordpieces import PRETRAINED, WordPieces


def test_batches_hold_every_document_once_within_the_budget() -> None:
    ids = [[0] * length for length in (5, 3, 9, 1, 30, 3, 3)]
    result = list(batches(ids, 12))
    assert sorted(index for _, indexes in result for index in indexes) == list(range(7))
    for batch, _ in result:
        assert len(batch) == 1 or len(batch) * max(map(len, batch)) <= 12


def test_less_than_five_percent_is_padding() -> None:
    """The documents have realistic lengths, and the shards have the default size."""
    texts = [document.contents for document in open_corpus("pydoc")]
    ids = WordPieces.load(PRETRAINED / "spade-mini").document_ids(texts, 256)
    for start in range(0, len(ids), SHARD_SIZE):
        shard = ids[start : start + SHARD_SIZE]
        padded = (len(batch) * max(map(len, batch)) for batch, _ in batches(shard, BATCH_TOKENS))
        assert sum(map(len, shard)) > 0.95 * sum(padded)

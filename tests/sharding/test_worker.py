"""A worker reads, computes and writes different shards at the same time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from spade_pyserini import (
    SpadeModel,
    encode_corpus,
    open_corpus,
)
from spade_pyserini.encode import EncodeOptions
from spade_pyserini.encode.files import VectorFiles
from spade_pyserini.encode.task import VectorTask
from spade_pyserini.models import SpadeEncoder
from spade_pyserini.sharding.resume import Output
from spade_pyserini.sharding.worker import Job, Worker
from tests.conftest import file_bytes


def test_the_next_shard_is_taken_when_most_of_the_last_is_computed(
    corpus_of_95: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    """If a worker took its next shard earlier, it could have two while another worker is idle."""
    corpus = open_corpus(str(corpus_of_95))
    manifest = encode_corpus(
        corpus, tiny_model, tmp_path / "x", EncodeOptions(shard_size=40, batch_tokens=64)
    )
    taken: list[int] = []
    seen: list[tuple[int, int]] = []
    encoded = 0

    def numbers() -> Iterator[int]:
        for number in itertools.count():
            taken.append(number)
            yield number

    def advance(documents: int, terms: int) -> None:
        nonlocal encoded
        encoded += documents
        seen.append((encoded, len(taken)))

    encoder = SpadeEncoder(tiny_model)
    output = Output(tmp_path / "y", VectorFiles(encoder.wordpieces, trained=False))
    job = Job(corpus, VectorTask(encoder, manifest.settings), output, 40, {})
    results = list(Worker(job, advance).run(numbers()))
    assert [result.shard and result.shard.number for result in results] == [0, 1, 2, None]
    assert {count for documents, count in seen if documents <= 36} == {1}
    assert (40, 2) in seen
    assert file_bytes(tmp_path / "x") == file_bytes(tmp_path / "y")

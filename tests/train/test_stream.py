"""The order of the samples."""

from __future__ import annotations

from spade_pyserini.train.stream import SampleStream


def test_the_stream_is_a_permutation_each_epoch_and_resumes() -> None:
    stream = SampleStream([7], seed=1)
    first, second = stream.take(7), stream.take(7)
    assert sorted(first) == sorted(second) == list(range(7))
    assert first != second
    again = SampleStream([7], seed=1)
    again.state = [9, 5]
    assert again.take(4) == (first + second)[5:9]


def test_several_collections_share_the_batches() -> None:
    stream = SampleStream([5, 50], seed=1, shares=[3.0, 1.0])
    taken = [stream.take(4) for _ in range(200)]
    first = [all(sample < 5 for sample in batch) for batch in taken]
    second = [all(5 <= sample < 55 for sample in batch) for batch in taken]
    assert all(one or two for one, two in zip(first, second, strict=True))
    assert 120 < sum(first) < 180

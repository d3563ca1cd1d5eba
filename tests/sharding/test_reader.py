"""The documents of a shard."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini import (
    open_corpus,
)
from spade_pyserini.sharding.reader import ShardReader, input_digest


def test_shards_can_be_read_in_any_order(corpus_of_95: Path) -> None:
    corpus = open_corpus(str(corpus_of_95))
    documents = list(corpus)
    reader = ShardReader(corpus, 10, 0)
    for number in (0, 3, 2, 9, 10, 0):
        assert reader.read(number) == documents[number * 10 : (number + 1) * 10]
    assert not reader.errors


def test_bad_documents_are_listed_from_the_start_of_the_corpus(corpus_of_95: Path) -> None:
    path = corpus_of_95 / "corpus.jsonl"
    path.write_text("not JSON\n" + path.read_text())
    reader = ShardReader(open_corpus(str(corpus_of_95)), 10, max_errors=1)
    for number in (5, 0):
        assert len(reader.read(number)) == 10
        assert [f"{path}:1: " in error for error in reader.errors] == [True]


def test_the_digest_depends_on_ids_texts_and_their_order(corpus_of_95: Path) -> None:
    first, second, *_ = open_corpus(str(corpus_of_95))
    digests = {
        input_digest(documents)
        for documents in (
            [first, second],
            [second, first],
            [first._replace(docid="x"), second],
            [first._replace(text=f"{first.text}."), second],
            [first._replace(title="", text=first.title + first.text), second],
        )
    }
    assert len(digests) == 5
    assert input_digest([first, second]) in digests

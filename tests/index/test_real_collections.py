"""Both builders on three real collections: equal postings and runs, also with Pyserini."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path

import pytest

from spade_pyserini import ImpactSearcher, Ranking, Topic, open_corpus, read_topics
from spade_pyserini.formats.vectors import read_shard
from spade_pyserini.index import IndexOptions, build_foreign_index
from spade_pyserini.index.postings import Postings
from spade_pyserini.models.wordpieces import PRETRAINED, WordPieces
from spade_pyserini.records import Hit
from tests.conftest import shared_data

FILES = 5  # more files than threads; each thread reads one file at a time
pytestmark = [pytest.mark.java, pytest.mark.slow]


def write_counts(source: Path, folder: Path) -> None:
    """Write documents as vectors: the impact of a WordPiece is ten times its count, at most 255."""
    words = WordPieces.load(PRETRAINED / "spade-mini")
    folder.mkdir()
    with ExitStack() as opened:
        files = [folder / f"docs{number}.jsonl" for number in range(FILES)]
        streams = cycle([opened.enter_context(file.open("w")) for file in files])
        for document, stream in zip(open_corpus(str(source)), streams, strict=False):
            (ids,) = words.document_ids([document.contents], 256)
            counts = Counter(
                words.terms[term_id] for term_id in ids if term_id not in words.special_ids
            )
            vector = {term: min(255, 10 * count) for term, count in counts.items()}
            stream.write(json.dumps({"id": document.docid, "vector": vector}) + "\n")


@pytest.mark.parametrize("name", ["scifact", "nfcorpus", "cacm"])
def test_the_same_index_and_the_same_runs(name: str, tmp_path: Path) -> None:
    source = shared_data(name)
    write_counts(source, tmp_path / "vectors")
    topics = read_topics(source / "queries.jsonl")
    assert len(topics) > 50
    wanted = {
        vector.docid: vector.impacts
        for file in sorted((tmp_path / "vectors").iterdir())
        for vector in read_shard(file)
        if vector.impacts
    }
    runs = []
    for builder in ("direct", "anserini"):
        index = tmp_path / builder
        build_foreign_index(
            tmp_path / "vectors",
            index,
            "spade-mini",
            IndexOptions(builder=builder, threads=2),
        )
        with Postings(index) as postings:
            assert dict(zip(wanted, postings.vectors(list(wanted)), strict=True)) == wanted
        with ImpactSearcher(index) as searcher:
            runs.append(searcher.batch_search(topics, 1000, 2))
    assert runs[0] == runs[1]
    assert runs[0] == by_pyserini(tmp_path / "direct", topics)


def by_pyserini(index: Path, topics: list[Topic]) -> list[Ranking]:
    from spade_pyserini.search.query_encoder import BooleanQueryEncoder

    encoder = BooleanQueryEncoder("spade-mini")
    from pyserini.search.lucene import LuceneImpactSearcher

    searcher = LuceneImpactSearcher(str(index), encoder, min_idf=-1)
    rankings = []
    for topic in topics:
        # Anserini lowers tied scores by a millionth per rank; inner products are integers.
        hits = [Hit(hit.docid, round(hit.score)) for hit in searcher.search(topic.text, 1000)]
        rankings.append(Ranking(topic.qid, hits))
    return rankings

"""A part of a corpus: the documents that runs have ranked high, or that were judged relevant.

For trials that cannot wait for a whole collection. What is found in a pool can be compared with
what other systems find in the same pool, and with nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from spade_pyserini.corpora.checks import Located, OnError
from spade_pyserini.corpora.corpus import Corpus
from spade_pyserini.formats.files import read_lines


def pooled(corpus: Corpus, sources: list[str], *, data_dir: str | Path | None = None) -> Corpus:
    """The documents that any of the sources names; the corpus is called ``NAME-pool`` then.

    A source is a TREC run (``RUN:20``: the first 20 of each topic), or judgements by name or file.
    """
    wanted = frozenset(docid for source in sources for docid in _named(source, data_dir))
    read = partial(_chosen, corpus.read, wanted)
    return replace(corpus, name=f"{corpus.name}-pool", read=read, count=partial(len, wanted))


def _named(source: str, data_dir: str | Path | None) -> Iterator[str]:
    from spade_pyserini.corpora.qrels import read_qrels
    from spade_pyserini.formats.runs import read_run

    path, _, depth = source.rpartition(":")
    if path and depth.isdecimal():
        for ranking in read_run(path):
            yield from (hit.docid for hit in ranking.hits[: int(depth)])
    elif Path(source).is_file() and _is_run(Path(source)):
        for ranking in read_run(source):
            yield from (hit.docid for hit in ranking.hits)
    else:
        for judged in read_qrels(source, data_dir=data_dir).values():
            yield from (docid for docid, grade in judged.items() if grade > 0)


def _is_run(path: Path) -> bool:
    first = next((line for _, line in read_lines(path)), "")
    return len(first.split()) == 6


def _chosen(
    read: Callable[[OnError], Iterator[Located]], wanted: frozenset[str], on_error: OnError
) -> Iterator[Located]:
    for located in read(on_error):
        if located.document.docid in wanted:
            yield located

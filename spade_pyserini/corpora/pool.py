"""A pool: the documents of a corpus that some runs rank high or that are judged relevant.

Use a pool for experiments if encoding the complete collection takes too long. Results on a pool can
be compared only with results of other systems on the same pool.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from spade_pyserini.corpora.checks import LocatedDocument, OnError, ReadDocuments
from spade_pyserini.corpora.corpus import Corpus
from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.formats.lines import read_lines
from spade_pyserini.formats.runs import read_run


def pooled(corpus: Corpus, sources: list[str], *, data_dir: str | Path | None = None) -> Corpus:
    """Return a corpus called ``NAME-pool`` with the documents that at least one source contains.

    A source is a TREC run (``RUN:20`` for the first 20 documents of each topic) or the name or file
    of qrels. Documents in qrels are used if their grade is above 0.
    """
    docids = frozenset(docid for source in sources for docid in _docids(source, data_dir))
    read = partial(_read_pool, corpus.read, docids)
    return replace(corpus, name=f"{corpus.name}-pool", read=read, count=partial(len, docids))


def _docids(source: str, data_dir: str | Path | None) -> Iterator[str]:
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
    first_line = next((line for _, line in read_lines(path)), "")
    return len(first_line.split()) == 6


def _read_pool(
    read: ReadDocuments, docids: frozenset[str], on_error: OnError
) -> Iterator[LocatedDocument]:
    for located in read(on_error):
        if located.document.docid in docids:
            yield located

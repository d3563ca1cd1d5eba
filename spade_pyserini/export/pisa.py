"""PISA: the engine that the paper measures its latency in, by way of pyterrier-pisa (an extra)."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spade_pyserini.errors import NotFoundError, UsageError
from spade_pyserini.export.vocabulary import known_vectors
from spade_pyserini.formats.files import lock, remove, sibling
from spade_pyserini.formats.index_manifest import impact_manifest, index_tokenizer, tokenizer_path
from spade_pyserini.index.build import check_ours
from spade_pyserini.index.postings import Postings
from spade_pyserini.lucene import jvm
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.records import Hit, Ranking, Topic

ALGORITHMS = ("maxscore", "block_max_wand", "block_max_maxscore", "wand")
PISA_FILE = re.compile(r"(fwd|inv|quantized)\.[\w.]+|pt_meta\.json")


def write_pisa(
    index: str | Path,
    output: str | Path,
    tokenizer: str | Path | None = None,
    *,
    overwrite: bool = False,
) -> int:
    """Make a PISA index of an impact index; returns the number of documents.

    ``tokenizer``: for an index that has none of its own.
    """
    source, folder = Path(index), Path(output)
    if folder.resolve() == source.resolve():
        raise UsageError(f"{folder} is the Lucene index itself; choose another --output")
    if folder.exists():
        check_ours(folder, PISA_FILE, overwrite)
    impact_manifest(source)
    pisa, wordpieces = pyterrier_pisa(), index_tokenizer(source, tokenizer)
    unfinished = sibling(folder, "building")
    with lock(folder):
        remove(unfinished)
        try:
            with Postings(source) as postings, silence():
                indexer = pisa.PisaIndex(str(unfinished), stemmer="none").toks_indexer(scale=1.0)
                found = known_vectors(postings, wordpieces)
                indexer.index({"docno": one, "toks": x} for one, x in found)
                documents = len(postings.documents())
            wordpieces.save(tokenizer_path(unfinished))
            with silence():  # PISA packs the postings and finds their bounds at the first search
                PisaSearcher(unfinished).search(" ".join(wordpieces.terms[-1:]))
            remove(folder)
            wordpieces.save(tokenizer_path(folder))
            unfinished.replace(folder)
        finally:
            remove(unfinished)
            remove(tokenizer_path(unfinished))
    return documents


class PisaSearcher:
    """Boolean WordPieces on a PISA index; the score is the exact inner product."""

    def __init__(self, index: str | Path, algorithm: str = "maxscore") -> None:
        self.algorithm = algorithm
        self.wordpieces = WordPieces.load(tokenizer_path(Path(index)))
        self._index = pyterrier_pisa().PisaIndex(str(index), stemmer="none")
        self._engines: dict[tuple[int, int], Any] = {}

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """The ``k`` best documents for ``query``."""
        return self.batch_search([Topic("query", query)], k)[0].hits

    def batch_search(self, topics: list[Topic], k: int = 1000, threads: int = 1) -> list[Ranking]:
        """Rankings in the order of the topics; ties in PISA's order."""
        import pandas

        if (k, threads) not in self._engines:
            self._engines[k, threads] = self._index.quantized(
                num_results=k, threads=threads, query_algorithm=self.algorithm, toks_scale=1.0
            )
        bags = {topic.qid: self.wordpieces.query_terms(topic.text) for topic in topics}
        asked = pandas.DataFrame(
            [
                {"qid": qid, "query": "", "query_toks": dict.fromkeys(terms, 1)}
                for qid, terms in bags.items()
                if terms
            ]
        )
        hits: dict[str, list[Hit]] = {topic.qid: [] for topic in topics}
        if len(asked):
            found = self._engines[k, threads](asked)
            rows = zip(found["qid"], found["docno"], found["score"], strict=True)
            for qid, docid, score in rows:
                hits[qid].append(Hit(docid, round(score)))
        return [Ranking(topic.qid, hits[topic.qid]) for topic in topics]


@contextmanager
def silence() -> Iterator[None]:
    """PISA's C++ tells every percent of its progress, past Python's streams."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        yield
    finally:
        for number, stream in enumerate(kept, start=1):
            os.dup2(stream, number)
            os.close(stream)
        os.close(nowhere)


def pyterrier_pisa() -> Any:
    jvm.start()  # before PyTerrier starts one in its own way
    try:
        import pyterrier_pisa as found
    except ModuleNotFoundError:
        message = "PISA needs pyterrier-pisa: pip install 'spade_pyserini[pisa]'"
        raise NotFoundError(message) from None
    return found

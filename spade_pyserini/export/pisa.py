"""Export to PISA through pyterrier-pisa. The SpaDE paper measures latency with PISA.

pyterrier-pisa is an optional dependency: ``pip install 'spade_pyserini[pisa]'``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from spade_pyserini.errors import NotFoundError
from spade_pyserini.export.folder import (
    QUERIES,
    TOKENIZER,
    ExportSource,
    FolderEngine,
    write_folder,
)
from spade_pyserini.export.silence import silence
from spade_pyserini.formats.index_manifest import tokenizer_path
from spade_pyserini.formats.query_side import load_side
from spade_pyserini.lucene import jvm
from spade_pyserini.models.queries import QueryEncoder, check_queries, open_queries
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.records import Hit, Ranking, Topic

ALGORITHMS = ("maxscore", "block_max_wand", "block_max_maxscore", "wand")
FILES = re.compile(r"(fwd|inv|quantized)\.[\w.]+|pt_meta\.json")


def write_pisa(
    index: str | Path,
    output: str | Path,
    tokenizer: str | Path | None = None,
    *,
    overwrite: bool = False,
) -> int:
    """Convert an impact index to a PISA index; return the number of documents.

    ``tokenizer`` is necessary only if the index was built without one.
    """
    engine = FolderEngine("PISA", FILES, _write, numbers=False)
    return write_folder(engine, index, output, tokenizer, overwrite=overwrite)


def _write(source: ExportSource, folder: Path) -> None:
    index = pyterrier_pisa().PisaIndex(str(folder), stemmer="none")
    vectors = ({"docno": docid, "toks": impacts} for docid, impacts in source.vectors())
    with silence():
        index.toks_indexer(scale=1.0).index(vectors)
        # Search once: PISA compresses the postings and computes score bounds at first use.
        PisaSearcher(folder).search(" ".join(source.wordpieces.terms[-1:]))


class PisaSearcher:
    """Searches a PISA index with the terms of a query; scores are exact inner products."""

    def __init__(
        self,
        index: str | Path,
        algorithm: str = "maxscore",
        queries: QueryEncoder | None = None,
    ) -> None:
        """Open ``index``; ``algorithm`` is one of `ALGORITHMS`.

        ``queries`` is the query encoder, if the queries of this index need a neural model.
        """
        self.algorithm = algorithm
        own = Path(index, TOKENIZER)
        # Earlier versions wrote the tokenizer next to the folder.
        self.wordpieces = WordPieces.load(own if own.exists() else tokenizer_path(Path(index)))
        side, weights = load_side(Path(index, QUERIES))
        if queries is None:
            queries = open_queries(side, self.wordpieces, weights, index)
        check_queries(side, queries, index)
        self.queries = queries
        self._index = pyterrier_pisa().PisaIndex(str(index), stemmer="none")
        self._engines: dict[tuple[int, int], Any] = {}

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """Return the ``k`` best documents for ``query``."""
        return self.batch_search([Topic("query", query)], k)[0].hits

    def batch_search(self, topics: list[Topic], k: int = 1000, threads: int = 1) -> list[Ranking]:
        """Return the rankings in the order of the topics; PISA decides the order of ties."""
        import pandas

        if (k, threads) not in self._engines:
            self._engines[k, threads] = self._index.quantized(
                num_results=k, threads=threads, query_algorithm=self.algorithm, toks_scale=1.0
            )
        vectors = self.queries.encode([topic.text for topic in topics])
        queries = pandas.DataFrame(
            [
                {"qid": topic.qid, "query": "", "query_toks": weights}
                for topic, weights in zip(topics, vectors, strict=True)
                if weights
            ]
        )
        hits: dict[str, list[Hit]] = {topic.qid: [] for topic in topics}
        if len(queries):
            results = self._engines[k, threads](queries)
            rows = zip(results["qid"], results["docno"], results["score"], strict=True)
            for qid, docid, score in rows:
                hits[qid].append(Hit(docid, round(score)))
        return [Ranking(topic.qid, hits[topic.qid]) for topic in topics]


def pyterrier_pisa() -> Any:
    """Import pyterrier_pisa; raise `NotFoundError` if it is not installed."""
    jvm.start()  # PyTerrier would start the JVM with other options
    try:
        import pyterrier_pisa as module
    except ModuleNotFoundError:
        message = "PISA needs pyterrier-pisa: pip install 'spade_pyserini[pisa]'"
        raise NotFoundError(message) from None
    return module

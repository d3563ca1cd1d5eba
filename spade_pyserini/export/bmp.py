"""Export to BMP (Block-Max Pruning), an engine that holds its index in memory.

The Python package bmp builds its index from a CIFF file. It is an optional dependency:
``pip install 'spade_pyserini[bmp]'``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from spade_pyserini.errors import ArtifactError, NotFoundError
from spade_pyserini.export.ciff import write_ciff
from spade_pyserini.export.folder import ExportSource, FolderEngine, folder_queries, write_folder
from spade_pyserini.export.silence import silence
from spade_pyserini.formats.paths import remove
from spade_pyserini.models.queries import QueryEncoder
from spade_pyserini.records import Hit

FILE = "index.bmp"
TERMS = "terms.txt"
# Documents per block in small and in large indexes. BMP stores a bound of the impacts for each term
# and block: one byte, unless bounds are compressed. A search never scores the documents in one of
# the blocks (see `BmpSearcher`), so a small index has small blocks.
SMALL_BLOCK, LARGE_BLOCK = 8, 32
LARGE = 100_000  # a large index has more documents than this
LARGEST_IMPACT = 255
LARGEST_WEIGHT = 32
# A search for k hits starts with a lower bound of the k-th score: the 10th, 100th or 1,000th
# largest impact of a query term for k up to 10, 100 or 1,000, and 0 for larger k. BMP loses
# documents whose score equals this bound. `search` therefore requests more hits than k, which makes
# the bound smaller. It requests the numbers in this list that are larger than k, one after the
# other, until BMP returns k hits. If k is larger than all of them, it requests k + 1 hits.
ASKED = (11, 101, 1001)
NO_TERM = "\n"  # a term that no index has


def write_bmp(
    index: str | Path,
    output: str | Path,
    tokenizer: str | Path | None = None,
    *,
    overwrite: bool = False,
) -> int:
    """Convert an impact index to an index of BMP; return the number of documents."""
    bmp()  # fails early if bmp is not installed
    files = re.compile(f"{re.escape(FILE)}|{re.escape(TERMS)}")
    engine = FolderEngine("BMP", files, _write, numbers=False)
    return write_folder(engine, index, output, tokenizer, overwrite=overwrite)


def _write(source: ExportSource, folder: Path) -> None:
    largest = max(source.postings.statistics(0).impacts, default=0)
    if largest > LARGEST_IMPACT:
        message = f"{source.lucene} has impacts up to {largest}, but BMP stores impacts up to"
        raise ArtifactError(
            f"{message} {LARGEST_IMPACT}; quantize to 8 bits, for example with "
            "model.with_settings(bits=8), and index again"
        )
    for _ in source.vectors():  # checks that the vocabulary has all terms
        pass
    ciff = folder / "index.ciff"
    write_ciff(source.lucene, ciff)
    large = len(source.postings.documents()) > LARGE
    with silence():
        bmp().ciff2bmp(
            ciff_file=str(ciff),
            output=str(folder / FILE),
            bsize=LARGE_BLOCK if large else SMALL_BLOCK,
            compress_range=large,
        )
    remove(ciff)
    terms = [postings.term for postings in source.postings.terms()]
    (folder / TERMS).write_text("".join(f"{term}\n" for term in terms), encoding="utf-8")


class BmpSearcher:
    """Searches a BMP export with the terms of a query.

    Scores are exact if they are below 65,536 and no query term has a weight above 32. BMP computes
    an upper bound of the scores in each block of documents. Version 0.2.8 never scores the block
    with the lowest bound. Therefore, hits may be missing if the index is small, or if ``k`` is
    nearly the number of matching documents. ``queries`` encodes the queries if the index needs a
    neural model for them.
    """

    def __init__(self, folder: str | Path, queries: QueryEncoder | None = None) -> None:
        self.queries = folder_queries(folder, queries)
        self._terms = frozenset(Path(folder, TERMS).read_text(encoding="utf-8").split("\n"))
        with silence():
            self._index = bmp().Searcher(str(Path(folder, FILE)))

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """Return the ``k`` best documents for ``query``; BMP decides the order of ties."""
        (encoded,) = self.queries.encode([query])
        weights = {term: float(weight) for term, weight in encoded.items() if term in self._terms}
        if not weights:
            return []
        scale = max(1.0, max(weights.values()) / LARGEST_WEIGHT)
        hits: list[Hit] = []
        for asked in [*(number for number in ASKED[:-1] if number > k), max(ASKED[-1], k + 1)]:
            hits = [Hit(docid, round(score * scale)) for docid, score in self._call(weights, asked)]
            if len(hits) >= k:
                break
        return hits[:k]

    def _call(self, weights: dict[str, float], k: int) -> list[tuple[str, float]]:
        """Return the ids and scores of ``k`` hits; none if BMP panics.

        BMP panics if no document can have a score above the bound with which the search starts.
        """
        # BMP scales the weights of a query such that the largest is 32. With a weight of 32 for a
        # term that no index has, weights up to 32 are not changed.
        query = {**weights, NO_TERM: float(LARGEST_WEIGHT)}
        try:
            with silence():
                docids, scores = self._index.search(query, k=k, alpha=1.0, beta=1.0)
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
            return []
        return list(zip(docids, scores, strict=True))


def bmp() -> Any:
    """Import bmp; raise `NotFoundError` if it is not installed."""
    try:
        import bmp as module
    except ModuleNotFoundError:
        raise NotFoundError("BMP needs package bmp: pip install 'spade_pyserini[bmp]'") from None
    return module

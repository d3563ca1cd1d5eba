"""What is in an impact index: vectors of documents, taken together again, and figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from spade_pyserini.errors import ArtifactError
from spade_pyserini.formats.index_manifest import told
from spade_pyserini.lucene import jvm
from spade_pyserini.records import ImpactVector

CURE = "check it with spade_pyserini.index --verify, or build it again"
BATCH = 1000  # documents that are taken together from Lucene


class TermFigures(NamedTuple):
    """A term, the documents that have it, and the sum of its impacts there."""

    term: str
    documents: int
    impacts: int


class IndexFigures(NamedTuple):
    """``lengths``: the number of terms of each document, ascending.

    ``impacts``: how many postings have each impact. ``frequent``: the most frequent terms.
    """

    terms: int
    postings: int
    lengths: list[int]
    impacts: dict[int, int]
    frequent: list[TermFigures]


class Postings:
    """Opens the index in ``folder``; close it after use."""

    def __init__(self, folder: str | Path) -> None:
        if not Path(folder).is_dir():  # Lucene would make one
            raise ArtifactError(f"{folder}: no such index; build it with spade_pyserini.index")
        self._folder, opened = Path(folder), jvm.our_class("ImpactPostings")
        with told(self._folder, "open"):
            self._postings = opened(str(folder))

    def _ask(self, name: str, *values: Any) -> Any:
        """Call our Java; what it throws, at damaged files for example, names the index."""
        with told(self._folder, "read", CURE):
            return getattr(self._postings, name)(*values)

    def vectors(self, docids: list[str]) -> list[dict[str, int] | None]:
        """The impacts of documents, None for one that is not there: one pass over all terms."""
        asked = jvm.java_class("java.util.ArrayList")()
        for docid in docids:
            asked.add(docid)
        found = self._ask("vectors", asked)
        return [None if lines is None else read_impacts(lines) for lines in found]

    def all_vectors(self, batch: int = BATCH) -> Iterator[ImpactVector]:
        """Every document's vector, in the order of the index, so many in one pass."""
        docids = self.documents()
        for start in range(0, len(docids), batch):
            part = docids[start : start + batch]
            found = self._ask("vectors", start, start + len(part))
            yield from map(ImpactVector, part, map(read_impacts, found))

    def documents(self) -> list[str]:
        """The ids of all documents, in the order of the index."""
        ids: str = self._ask("ids")
        return ids.split("\n")[:-1]

    def terms(self) -> Iterator[tuple[str, list[int], list[int]]]:
        """Every term in the order of its bytes: its documents, as places in `documents`, and its
        impacts there.
        """
        for term in self._ask("terms"):
            pairs = self._ask("postings", term)
            if pairs:  # not all of its documents were deleted
                yield term, pairs[::2], pairs[1::2]

    def figures(self, frequent: int = 20) -> IndexFigures:
        """Count everything: a pass over all postings."""
        terms = postings = 0
        lengths: list[int] = []
        impacts: dict[int, int] = {}
        most: list[TermFigures] = []
        for line in self._ask("statistics", frequent).split("\n"):
            kind, *values = line.split(" ")
            if kind == "terms":
                terms = int(values[0])
            elif kind == "postings":
                postings = int(values[0])
            elif kind == "length":
                lengths = list(map(int, values))
            elif kind == "impact":
                impacts[int(values[0])] = int(values[1])
            else:
                most.append(TermFigures(values[0], int(values[1]), int(values[2])))
        return IndexFigures(terms, postings, lengths, impacts, most)

    def close(self) -> None:
        """Close the index."""
        self._postings.close()

    def __enter__(self) -> Postings:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_impacts(lines: str) -> dict[str, int]:
    """What our Java tells of a document: a line for each term, with its impact."""
    parts = (line.partition(" ") for line in lines.split("\n")[:-1])
    return {term: int(impact) for term, _, impact in parts}

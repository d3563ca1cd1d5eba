"""Read an impact index: vectors of documents, postings of terms, and statistics."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from spade_pyserini.errors import ArtifactError
from spade_pyserini.formats.similar import did_you_mean
from spade_pyserini.lucene import jvm
from spade_pyserini.lucene.errors import translate_java_errors
from spade_pyserini.records import ImpactVector

CHECK = "check the index with `spade index --verify`, or build it again"
BATCH = 1000  # documents per Java call


class TermStatistics(NamedTuple):
    """A term, the number of documents that contain it, and the sum of its impacts in them."""

    term: str
    documents: int
    impacts: int


class IndexStatistics(NamedTuple):
    """Counts over an index, without deleted documents.

    ``terms`` and ``postings`` are totals. ``lengths`` has the number of terms of each document, in
    ascending order. ``impacts`` maps an impact to the number of postings that have it.
    ``frequent`` has the terms with the highest document frequencies, the highest first.
    """

    terms: int
    postings: int
    lengths: list[int]
    impacts: dict[int, int]
    frequent: list[TermStatistics]

    @property
    def sum_of_impacts(self) -> int:
        return sum(impact * postings for impact, postings in self.impacts.items())


class TermPostings(NamedTuple):
    """The postings of a term.

    ``documents`` are positions in the list that `Postings.documents` returns, in ascending order.
    ``impacts`` are the impacts of the term in these documents.
    """

    term: str
    documents: list[int]
    impacts: list[int]


class Postings:
    """A reader of the impact index in ``folder``; use it in a ``with`` statement, or close it."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        if not self._folder.is_dir():  # Lucene would create the folder
            hint = did_you_mean(folder, folders=True)
            raise ArtifactError(f"{folder}: no such index; {hint}build it with `spade index`")
        open_postings = jvm.spade_class("ImpactPostings")
        with translate_java_errors(self._folder, "open"):
            self._postings = open_postings(jvm.java_path(self._folder))

    def _call(self, name: str, *values: Any) -> Any:
        """Call a method of the Java reader and translate its exceptions."""
        with translate_java_errors(self._folder, "read", CHECK):
            return getattr(self._postings, name)(*values)

    def vectors(self, docids: list[str]) -> list[dict[str, int] | None]:
        """Return the impacts of each document, or None for an id that the index does not have.

        Each call reads all terms of the index, so one call for many documents is faster than many
        calls.
        """
        ids = jvm.java_class("java.util.ArrayList")()
        for docid in docids:
            ids.add(docid)
        vectors = self._call("vectors", ids)
        return [None if lines is None else parse_impacts(lines) for lines in vectors]

    def all_vectors(self, batch: int = BATCH) -> Iterator[ImpactVector]:
        """Yield the vectors of all documents in index order, ``batch`` of them per Java call."""
        docids = self.documents()
        for start in range(0, len(docids), batch):
            part = docids[start : start + batch]
            vectors = self._call("vectors", start, start + len(part))
            yield from map(ImpactVector, part, map(parse_impacts, vectors))

    def documents(self) -> list[str]:
        """Return the ids of all documents, in index order."""
        ids: str = self._call("ids")
        return ids.split("\n")[:-1]

    def terms(self) -> Iterator[TermPostings]:
        """Yield the postings of every term, in the byte order of the terms."""
        for term in self._call("terms"):
            pairs = self._call("postings", term)
            if pairs:  # empty if all documents of the term were deleted
                yield TermPostings(term, pairs[::2], pairs[1::2])

    def statistics(self, frequent: int = 20) -> IndexStatistics:
        """Read all postings and count them; return the ``frequent`` most frequent terms, too."""
        terms = postings = 0
        lengths: list[int] = []
        impacts: dict[int, int] = {}
        most_frequent: list[TermStatistics] = []
        for line in self._call("statistics", frequent).split("\n"):
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
                most_frequent.append(TermStatistics(values[0], int(values[1]), int(values[2])))
        return IndexStatistics(terms, postings, lengths, impacts, most_frequent)

    def close(self) -> None:
        """Close the index."""
        self._postings.close()

    def __enter__(self) -> Postings:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def parse_impacts(lines: str) -> dict[str, int]:
    """Parse a document as Java returns it: each line has a term, a space and an impact."""
    parts = (line.partition(" ") for line in lines.split("\n")[:-1])
    return {term: int(impact) for term, _, impact in parts}

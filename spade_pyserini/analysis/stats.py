"""Statistics of an impact index."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

from spade_pyserini.formats.paths import folder_bytes
from spade_pyserini.formats.tables import text_table
from spade_pyserini.index.describe import describe_impact_index
from spade_pyserini.index.postings import Postings

PERCENTILES = (1, 25, 50, 75, 99)
BAR = 40  # characters of the longest bar of the histogram
BINS = 16  # number of bins in the histogram


def index_stats(index: str | Path, frequent: int = 20) -> dict[str, Any]:
    """Return the numbers of documents, terms and postings, document lengths, impacts and sizes.

    ``frequent`` is the number of most frequent terms to include.
    """
    folder = Path(index)
    describe_impact_index(folder)
    with Postings(folder) as postings:
        figures = postings.statistics(frequent)
    size = folder_bytes(folder)
    lengths = figures.lengths
    return {
        "documents": len(lengths),
        "terms": figures.terms,
        "postings": figures.postings,
        "bytes": size,
        "bytes_per_posting": round(size / figures.postings, 2) if figures.postings else None,
        "terms_per_document": round(fmean(lengths), 1) if lengths else 0.0,
        "percentiles": {str(p): _percentile(lengths, p) for p in PERCENTILES} if lengths else {},
        "impacts": {str(impact): number for impact, number in figures.impacts.items()},
        "frequent": [term._asdict() for term in figures.frequent],
    }


def _percentile(ascending: list[int], percent: int) -> int:
    return ascending[min(len(ascending) - 1, len(ascending) * percent // 100)]


def show(stats: dict[str, Any]) -> str:
    """Return the statistics as text for a terminal."""
    percentiles = "  ".join(f"{p} %: {length}" for p, length in stats["percentiles"].items())
    lines = [
        f"documents           {stats['documents']:,}",
        f"terms               {stats['terms']:,}",
        f"postings            {stats['postings']:,}",
        f"size                {stats['bytes'] / 1e6:,.2f} MB, "
        f"{stats['bytes_per_posting']} bytes per posting",
        f"terms per document  {stats['terms_per_document']}  ({percentiles})",
        "",
        "impacts",
        *_histogram({int(impact): number for impact, number in stats["impacts"].items()}),
        "",
    ]
    rows = [
        [
            term["term"],
            f"{term['documents']:,}",
            f"{term['documents'] / stats['documents']:.1%}",
            f"{term['impacts'] / term['documents']:.1f}",
        ]
        for term in stats["frequent"]
    ]
    table = text_table(["most frequent", "documents", "share", "mean impact"], rows)
    return "\n".join([*lines, table])


def _histogram(impacts: dict[int, int]) -> list[str]:
    if not impacts:
        return []
    width = -(-max(impacts) // BINS)
    bins = [0] * BINS
    for impact, number in impacts.items():
        bins[(impact - 1) // width] += number
    largest = max(bins)
    return [
        f"{index * width + 1:>6} - {(index + 1) * width:<6} {number:>12,} "
        + "#" * -(-number * BAR // largest)
        for index, number in enumerate(bins)
        if any(bins[index:])
    ]

"""What is in an impact index, in figures."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

from spade_pyserini.formats.files import folder_bytes
from spade_pyserini.formats.tables import text_table
from spade_pyserini.index.describe import describe_impact_index
from spade_pyserini.index.postings import Postings

PERCENTILES = (1, 25, 50, 75, 99)
BAR = 40  # characters of the longest bar of the histogram
BINS = 16  # of the histogram


def index_stats(index: str | Path, frequent: int = 20) -> dict[str, Any]:
    """Documents, terms, postings, lengths, impacts and sizes of an impact index."""
    folder = Path(index)
    describe_impact_index(folder)
    with Postings(folder) as postings:
        found = postings.statistics(frequent)
    size = folder_bytes(folder)
    lengths = found.lengths
    return {
        "documents": len(lengths),
        "terms": found.terms,
        "postings": found.postings,
        "bytes": size,
        "bytes_per_posting": round(size / found.postings, 2) if found.postings else None,
        "terms_per_document": round(fmean(lengths), 1) if lengths else 0.0,
        "percentiles": {str(p): _percentile(lengths, p) for p in PERCENTILES} if lengths else {},
        "impacts": {str(impact): number for impact, number in found.impacts.items()},
        "frequent": [term._asdict() for term in found.frequent],
    }


def _percentile(ascending: list[int], percent: int) -> int:
    return ascending[min(len(ascending) - 1, len(ascending) * percent // 100)]


def show(stats: dict[str, Any]) -> str:
    """For a person."""
    shares = "  ".join(f"{p} %: {length}" for p, length in stats["percentiles"].items())
    lines = [
        f"documents           {stats['documents']:,}",
        f"terms               {stats['terms']:,}",
        f"postings            {stats['postings']:,}",
        f"size                {stats['bytes'] / 1e6:,.1f} MB, "
        f"{stats['bytes_per_posting']} bytes a posting",
        f"terms per document  {stats['terms_per_document']}  ({shares})",
        "",
        "impacts",
        *_histogram({int(impact): number for impact, number in stats["impacts"].items()}),
        "",
    ]
    rows = [
        [
            one["term"],
            f"{one['documents']:,}",
            f"{one['documents'] / stats['documents']:.1%}",
            f"{one['impacts'] / one['documents']:.1f}",
        ]
        for one in stats["frequent"]
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
    most = max(bins)
    return [
        f"{place * width + 1:>6} - {(place + 1) * width:<6} {number:>12,} "
        + "#" * -(-number * BAR // most)
        for place, number in enumerate(bins)
        if any(bins[place:])
    ]

"""Statistics of an impact index, and the terms in it that may be noise.

A term in the vectors of many documents hardly helps to distinguish them. If the texts of most of
these documents do not contain the term, the model has added it, and it is noise. The index does not
show which terms the texts contain. The counts file of the vectors does, see
`spade_pyserini.encode.counts_file`.
"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

from spade_pyserini.formats.digests import sha256
from spade_pyserini.formats.index_manifest import IndexManifest
from spade_pyserini.formats.paths import folder_bytes, sibling
from spade_pyserini.formats.tables import text_table
from spade_pyserini.formats.vector_manifest import manifest_path
from spade_pyserini.index.opening import locate, open_postings
from spade_pyserini.index.postings import IndexStatistics

PERCENTILES = (1, 25, 50, 75, 99)
BAR = 40  # characters of the longest bar of the histogram
BINS = 16  # number of bins in the histogram
MANY = 0.3  # a term in more than this share of the document vectors may be noise
FEW = 0.2  # a term is noise if (share of texts with the term) < FEW * (share of vectors with it)
EXAMINED = 10_000  # number of most frequent terms to examine; includes all terms above `MANY`
SHOWN = 20  # maximum number of terms that `noise_remark` names


def index_stats(
    index: str | Path, frequent: int = 20, counts: str | Path | None = None
) -> dict[str, Any]:
    """Return statistics: numbers of documents, terms and postings; lengths; impacts; sizes.

    ``frequent`` is the number of most frequent terms to include. ``counts`` is the counts file of
    the vectors, which shows which terms are noise. By default, ``encode/X.counts.json`` is used for
    an index in ``index/X``, if the index was built from the vectors in ``encode/X``.
    """
    folder = Path(index)
    with open_postings(folder) as postings:
        manifest = locate(folder, foreign=True).manifest
        figures = postings.statistics(max(frequent, EXAMINED))
    path = Path(counts) if counts else find_counts(folder, manifest)
    contained = None if path is None else _contained_shares(path)
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
        "frequent": [term._asdict() for term in figures.frequent[:frequent]],
        "widespread": _widespread(figures, contained),
        "counts": None if path is None else str(path),
    }


def find_counts(folder: Path, manifest: IndexManifest) -> Path | None:
    """Return ``encode/X.counts.json`` if ``index/X`` was built from ``encode/X``, else None."""
    vectors = folder.absolute().parent.parent / "encode" / folder.absolute().name
    path = sibling(vectors, "counts.json")
    if not (path.is_file() and manifest_path(vectors).is_file()):
        return None
    return path if sha256(manifest_path(vectors)) == manifest.source_sha256 else None


def _contained_shares(path: Path) -> dict[str, float]:
    """Return, for each term in a counts file, the share of documents whose text contains it."""
    from spade_pyserini.encode.counts_file import read_document_shares

    return read_document_shares(path)


def _widespread(
    figures: IndexStatistics, contained: dict[str, float] | None
) -> list[dict[str, Any]]:
    """Return the terms that may be noise: terms in more than the share `MANY` of the documents.

    ``contained`` has, for each term, the share of documents whose text contains it. With it, only
    terms that few texts contain are returned, see `FEW`.
    """
    total = max(1, len(figures.lengths))
    terms = []
    for term in figures.frequent:
        share = term.documents / total
        own = None if contained is None else contained.get(term.term, 0.0)
        if share > MANY and (own is None or own < FEW * share):
            known = own if own is None else round(own, 4)
            terms.append({"term": term.term, "share": round(share, 4), "contained": known})
    return terms


def noise_remark(stats: dict[str, Any]) -> str | None:
    """Return a message that names the terms that the model added to many documents, or None.

    Without a counts file, the message names the terms that the model may have added.
    """
    terms = stats["widespread"]
    if not terms:
        return None
    named = ", ".join(map(_with_shares, terms[:SHOWN])) + (", ..." if len(terms) > SHOWN else "")
    number = "1 term is" if len(terms) == 1 else f"{len(terms)} terms are"
    reason = (
        " (it is not known how many texts contain each term)"
        if stats["counts"] is None
        else ", but in few of the texts"
    )
    return f"{number} in more than {MANY:.0%} of the document vectors{reason}: {named}"


def _with_shares(term: dict[str, Any]) -> str:
    own = term["contained"]
    known = "" if own is None else f", contained in {own:.1%}"
    return f"{term['term']} ({term['share']:.0%}{known})"


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

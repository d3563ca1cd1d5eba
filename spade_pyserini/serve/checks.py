"""Check the parameters of requests against the limits, and refuse invalid requests."""

from __future__ import annotations

from collections.abc import Sequence

from spade_pyserini.formats.unicode import is_valid_unicode
from spade_pyserini.serve.limits import Limits, RefusedError
from spade_pyserini.serve.query import ENGINES, SearchRequest


def checked_search(
    limits: Limits, query: str, k: int, without: Sequence[str], engine: str, brief: bool
) -> SearchRequest:
    """Check the parameters of ``/search`` and return them as a `SearchRequest`."""
    if len(without) > limits.removed:
        raise RefusedError(400, f"without: more than {limits.removed} terms")
    if engine not in ("all", *ENGINES):
        raise RefusedError(400, f"engine: {engine[:20]!r} is not one of all, spade, bm25")
    return SearchRequest(
        checked_text("q", query, limits.query),
        checked_hits(k, limits.brief_hits if brief else limits.hits),
        frozenset(checked_text("without", term, limits.docid) for term in without),
        ENGINES if engine == "all" else (engine,),
        brief,
    )


def checked_hits(k: int, most: int) -> int:
    """Return ``k``, the number of hits, if it is between 1 and ``most``."""
    if not 1 <= k <= most:
        raise RefusedError(400, f"k: {k} is not between 1 and {most:,}")
    return k


def checked_text(name: str, text: str, most: int) -> str:
    """Return the text if it is valid Unicode and has at most ``most`` characters."""
    if len(text) > most:
        raise RefusedError(400, f"{name}: {len(text):,} characters; the limit is {most:,}")
    if not is_valid_unicode(text):
        raise RefusedError(400, f"{name}: the text is not valid Unicode; correct its encoding")
    return text

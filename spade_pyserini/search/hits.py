"""Lists of hits that notebooks show as tables."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import shorten
from typing import Any, Protocol, TypeVar

from spade_pyserini.formats.notebook import BLUE, html_bar, html_table


class AnyHit(Protocol):
    """A hit of any kind: `Hit`, or a record with more fields."""

    @property
    def docid(self) -> str: ...

    @property
    def score(self) -> float: ...


H = TypeVar("H", bound=AnyHit)
LONGEST = 160  # largest number of characters of a text in a table


class HitList(list[H]):
    """A list of hits, best first, that notebooks show as a table."""

    def _repr_html_(self) -> str:
        if not self:
            return "<p>no hits</p>"
        names = [name for name in ("matched", "text") if hasattr(self[0], name)]
        largest = max(hit.score for hit in self)
        rows = [
            [
                rank,
                hit.docid,
                html_bar(f"{hit.score:.6g}", {BLUE: hit.score}, largest),
                *(_shown(getattr(hit, name)) for name in names),
            ]
            for rank, hit in enumerate(self, start=1)
        ]
        return html_table(["rank", "docid", "score", *names], rows)


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{term} {weight:.4g}" for term, weight in value.items())
    return shorten(str(value), LONGEST, placeholder=" …")

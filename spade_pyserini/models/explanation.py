"""The terms of a document's vector with the origin of their impacts, for people to read."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spade_pyserini.formats.notebook import BLUE, ORANGE, Html, html_bar, html_table
from spade_pyserini.models.aggregation import mix

TINY = 1e-12  # avoids a division by 0
LEGEND = "blue: weighting encoder, orange: expansion encoder"


class TermWeight(NamedTuple):
    """A term of a document's vector.

    in_document: True if the term is in the part of the document's text that the model reads.
    weighting, expansion: the parts of the impact that come from the two encoders. Their sum,
        rounded and limited to the largest impact, is the impact.
    form_of: the words of the text that an added term is an inflected form of; its weighting part is
        a share of their weight.
    """

    term: str
    in_document: bool
    weighting: float
    expansion: float
    impact: int
    form_of: tuple[str, ...] = ()


class TermWeights(list[TermWeight]):
    """The terms of a document's vector: a list that notebooks show as a table."""

    def _repr_html_(self) -> str:
        largest = max((term.impact for term in self), default=1)
        rows = [
            [term.term, "yes" if term.in_document else "no", _bar(term, largest)] for term in self
        ]
        return html_table(["term", "in the text", "impact"], rows, LEGEND)


class Expansion(NamedTuple):
    """The terms of a text's vector, grouped by the effect of expansion, the largest impact first.

    added: terms that are not in the text, including words with the same stem as its words.
    raised: terms of the text with a larger impact than the weighting encoder alone gives.
    rest: terms of the text that the expansion encoder did not select.
    """

    added: list[TermWeight]
    raised: list[TermWeight]
    rest: list[TermWeight]

    @classmethod
    def of(cls, terms: list[TermWeight]) -> Expansion:
        """Sort the terms of a vector into the three lists."""
        own = [term for term in terms if term.in_document]
        return cls(
            [term for term in terms if not term.in_document],
            [term for term in own if term.expansion > 0],
            [term for term in own if term.expansion <= 0],
        )

    def __str__(self) -> str:
        added = " ".join(f"{term.term} {term.impact}" for term in self.added)
        raised = " ".join(
            f"{term.term} {term.impact} (+{term.expansion:.0f})" for term in self.raised
        )
        rest = " ".join(f"{term.term} {term.impact}" for term in self.rest)
        rows = {"added": added, "raised": raised, "unchanged": rest}
        return "\n".join(f"{name:10} {row or '-'}" for name, row in rows.items())

    def _repr_html_(self) -> str:
        """Return an HTML table for notebooks: a row for each term, in the order of the lists."""
        groups = (("added", self.added), ("raised", self.raised), ("unchanged", self.rest))
        largest = max((term.impact for _, terms in groups for term in terms), default=1)
        rows = [
            ["" if number else name, term.term, _bar(term, largest)]
            for name, terms in groups
            for number, term in enumerate(terms)
        ]
        return html_table(["by expansion", "term", "impact"], rows, LEGEND)


def _bar(term: TermWeight, largest: int) -> Html:
    """Draw the impact as a bar of two parts, one for each encoder. The parts sum to the impact."""
    scale = term.impact / max(term.weighting + term.expansion, TINY)
    parts = {BLUE: scale * term.weighting, ORANGE: scale * term.expansion}
    return html_bar(term.impact, parts, largest)


def split_impacts(weighting: Tensor, expansion: Tensor, weights: Tensor, alpha: float) -> Tensor:
    """Split the aggregated weights of a document into the parts of its two encoders.

    All tensors are [1, |V|]. Returns [2, |V|]: the weighting part and the expansion part. A
    saturated weight is split in proportion to the parts of the unsaturated sum.
    """
    saturation = weights / mix(weighting, expansion, alpha).clamp(min=TINY)
    return torch.cat([(1 - alpha) * weighting, alpha * expansion]) * saturation

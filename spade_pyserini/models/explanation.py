"""What a person sees of a document's vector: its terms, and where their impacts come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from spade_pyserini.models.quantize import calibrate
from spade_pyserini.models.tensors import mix

if TYPE_CHECKING:
    from spade_pyserini.models.spade import SpadeModel

TINY = 1e-12  # instead of a division by 0


class TermWeight(NamedTuple):
    """A term of a document's vector, and what each encoder gave to its impact.

    Both parts are in units of impact; their sum, rounded and cut off, is the impact.
    """

    term: str
    in_document: bool
    weighting: float
    expansion: float
    impact: int


class Expansion(NamedTuple):
    """What the expansion encoder did to a text, largest impact first; printed for people.

    added: terms that the text does not have, other forms of its words among them. raised: terms of
    its own that count for more. rest: terms of its own that the weighting encoder alone gives.
    """

    added: list[TermWeight]
    raised: list[TermWeight]
    rest: list[TermWeight]

    @classmethod
    def of(cls, terms: list[TermWeight]) -> Expansion:
        own = [one for one in terms if one.in_document]
        return cls(
            [one for one in terms if not one.in_document],
            [one for one in own if one.expansion > 0],
            [one for one in own if one.expansion <= 0],
        )

    def __str__(self) -> str:
        added = " ".join(f"{one.term} {one.impact}" for one in self.added)
        raised = " ".join(f"{one.term} {one.impact} (+{one.expansion:.0f})" for one in self.raised)
        rest = " ".join(f"{one.term} {one.impact}" for one in self.rest)
        rows = {"added": added, "raised": raised, "as it was": rest}
        return "\n".join(f"{name:10} {row or '-'}" for name, row in rows.items())


@torch.inference_mode()
def term_weights(model: SpadeModel, text: str) -> list[TermWeight]:
    """See `SpadeModel.explain`."""
    (ids,) = model.wordpieces.document_ids([text], model.config.max_length)
    weighting, expansion = model.components([ids])
    weights = model.aggregate(weighting, expansion)
    scale = model.config.scale or calibrate(weights.max().item(), model.config.bits)
    alpha = model.config.alpha
    # Of a saturated weight, each encoder gave the share that it has of the sum.
    saturated = weights / mix(weighting, expansion, alpha).clamp(min=TINY)
    own, added = model.by_term(torch.cat([weighting, expansion]) * saturated)
    present = {model.wordpieces.terms[one] for one in ids}
    found = [
        TermWeight(
            term,
            term in present,
            (1 - alpha) * scale * own.get(term, 0.0),
            alpha * scale * added.get(term, 0.0),
            impact,
        )
        for term, impact in model.impacts(weights, scale)[0].items()
    ]
    return sorted(found, key=lambda one: -one.impact)

"""TILDEv2: a weight for each token of the expanded document.

    w_j = max_{i: t_i = j} ReLU(v . h_i + b)

for the term j and the hidden states h_i of the tokens t_i. A repeated token has its largest weight.
Documents are encoded as in uniCOIL, but queries are boolean: no model encodes them. The model
expects expanded documents (`spade encode --expansions`). In the paper, TILDE predicts 200 terms for
each document, and the predicted terms that the document does not contain are appended to it.

- Zhuang, Zuccon: Fast passage re-ranking with contextualized exact term matching and efficient
  passage expansion, 2021, https://arxiv.org/abs/2108.08513
"""

from __future__ import annotations

from spade_pyserini.models.queries import BooleanQueries
from spade_pyserini.models.systems.encoder import SystemConfig, SystemEncoder
from spade_pyserini.models.systems.source import Source
from spade_pyserini.models.systems.unicoil import UniCoil


class TildeV2(UniCoil):
    """A linear layer with ReLU gives each document token a weight; queries are boolean."""

    name = "tildev2"
    architecture = "TILDEv2"

    @property
    def left_out(self) -> frozenset[int]:
        """The ids of special tokens and unused terms, which boolean queries never contain."""
        return self.wordpieces.special_ids | self.wordpieces.unused_ids


def load_tildev2(source: Source) -> SystemEncoder:
    """Load a TILDEv2 checkpoint; queries are boolean."""
    system, longest = TildeV2.load(source)
    return SystemEncoder(system, SystemConfig(longest), BooleanQueries(system.wordpieces), longest)

"""TILDEv2: a weight for each token of the expanded document, the maximum for a repeated one.

    w_j = max_{i: t_i = j} ReLU(v . h_i + b)

for the term j and the hidden states h_i of the tokens t_i. Documents have the same weights as in
uniCOIL, but queries are boolean: no model encodes them. The model expects documents expanded with
the 200 terms that TILDE predicts for each of them (`spade encode --expansions`).

- Zhuang, Zuccon: Fast passage re-ranking with contextualized exact term matching and efficient
  passage expansion, 2021, https://arxiv.org/abs/2108.08513
"""

from __future__ import annotations

from spade_pyserini.models.queries import BooleanQueries
from spade_pyserini.models.systems.encoder import SystemConfig, SystemEncoder
from spade_pyserini.models.systems.source import Source
from spade_pyserini.models.systems.unicoil import UniCoil


class TildeV2(UniCoil):
    """A linear layer with ReLU on a transformer; no query encoder."""

    name = "tildev2"


def load_tildev2(source: Source) -> SystemEncoder:
    """Load a TILDEv2 checkpoint; queries are boolean."""
    system, longest = TildeV2.load(source)
    return SystemEncoder(system, SystemConfig(longest), BooleanQueries(system.wordpieces), longest)

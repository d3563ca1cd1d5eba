"""The systems that can be trained, by the name that a recipe gives them."""

from __future__ import annotations

from typing import NamedTuple

from spade_pyserini.models.systems.deepct import DeepCT
from spade_pyserini.models.systems.deepimpact import DeepImpact
from spade_pyserini.models.systems.sparterm import SparTerm
from spade_pyserini.models.systems.splade import Splade
from spade_pyserini.models.systems.system import System
from spade_pyserini.models.systems.tilde import Tilde
from spade_pyserini.models.systems.tildev2 import TildeV2
from spade_pyserini.models.systems.unicoil import UniCoil
from spade_pyserini.train.systems.deepct import DeepCTObjective
from spade_pyserini.train.systems.deepimpact import DeepImpactObjective
from spade_pyserini.train.systems.objective import SystemObjective
from spade_pyserini.train.systems.sparterm import SparTermObjective
from spade_pyserini.train.systems.splade import SpladeObjective
from spade_pyserini.train.systems.tilde import TildeObjective
from spade_pyserini.train.systems.tildev2 import TildeV2Objective
from spade_pyserini.train.systems.unicoil import UniCoilObjective


class Trained(NamedTuple):
    """A system and its loss."""

    model: type[System]
    objective: type[SystemObjective]


TRAINED: dict[str, Trained] = {
    "deepct": Trained(DeepCT, DeepCTObjective),
    "deepimpact": Trained(DeepImpact, DeepImpactObjective),
    "sparterm": Trained(SparTerm, SparTermObjective),
    "splade": Trained(Splade, SpladeObjective),
    "tilde": Trained(Tilde, TildeObjective),
    "tildev2": Trained(TildeV2, TildeV2Objective),
    "unicoil": Trained(UniCoil, UniCoilObjective),
}

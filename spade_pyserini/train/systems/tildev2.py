"""TILDEv2: `models.systems.tildev2` encodes documents; queries are boolean.

    s(q, d) = sum_{j in q} w_dj
    loss = -log(e^s(q, d+) / sum_{d in batch} e^s(q, d))

Documents should be expanded: set ``expansions`` to a file that `spade expand` wrote with TILDE.

- Zhuang, Zuccon: Fast passage re-ranking with contextualized exact term matching and efficient
  passage expansion, 2021, https://arxiv.org/abs/2108.08513
"""

from __future__ import annotations

from spade_pyserini.train.systems.objective import SystemObjective


class TildeV2Objective(SystemObjective):
    """The ranking loss with boolean queries."""

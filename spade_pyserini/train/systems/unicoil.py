"""uniCOIL: documents and queries are encoded by the same model, `models.systems.unicoil`.

    s(q, d) = sum_j w_qj w_dj
    loss = -log(e^s(q, d+) / sum_{d in batch} e^s(q, d))

with the relevant document d+ of the query. A batch has the relevant documents and the hard
negatives of all its queries.

- Lin, Ma: A few brief notes on DeepImpact, COIL, and a conceptual framework for information
  retrieval techniques, 2021, https://arxiv.org/abs/2106.14807
- Gao, Dai, Callan: COIL, NAACL 2021, https://arxiv.org/abs/2104.07186 (the loss)
"""

from __future__ import annotations

from spade_pyserini.train.systems.objective import SystemObjective


class UniCoilObjective(SystemObjective):
    """The ranking loss with encoded queries."""

    encodes_queries = True

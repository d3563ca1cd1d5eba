"""The notes below a table: the conventions that its scores depend on."""

from __future__ import annotations

from collections.abc import Collection

from spade_pyserini.evaluate.significance import LEVEL, MARK
from spade_pyserini.formats.qrels import Qrels
from spade_pyserini.records import Ranking


def conventions(
    qrels: Qrels,
    runs: dict[str, list[Ranking]],
    *,
    level: int,
    baseline: str | None = None,
    own: Collection[str] = (),
) -> str:
    """Return a line for each convention that affects these runs.

    ``own`` has the topics that are documents, see `spade_pyserini.evaluate.own_documents`.
    """
    lines = [
        f"{len(qrels)} judged topics; topics without hits count as 0 (trec_eval -c); "
        "ties are ordered by docid, as trec_eval does"
    ]
    if level > 1:
        lines.append(f"binary measures count grades of {level} and more as relevant (trec_eval -l)")
    if baseline is not None:
        others = len(runs) - 1
        lines.append(
            f"{MARK} significant difference from {baseline}: paired t-test, p < {LEVEL} with "
            f"Bonferroni's correction for {others} comparison{'s' if others > 1 else ''}"
        )
    for name, run in runs.items():
        qids = {ranking.qid for ranking in run}
        if without := len(qrels.keys() - qids):
            lines.append(f"{name}: {without} topics without hits")
        if unjudged := len(qids - qrels.keys()):
            lines.append(f"{name}: {unjudged} topics without judgements are ignored")
        if selves := sum(ranking.qid in own and _retrieves_itself(ranking) for ranking in run):
            lines.append(
                f"{name}: {selves} topics retrieve their own text, which is in the corpus (as in "
                "ArguAna); `spade search --remove-query` leaves it out"
            )
    return "\n".join(lines)


def _retrieves_itself(ranking: Ranking) -> bool:
    return any(hit.docid == ranking.qid for hit in ranking.hits)

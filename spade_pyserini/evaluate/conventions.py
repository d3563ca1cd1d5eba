"""What is said under a table: the conventions that change its figures."""

from __future__ import annotations

from spade_pyserini.corpora.qrels import Qrels
from spade_pyserini.evaluate.significance import LEVEL, MARK
from spade_pyserini.records import Ranking


def conventions(
    qrels: Qrels, runs: dict[str, list[Ranking]], *, level: int, baseline: str | None = None
) -> str:
    """One line for each convention that matters for these runs."""
    lines = [
        f"{len(qrels)} topics with judgements; topics without hits count as 0 (trec_eval -c); "
        "ties are broken as trec_eval does, by docid"
    ]
    if level > 1:
        lines.append(f"grades of {level} and more are relevant in binary measures (trec_eval -l)")
    if baseline is not None:
        others = len(runs) - 1
        lines.append(
            f"{MARK} differs from {baseline}: paired t-test, p < {LEVEL} with Bonferroni's "
            f"correction for {others} comparison{'s' if others > 1 else ''}"
        )
    for name, run in runs.items():
        found = {ranking.qid for ranking in run}
        if without := len(qrels.keys() - found):
            lines.append(f"{name}: {without} topics without hits")
        if unjudged := len(found - qrels.keys()):
            lines.append(f"{name}: {unjudged} topics without judgements are left out")
        if selves := sum(any(hit.docid == one.qid for hit in one.hits) for one in run):
            lines.append(
                f"{name}: {selves} topics find the document of their own id (as in ArguAna); "
                "search --remove-query leaves it out"
            )
    return "\n".join(lines)

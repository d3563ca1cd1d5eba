"""The notes below a table of scores: the conventions by which the scores are computed."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from spade_pyserini.evaluate.comparison import Comparison
from spade_pyserini.evaluate.measures import measure_name
from spade_pyserini.evaluate.significance import CONSTANT, EQUAL, LEVEL, MARK, too_few
from spade_pyserini.evaluate.unmatched import unmatched_warnings
from spade_pyserini.formats.qrels import Qrels
from spade_pyserini.formats.tables import counted
from spade_pyserini.records import Ranking


def conventions(
    comparison: Comparison,
    qrels: Qrels,
    runs: dict[str, list[Ranking]],
    *,
    baseline: str | None = None,
    own: Collection[str] = (),
) -> str:
    """Return a line for each convention that affects these runs, then the warnings.

    With a ``baseline``, the lines include the result of the tests against it. ``own`` has the ids
    of topics whose query is a document of the corpus, see
    `spade_pyserini.evaluate.own_documents`.
    """
    lines = [
        f"{counted(len(qrels), 'judged topic')}; topics without hits count as 0 (trec_eval -c); "
        "ties are ordered by docid, as trec_eval does"
    ]
    if (level := comparison.level) > 1:
        lines.append(f"binary measures count grades of {level} and more as relevant (trec_eval -l)")
    if baseline is not None and comparison.tests:
        lines.extend(_significance(comparison, baseline, len(qrels)))
    for name, run in runs.items():
        qids = {ranking.qid for ranking in run}
        if without := len(qrels.keys() - qids):
            lines.append(f"{name}: {counted(without, 'topic')} without hits")
        if unjudged := len(qids - qrels.keys()):
            verb = "is" if unjudged == 1 else "are"
            lines.append(f"{name}: {counted(unjudged, 'topic')} without judgements {verb} ignored")
        if selves := sum(ranking.qid in own and _retrieves_itself(ranking) for ranking in run):
            retrieve = "1 topic retrieves its" if selves == 1 else f"{selves} topics retrieve their"
            lines.append(
                f"{name}: {retrieve} own text, which is in the corpus (as in ArguAna); "
                "`spade search --remove-query` leaves it out"
            )
    return "\n".join([*lines, *unmatched_warnings(qrels, runs, level)])


def _significance(comparison: Comparison, baseline: str, topics: int) -> Iterator[str]:
    """Yield the meaning of the significance mark, and the p-values.

    Also yield why some differences were not tested.
    """
    if reason := too_few(topics):
        yield reason
        return
    tests = [test for by_measure in comparison.tests.values() for test in by_measure.values()]
    others = counted(len(comparison.tests), "comparison")
    how = f"paired t-test, p < {LEVEL} with Bonferroni's correction for {others}"
    if any(test.significant for test in tests):
        yield f"{MARK} significant difference from {baseline}: {how}"
    elif any(test.p is not None or test.untested == EQUAL for test in tests):
        yield f"no significant difference from {baseline}: {how}"
    for name, by_measure in comparison.tests.items():
        if any(test.p is not None for test in by_measure.values()):
            values = ", ".join(
                f"{measure_name(measure)} {'-' if test.p is None else f'{test.p:.2g}'}"
                for measure, test in by_measure.items()
            )
            yield f"{name}, p-values: {values}"
        constant = [
            measure_name(measure)
            for measure, test in by_measure.items()
            if test.untested == CONSTANT
        ]
        if constant:
            yield f"{name}, {', '.join(constant)}: {CONSTANT}"


def _retrieves_itself(ranking: Ranking) -> bool:
    return any(hit.docid == ranking.qid for hit in ranking.hits)

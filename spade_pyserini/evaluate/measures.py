"""Measures through ir_measures and pytrec_eval, to the digits of trec_eval.

Conventions: topics that have judgements but no hits count as 0 (trec_eval's ``-c``), and ties
are broken as trec_eval does, by score as a 32-bit float, then by docid from the end.
"""

from __future__ import annotations

import ir_measures
from ir_measures import AP, RR, Measure, R, nDCG

from spade_pyserini.corpora.qrels import Qrels
from spade_pyserini.errors import NoCommonTopicError, UsageError
from spade_pyserini.records import Ranking

DEFAULT_MEASURES = (RR @ 10, nDCG @ 10, AP, R @ 100, R @ 1000)
PAPER_NAMES = {RR @ 10: "MRR@10", AP: "MAP"}
ALIASES = {"MRR": RR, "MAP": AP, **{f"MRR@{k}": RR @ k for k in (10, 100, 1000)}}


def parse_measures(names: list[str]) -> list[Measure]:
    """Measures by ir_measures' names (nDCG@10) or trec_eval's (ndcg_cut_10, recall.100,1000)."""
    found: list[Measure] = []
    for name in names:
        if name in ALIASES:
            found.append(ALIASES[name])
            continue
        for parse in (ir_measures.parse_trec_measure, _parse_one):
            try:
                measures = parse(name)
                right = measures and all(map(_is_right, measures))
            except (ValueError, NameError, KeyError, SyntaxError, TypeError, AssertionError):
                continue
            if right:
                found.extend(measures)
                break
        else:
            raise UsageError(
                f"{name!r} is no measure; try nDCG@10, RR@10, AP, R@1000, or trec_eval's names "
                "such as ndcg_cut_10, recip_rank, map, recall_1000"
            )
    return found


def _parse_one(name: str) -> list[Measure]:
    return [ir_measures.parse_measure(name)]


def _is_right(measure: Measure) -> bool:
    """Whether it has all its parameters, and numbers where they belong."""
    measure.validate_params()  # type: ignore[no-untyped-call]
    numbers = [measure.params.get(name, 1) for name in ("cutoff", "rel")]
    return bool(str(measure)) and all(isinstance(one, int) and one > 0 for one in numbers)


def measure_name(measure: Measure) -> str:
    """The name in our tables: the paper's where it has one."""
    return PAPER_NAMES.get(measure, str(measure))


def evaluate_run(
    qrels: Qrels, run: list[Ranking], measures: list[Measure] | None = None
) -> dict[Measure, float]:
    """Each measure over all topics that have judgements: its mean, or its sum for counts."""
    found = evaluate_queries(qrels, run, measures)
    return {measure: aggregate(measure, values) for measure, values in found.items()}


def aggregate(measure: Measure, values: dict[str, float]) -> float:
    """The mean over the topics, or the sum for counts."""
    aggregator = measure.aggregator()
    for value in values.values():
        aggregator.add(value)
    return float(aggregator.result())


def at_level(measure: Measure, level: int) -> Measure:
    """The measure with ``level`` as the lowest relevant grade; graded measures stay as they are."""
    if level == 1 or "rel" not in measure.SUPPORTED_PARAMS or "rel" in measure.params:
        return measure
    raised: Measure = measure(rel=level)
    return raised


def evaluate_queries(
    qrels: Qrels, run: list[Ranking], measures: list[Measure] | None = None
) -> dict[Measure, dict[str, float]]:
    """Each measure for each topic that has judgements."""
    wanted = list(measures or DEFAULT_MEASURES)
    if not any(ranking.qid in qrels for ranking in run):
        raise NoCommonTopicError("the run and the qrels have no topic in common")
    # The order is settled here, so that every provider sees the same one.
    scored = {
        ranking.qid: {hit.docid: -float(rank) for rank, hit in enumerate(ranking.hits)}
        for ranking in run
        if ranking.qid in qrels
    }
    values: dict[Measure, dict[str, float]] = {
        measure: dict.fromkeys(qrels, 0.0) for measure in wanted
    }
    try:
        for metric in ir_measures.iter_calc(wanted, qrels, scored):
            values[metric.measure][metric.query_id] = metric.value
    except (ValueError, RuntimeError, ArithmeticError, LookupError, TypeError) as error:
        raise UsageError(f"a measure cannot be computed here ({error})") from None
    for measure in wanted:  # counts of what was judged do not ask what was found
        level = measure.params.get("rel", 1)
        if measure.NAME == "NumQ":
            values[measure] = dict.fromkeys(qrels, 1.0)
        elif measure.NAME == "NumRel":
            counts = {qid: sum(x >= level for x in qrels[qid].values()) for qid in qrels}
            values[measure] = {qid: float(count) for qid, count in counts.items()}
    return values

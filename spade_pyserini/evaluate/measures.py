"""Effectiveness measures, computed by ir_measures; trec_eval gives the same digits.

Topics that have judgements but no hits count as 0 (trec_eval's ``-c``). Hits are evaluated in the
order of their ranking. `read_run` orders them as trec_eval does: by descending score as a 32-bit
float, then by descending docid.
"""

from __future__ import annotations

import ir_measures
from ir_measures import AP, RR, Measure, R, nDCG

from spade_pyserini.errors import NoCommonTopicError, UsageError
from spade_pyserini.evaluate.unmatched import other_topics
from spade_pyserini.formats.qrels import Qrels
from spade_pyserini.records import Ranking

DEFAULT_MEASURES = (RR @ 10, nDCG @ 10, AP, R @ 100, R @ 1000)
PAPER_NAMES = {RR @ 10: "MRR@10", AP: "MAP"}
ALIASES = {"MRR": RR, "MAP": AP, **{f"MRR@{k}": RR @ k for k in (10, 100, 1000)}}


def parse_measures(names: list[str]) -> list[Measure]:
    """Parse names of measures: nDCG@10 (ir_measures), ndcg_cut_10 (trec_eval), MRR@10, MAP."""
    parsed: list[Measure] = []
    for name in names:
        if name in ALIASES:
            parsed.append(ALIASES[name])
            continue
        for parse in (ir_measures.parse_trec_measure, _parse_one):
            try:
                measures = parse(name)
                valid = measures and all(map(_is_valid, measures))
            except (ValueError, NameError, KeyError, SyntaxError, TypeError, AssertionError):
                continue
            if valid:
                parsed.extend(measures)
                break
        else:
            raise UsageError(
                f"{name!r} is not a measure; use nDCG@10, RR@10, AP, R@1000, or trec_eval's names "
                "such as ndcg_cut_10, recip_rank, map, recall_1000"
            )
    return parsed


def _parse_one(name: str) -> list[Measure]:
    return [ir_measures.parse_measure(name)]


def _is_valid(measure: Measure) -> bool:
    """Whether the measure has all its parameters, with positive cutoffs and levels."""
    measure.validate_params()  # type: ignore[no-untyped-call]
    numbers = [measure.params.get(name, 1) for name in ("cutoff", "rel")]
    return bool(str(measure)) and all(isinstance(number, int) and number > 0 for number in numbers)


def measure_name(measure: Measure) -> str:
    """Return the measure's name in the paper or, if it is not in the paper, in ir_measures."""
    return PAPER_NAMES.get(measure, str(measure))


def evaluate_run(
    qrels: Qrels, run: list[Ranking], measures: list[Measure] | None = None
) -> dict[Measure, float]:
    """Return each measure's value over all judged topics: the mean or, for a count, the sum."""
    scores = evaluate_queries(qrels, run, measures)
    return {measure: aggregate(measure, values) for measure, values in scores.items()}


def aggregate(measure: Measure, values: dict[str, float]) -> float:
    """Return the mean over the topics, or the sum if the measure is a count."""
    aggregator = measure.aggregator()
    for value in values.values():
        aggregator.add(value)
    return float(aggregator.result())


def at_level(measure: Measure, level: int) -> Measure:
    """Return the measure with ``level`` as the lowest relevant grade.

    Graded measures, and measures that have a level already, stay unchanged.
    """
    if level == 1 or "rel" not in measure.SUPPORTED_PARAMS or "rel" in measure.params:
        return measure
    raised: Measure = measure(rel=level)
    return raised


def evaluate_queries(
    qrels: Qrels, run: list[Ranking], measures: list[Measure] | None = None
) -> dict[Measure, dict[str, float]]:
    """Return the scores of each measure by topic id, for all judged topics."""
    measures = list(measures or DEFAULT_MEASURES)
    if not any(ranking.qid in qrels for ranking in run):
        message = "the run and the qrels have no topic in common"
        raise NoCommonTopicError(f"{message}: {other_topics(qrels, run)}")
    # Ranks replace scores, so that all libraries behind ir_measures see the same order.
    scored = {
        ranking.qid: {hit.docid: -float(rank) for rank, hit in enumerate(ranking.hits)}
        for ranking in run
        if ranking.qid in qrels
    }
    values: dict[Measure, dict[str, float]] = {
        measure: dict.fromkeys(qrels, 0.0) for measure in measures
    }
    try:
        for metric in ir_measures.iter_calc(measures, qrels, scored):
            values[metric.measure][metric.query_id] = metric.value
    except (ValueError, RuntimeError, ArithmeticError, LookupError, TypeError) as error:
        message = f"a measure cannot be computed for this run ({error}); choose other measures"
        raise UsageError(message) from None
    for measure in measures:  # counts of judgements do not depend on the hits
        level = measure.params.get("rel", 1)
        if measure.NAME == "NumQ":
            values[measure] = dict.fromkeys(qrels, 1.0)
        elif measure.NAME == "NumRel":
            counts = {qid: sum(grade >= level for grade in qrels[qid].values()) for qid in qrels}
            values[measure] = {qid: float(count) for qid, count in counts.items()}
    return values

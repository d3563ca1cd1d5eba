"""Several runs on the same judgements, as one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ir_measures import Measure

from spade_pyserini.corpora.qrels import Qrels
from spade_pyserini.errors import InputError, NoCommonTopicError, UsageError
from spade_pyserini.evaluate.measures import (
    DEFAULT_MEASURES,
    aggregate,
    at_level,
    evaluate_queries,
    measure_name,
)
from spade_pyserini.evaluate.significance import MARK, Difference, paired_t_test
from spade_pyserini.formats.runs import read_run
from spade_pyserini.records import Ranking

Values = dict[Measure, dict[str, float]]


@dataclass(frozen=True)
class Comparison:
    """Values by run, measure and topic; differences from the baseline, where there is one."""

    measures: list[Measure]
    values: dict[str, Values]
    differences: dict[str, dict[Measure, Difference]]
    level: int

    def header(self) -> list[str]:
        return ["run", *map(measure_name, self.measures)]

    def rows(self) -> list[list[str]]:
        """A line for each run, with a mark where it differs significantly from the baseline."""
        return [[name, *(self._cell(name, one) for one in self.measures)] for name in self.values]

    def per_query(self) -> tuple[list[str], list[list[str]]]:
        """A line for each topic of each run."""
        rows = [
            [name, qid, *(f"{values[measure][qid]:.4f}" for measure in self.measures)]
            for name, values in self.values.items()
            for qid in values[self.measures[0]]
        ]
        return ["run", "topic", *self.header()[1:]], rows

    def _cell(self, name: str, measure: Measure) -> str:
        found = self.differences.get(name, {}).get(measure)
        mark = MARK if found and found.significant else " " if self.differences else ""
        return f"{aggregate(measure, self.values[name][measure]):.4f}{mark}"


def compare_runs(
    qrels: Qrels,
    runs: dict[str, list[Ranking]],
    measures: Sequence[Measure] | None = None,
    *,
    baseline: str | None = None,
    level: int = 1,
    strict: bool = True,
) -> Comparison:
    """Score runs; with a baseline, test every other run against it.

    ``level`` is the lowest grade that binary measures take for relevant. A run without any of the
    topics is an error, or if not ``strict``, one that found nothing.
    """
    if baseline is not None and baseline not in runs:
        raise UsageError(f"the baseline {baseline} is none of the runs")
    wanted = list(measures or DEFAULT_MEASURES)
    values: dict[str, Values] = {}
    for name, run in runs.items():
        some = any(ranking.qid in qrels for ranking in run)
        nothing = [Ranking(qid, []) for qid in qrels]
        scored = run if some or strict else nothing
        found = evaluate_queries(qrels, scored, [at_level(one, level) for one in wanted])
        values[name] = {one: found[at_level(one, level)] for one in wanted}
    differences = {}
    if baseline is not None:
        others = [name for name in runs if name != baseline]
        for name in others:
            differences[name] = {
                one: paired_t_test(values[baseline][one], values[name][one], len(others))
                for one in wanted
            }
    return Comparison(wanted, values, differences, level)


def read_runs(paths: Sequence[str | Path], qrels: Qrels) -> dict[str, list[Ranking]]:
    """Runs by the shortest names that tell them apart; each has topics with judgements."""
    runs = {}
    for path, name in zip(paths, short_names(paths), strict=True):
        run = read_run(path)
        if not run:
            raise InputError("the run is empty", path)
        if not any(ranking.qid in qrels for ranking in run):
            raise InputError("no topic of this run has judgements", path) from NoCommonTopicError()
        runs[name] = run
    return runs


def short_names(paths: Sequence[str | Path]) -> list[str]:
    """File names, or whole paths where two files have the same name."""
    names = [Path(path).name for path in paths]
    if len({str(path) for path in paths}) < len(paths):
        raise UsageError("the same run was given twice")
    return names if len(set(names)) == len(names) else [str(path) for path in paths]

"""The scores of several runs on the same judgements, as one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ir_measures import Measure

from spade_pyserini.errors import InputError, NoCommonTopicError, UsageError
from spade_pyserini.evaluate.measures import (
    DEFAULT_MEASURES,
    aggregate,
    at_level,
    evaluate_queries,
    measure_name,
)
from spade_pyserini.evaluate.significance import MARK, PairedTest, paired_t_test
from spade_pyserini.evaluate.unmatched import other_topics
from spade_pyserini.formats.qrels import Qrels
from spade_pyserini.formats.runs import read_run
from spade_pyserini.records import Ranking

Values = dict[Measure, dict[str, float]]


@dataclass(frozen=True)
class Comparison:
    """The scores of several runs.

    measures: the columns of the table.
    values: scores by run, measure and topic.
    tests: by run and measure, the significance test of the run against the baseline; empty if there
        is no baseline.
    level: the lowest grade that binary measures count as relevant.
    """

    measures: list[Measure]
    values: dict[str, Values]
    tests: dict[str, dict[Measure, PairedTest]]
    level: int

    def header(self) -> list[str]:
        """The names of the columns."""
        return ["run", *map(measure_name, self.measures)]

    def rows(self) -> list[list[str]]:
        """A row for each run; a mark shows a significant difference from the baseline."""
        return [
            [name, *(self._cell(name, measure) for measure in self.measures)]
            for name in self.values
        ]

    def with_p_values(self) -> tuple[list[str], list[list[str]]]:
        """A pair: the header and the rows; with a baseline, with a p-value for each measure.

        A p-value is empty in the row of the baseline, and if a test is not possible.
        """
        if not self.tests:
            return self.header(), self.rows()
        header = [*self.header(), *(f"p {measure_name(measure)}" for measure in self.measures)]
        rows = [
            [*row, *(self._p_value(row[0], measure) for measure in self.measures)]
            for row in self.rows()
        ]
        return header, rows

    def _p_value(self, name: str, measure: Measure) -> str:
        test = self.tests.get(name, {}).get(measure)
        return "" if test is None or test.p is None else f"{test.p:.4g}"

    def per_query(self) -> tuple[list[str], list[list[str]]]:
        """A pair: the header, and a list with a row for each topic of each run."""
        rows = [
            [name, qid, *(f"{values[measure][qid]:.4f}" for measure in self.measures)]
            for name, values in self.values.items()
            for qid in values[self.measures[0]]
        ]
        return ["run", "topic", *self.header()[1:]], rows

    def _cell(self, name: str, measure: Measure) -> str:
        test = self.tests.get(name, {}).get(measure)
        mark = MARK if test and test.significant else " " if self.tests else ""
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
    """Score runs; with a baseline, test whether the other runs differ from it significantly.

    ``level`` is the lowest grade that binary measures count as relevant. A run that has none of the
    judged topics is an error; with ``strict=False`` it scores 0.
    """
    if baseline is not None and baseline not in runs:
        raise UsageError(f"baseline={baseline} is not one of the runs; choose {' or '.join(runs)}")
    columns = list(measures or DEFAULT_MEASURES)
    values: dict[str, Values] = {}
    for name, run in runs.items():
        has_common_topic = any(ranking.qid in qrels for ranking in run)
        rankings = run if has_common_topic or strict else [Ranking(qid, []) for qid in qrels]
        leveled = [at_level(measure, level) for measure in columns]
        scores = evaluate_queries(qrels, rankings, leveled)
        values[name] = {measure: scores[at_level(measure, level)] for measure in columns}
    tests = {} if baseline is None else _test_against(baseline, values)
    return Comparison(columns, values, tests, level)


def _test_against(baseline: str, values: dict[str, Values]) -> dict[str, dict[Measure, PairedTest]]:
    others = [name for name in values if name != baseline]
    return {
        name: {
            measure: paired_t_test(before, values[name][measure], len(others))
            for measure, before in values[baseline].items()
        }
        for name in others
    }


def read_runs(paths: Sequence[str | Path], qrels: Qrels) -> dict[str, list[Ranking]]:
    """Read runs; return them by short, distinct names. A run without judged topics is an error."""
    runs = {}
    for path, name in zip(paths, short_names(paths), strict=True):
        run = read_run(path)
        if not run:
            raise InputError("the run is empty; give a run with hits", path)
        if not any(ranking.qid in qrels for ranking in run):
            message = f"no topic of this run has judgements: {other_topics(qrels, run)}"
            raise InputError(message, path) from NoCommonTopicError()
        runs[name] = run
    return runs


def short_names(paths: Sequence[str | Path]) -> list[str]:
    """Return the file names, or the full paths if two files have the same name."""
    names = [Path(path).name for path in paths]
    if len({str(path) for path in paths}) < len(paths):
        raise UsageError("the same run was given twice; leave one out")
    return names if len(set(names)) == len(names) else [str(path) for path in paths]

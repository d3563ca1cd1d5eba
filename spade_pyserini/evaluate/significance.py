"""Significance of the difference of two runs: paired t-tests with Bonferroni's correction."""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.stats import ttest_rel

from spade_pyserini.formats.tables import counted

LEVEL = 0.05
FEWEST = 5  # there is no test with fewer topics
ROUNDING = 1e-9  # score differences are treated as equal if they are closer than this
EQUAL = "the scores are equal on all topics, so there is no test of significance"
CONSTANT = "the difference is the same on all topics, so there is no test of significance"
MARK = "◇"  # marks a significant difference, as in the paper


class PairedTest(NamedTuple):
    """The test of a run against the baseline on one measure.

    mean: the mean difference over the topics, above 0 if the run is better.
    p: the p-value, corrected for the number of runs that are compared with the baseline; None
        if a test is not possible.
    untested: why a test is not possible; empty if p is a number.
    """

    mean: float
    p: float | None
    untested: str = ""

    @property
    def significant(self) -> bool:
        """Whether there is a p-value and it is below `LEVEL`."""
        return self.p is not None and self.p < LEVEL


def paired_t_test(
    baseline: dict[str, float], run: dict[str, float], comparisons: int = 1
) -> PairedTest:
    """Test the difference of two runs, given their scores by topic.

    ``comparisons`` is the number of runs that are compared with the baseline. There is no p-value
    with fewer than `FEWEST` topics, or if the difference is the same on all topics: the t-test is
    undefined without variance.
    """
    topics = list(baseline)
    differences = [run[topic] - baseline[topic] for topic in topics]
    mean = sum(differences) / len(topics)
    if reason := too_few(len(topics)):
        return PairedTest(mean, None, reason)
    if max(differences) - min(differences) < ROUNDING:
        return PairedTest(mean, None, EQUAL if abs(mean) < ROUNDING else CONSTANT)
    p = float(ttest_rel([run[topic] for topic in topics], list(baseline.values())).pvalue)
    return PairedTest(mean, min(1.0, p * comparisons) if math.isfinite(p) else 1.0)


def too_few(topics: int) -> str:
    """Return a sentence if there are too few topics for a test, else an empty string."""
    if topics >= FEWEST:
        return ""
    verb = "is" if topics == 1 else "are"
    return f"{counted(topics, 'topic')} {verb} too few for a test of significance"

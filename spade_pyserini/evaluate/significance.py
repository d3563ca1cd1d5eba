"""Significance of the difference of two runs: paired t-tests with Bonferroni's correction."""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.stats import ttest_rel

LEVEL = 0.05
MARK = "◇"  # as in the paper


class PairedTest(NamedTuple):
    """The test of a run against the baseline on one measure.

    mean: the mean difference, above 0 where the run is better.
    p: corrected for the number of runs that are compared with the baseline.
    """

    mean: float
    p: float

    @property
    def significant(self) -> bool:
        """Whether p is below `LEVEL`."""
        return self.p < LEVEL


def paired_t_test(
    baseline: dict[str, float], run: dict[str, float], comparisons: int = 1
) -> PairedTest:
    """Test the difference of two runs, given their scores by topic.

    ``comparisons`` is the number of runs that are compared with the baseline.
    """
    topics = list(baseline)
    differences = [run[topic] - baseline[topic] for topic in topics]
    mean = sum(differences) / len(topics)
    if len(topics) < 2 or max(differences) == min(differences):
        # The test is undefined without variance. If all differences are 0, or there is only one
        # topic, p is 1. If several topics all have the same difference, p is 0.
        return PairedTest(mean, 0.0 if mean and len(topics) > 1 else 1.0)
    p = float(ttest_rel([run[topic] for topic in topics], list(baseline.values())).pvalue)
    return PairedTest(mean, min(1.0, p * comparisons) if math.isfinite(p) else 1.0)

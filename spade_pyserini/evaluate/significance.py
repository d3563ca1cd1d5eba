"""Whether two runs really differ: paired t-tests over the topics, with Bonferroni's correction."""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.stats import ttest_rel

LEVEL = 0.05
MARK = "◇"  # the paper's


class Difference(NamedTuple):
    """How far a run is from the baseline on one measure, and how sure that is.

    ``p`` is corrected for the number of runs that the baseline is compared with.
    """

    mean: float
    p: float

    @property
    def significant(self) -> bool:
        return self.p < LEVEL


def paired_t_test(
    baseline: dict[str, float], run: dict[str, float], comparisons: int = 1
) -> Difference:
    """Compare the values of the same topics."""
    topics = list(baseline)
    differences = [run[topic] - baseline[topic] for topic in topics]
    mean = sum(differences) / len(topics)
    if len(topics) < 2 or max(differences) == min(differences):
        # No spread: the test is undefined. All alike is no difference; all shifted alike is one.
        return Difference(mean, 0.0 if mean and len(topics) > 1 else 1.0)
    p = float(ttest_rel([run[topic] for topic in topics], list(baseline.values())).pvalue)
    return Difference(mean, min(1.0, p * comparisons) if math.isfinite(p) else 1.0)

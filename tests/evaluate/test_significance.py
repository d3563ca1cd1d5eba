from __future__ import annotations

import math
import random
import statistics

import pytest
from scipy.stats import t as student

from spade_pyserini.evaluate.significance import CONSTANT, EQUAL, paired_t_test


def test_the_paired_t_test_is_the_textbooks() -> None:
    """Compares with t = mean difference / standard error, and p from Student's distribution."""
    chance = random.Random(4)
    first = {str(n): chance.random() for n in range(30)}
    second = {qid: value + 0.1 * chance.random() for qid, value in first.items()}
    differences = [second[qid] - first[qid] for qid in first]
    mean = statistics.fmean(differences)
    t = mean / (statistics.stdev(differences) / math.sqrt(30))
    p = 2 * float(student.sf(abs(t), df=29))
    test = paired_t_test(first, second)
    assert test.mean == pytest.approx(mean)
    assert test.p == pytest.approx(p)
    noisy = {qid: value + chance.gauss(0.02, 0.2) for qid, value in first.items()}
    alone = paired_t_test(first, noisy).p
    assert alone is not None
    assert paired_t_test(first, noisy, comparisons=3).p == pytest.approx(min(1, 3 * alone))


def test_no_p_value_without_variance() -> None:
    """The differences are 0.2 except for rounding errors, which do not count as variance."""
    first = {str(n): n / 10 for n in range(1, 8)}
    shifted = {qid: value + 0.2 for qid, value in first.items()}
    assert len({shifted[qid] - first[qid] for qid in first}) > 1
    test = paired_t_test(first, shifted)
    assert (test.p, test.significant, test.untested) == (None, False, CONSTANT)
    assert test.mean == pytest.approx(0.2)
    assert paired_t_test(first, dict(first)) == (0, None, EQUAL)


@pytest.mark.parametrize(("topics", "start"), [(1, "1 topic is"), (4, "4 topics are"), (5, "")])
def test_no_p_value_with_few_topics(topics: int, start: str) -> None:
    first = {str(n): 0.0 for n in range(topics)}
    test = paired_t_test(first, {str(n): 0.9 + n / 100 for n in range(topics)})
    expected = f"{start} too few for a test of significance" if start else ""
    assert (test.untested, test.significant, test.p is None) == (expected, not start, bool(start))

from __future__ import annotations

import math
import random
import statistics

import pytest
from scipy.stats import t as student

from spade_pyserini.evaluate.significance import paired_t_test


def test_the_paired_t_test_is_the_textbooks() -> None:
    """Computed by hand: mean difference over standard error, Student's distribution."""
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
    assert paired_t_test(first, noisy, comparisons=3).p == pytest.approx(min(1, 3 * alone))
    assert not paired_t_test(first, dict(first)).significant
    assert paired_t_test({"1": 0.0}, {"1": 1.0}).p == 1

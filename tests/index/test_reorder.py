"""`document_order` puts similar documents next to each other."""

from __future__ import annotations

import random
from itertools import pairwise

from spade_pyserini.index.reorder import document_order
from spade_pyserini.records import ImpactVector


def test_documents_that_share_terms_become_neighbours() -> None:
    choose = random.Random(3)
    subjects = [[f"s{subject}w{word}" for word in range(40)] for subject in range(4)]
    vectors = [
        ImpactVector(f"d{n}", dict.fromkeys([*choose.sample(subjects[n % 4], 12), "the"], 50))
        for n in range(400)
    ]
    order = document_order(vectors)
    assert sorted(order) == list(range(400)) and order == document_order(vectors)
    neighbours = sum(first % 4 == second % 4 for first, second in pairwise(order))
    assert neighbours > 380  # of 399 pairs; a random order has about 99

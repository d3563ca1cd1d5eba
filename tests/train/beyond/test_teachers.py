"""Teachers: a dense model and BM25."""

from __future__ import annotations

import math

import pytest
import torch

from spade_pyserini import SpadeModel
from spade_pyserini.errors import NotFoundError
from spade_pyserini.models.bi_encoder import open_bi_encoder
from spade_pyserini.models.term_counts import count_terms
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.train.beyond.teachers import BM25Teacher, DenseTeacher


def test_the_dense_teacher_gives_relevant_documents_higher_scores() -> None:
    teacher = DenseTeacher(open_bi_encoder("minilm", 128))
    queries = ["how do I delete a folder", "the capital of France"]
    documents = ["Paris is a city on the Seine.", "rmtree removes a directory tree."]
    scores = teacher.scores(queries, documents)
    assert scores[0, 1] > scores[0, 0] + 0.2
    assert scores[1, 0] > scores[1, 1] + 0.2
    assert torch.equal(scores, teacher.scores(queries, documents))
    with pytest.raises(NotFoundError, match="the dense model 'no-such/teacher' cannot be loaded"):
        DenseTeacher(open_bi_encoder("no-such/teacher", 128))


def test_the_lexical_teacher_is_bm25(tiny_model: SpadeModel) -> None:
    words: WordPieces = tiny_model.wordpieces
    texts = ["the cat the cat", "the dog", "the old bird"]
    counts = count_terms(words, texts, len(words.terms), 32)
    assert counts.mean_length == 3
    scores = BM25Teacher(words, counts, 32).scores(["the cat", "fish", "bird bird"], texts)
    the, cat, bird = math.log(1 + 0.5 / 3.5), math.log(1 + 2.5 / 1.5), math.log(1 + 2.5 / 1.5)

    def weight(idf: float, count: int, length: int) -> float:
        return idf * 1.9 * count / (count + 0.9 * (0.6 + 0.4 * length / 3))

    wanted = [
        [weight(the, 2, 4) + weight(cat, 2, 4), weight(the, 1, 2), weight(the, 1, 3)],
        [0, 0, 0],
        [0, 0, weight(bird, 1, 3)],
    ]
    assert torch.allclose(scores, torch.tensor(wanted))

"""Create the extensions that a recipe needs."""

from __future__ import annotations

from spade_pyserini.models import SpadeModel
from spade_pyserini.models.bi_encoder import open_bi_encoder
from spade_pyserini.models.term_counts import (
    TermCounts,
    count_terms,
    merge_counts,
    most_frequent,
)
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.train.beyond.distillation import DenseDistillation, RunDistillation
from spade_pyserini.train.beyond.inflections import with_inflections
from spade_pyserini.train.beyond.query_pool import open_query_pool
from spade_pyserini.train.beyond.query_templates import QueryTemplates
from spade_pyserini.train.beyond.sparsity import Sparsity
from spade_pyserini.train.beyond.teachers import BM25Teacher, DenseTeacher
from spade_pyserini.train.beyond.term_weights import TermWeights, initialize_term_weights
from spade_pyserini.train.data import TrainingData
from spade_pyserini.train.extension import Extension, Extensions
from spade_pyserini.train.extension_settings import Teacher
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.run import Run


def extend(run: Run, data: TrainingData, model: SpadeModel) -> tuple[SpadeModel, Extensions]:
    """Return the model with the changes that the extensions need, and the extensions.

    With the paper's settings, ``model`` is returned unchanged, without extensions.
    """
    recipe = run.recipe
    model = with_inflections(model, recipe.term_weights.forms)
    counts = _count_terms(recipe, data, model)
    if recipe.model.expansion_terms:
        frequent = most_frequent(merge_counts(counts).df, recipe.model.expansion_terms)
        model.expansion.expandable.copy_(frequent)
    model = initialize_term_weights(recipe.term_weights, data, model, counts)
    extensions: list[Extension] = []
    if recipe.term_weights.template_share:
        extensions.append(QueryTemplates(recipe.term_weights.template_share))
    if TermWeights.needed(recipe.term_weights, model):
        extensions.append(TermWeights(recipe.term_weights, data, model, counts))
    if recipe.distillation.dense_teacher:
        extensions.append(dense_distillation(recipe, data, model.wordpieces, counts))
    if recipe.distillation.pool_queries:
        bm25 = _bm25_teachers(recipe, model.wordpieces, counts)
        scores = Extensions([*extensions]).scores
        extensions.append(open_query_pool(run, data, model.wordpieces, scores, bm25))
    if data.teacher:
        extensions.append(RunDistillation(recipe.distillation, data))
    if recipe.losses.flops or recipe.losses.l1:
        extensions.append(Sparsity(recipe.losses, model))
    return model, Extensions(extensions)


def dense_distillation(
    recipe: Recipe, data: TrainingData, wordpieces: WordPieces, counts: list[TermCounts]
) -> DenseDistillation:
    """Return the distillation of a bi-encoder's scores.

    ``counts`` are the term counts of each collection; only the scores of BM25 need them.
    """
    settings, length = recipe.distillation, recipe.model.max_length
    name = settings.dense_teacher or ""
    listed = {(teacher.kind, teacher.model): teacher for teacher in recipe.teaching.teachers}
    default = Teacher(model=name, kind="bi-encoder", max_length=length)
    teacher = listed.get(("bi-encoder", name), default)
    options = teacher.max_length, teacher.pooling, teacher.query_prefix
    dense = DenseTeacher(open_bi_encoder(teacher.model, *options))
    return DenseDistillation(settings, data, dense, _bm25_teachers(recipe, wordpieces, counts))


def _bm25_teachers(
    recipe: Recipe, wordpieces: WordPieces, counts: list[TermCounts]
) -> list[BM25Teacher]:
    """Return a BM25 teacher for each collection, or no teacher if ``teacher_bm25`` is 0."""
    if not recipe.distillation.teacher_bm25:
        return []
    return [BM25Teacher(wordpieces, part, recipe.model.max_length) for part in counts]


def _count_terms(recipe: Recipe, data: TrainingData, model: SpadeModel) -> list[TermCounts]:
    """Return the term counts of each collection's documents, or [] if no setting needs them."""
    settings = recipe.term_weights
    corpus_idf = model.config.corpus_idf if settings.corpus_idf is None else settings.corpus_idf
    needed = (
        settings.idf != "none",
        recipe.model.expansion_terms,
        recipe.distillation.teacher_bm25,
        corpus_idf,
    )
    if not any(needed):
        return []
    return [
        count_terms(model.wordpieces, texts, len(model.kept), model.config.max_length)
        for texts in data.documents_by_collection()
    ]

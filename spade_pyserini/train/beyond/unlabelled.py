"""Training samples from a run, for queries without relevance judgements.

A collection without ``qrels`` and ``triples`` takes its samples from the run ``negatives``, for
example a run of a dense model. The first hit of a query is the positive if its score is at least
``least_score``. The negatives are the last hits or, with ``choose_negatives = "spread"``, hits that
are spread evenly over the ranking after the first hit. These labels are noisy, so a teacher is
required.
"""

from __future__ import annotations

import logging
from pathlib import Path

from spade_pyserini.errors import InputError, UsageError
from spade_pyserini.formats.runs import read_run
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.samples import Sample, choose_negatives
from spade_pyserini.train.settings import TrainingCollection

logger = logging.getLogger(__name__)


def samples_from_run(collection: TrainingCollection, recipe: Recipe) -> list[Sample]:
    """Return a sample for each query that has enough hits.

    The score of the first hit must be at least ``least_score``.
    """
    if collection.negatives is None:
        raise UsageError("the recipe needs qrels, triples or negatives; add qrels=NAME")
    distillation = recipe.distillation
    if not (distillation.dense_teacher or distillation.pool_queries or collection.teacher):
        message = f"no qrels, triples or teacher given for {collection.corpus}"
        raise UsageError(f"recipe: {message}; add qrels=NAME")
    path, least_score = Path(collection.negatives), collection.least_score
    hard_negatives = recipe.data.hard_negatives
    samples: list[Sample] = []
    rankings = list(read_run(path))
    for ranking in rankings:
        first, *others = ranking.hits
        if first.score >= least_score and len(others) >= hard_negatives:
            docids = [hit.docid for hit in others]
            if recipe.data.choose_negatives == "spread":
                negatives = choose_negatives(docids, hard_negatives, recipe.data)
            else:
                negatives = docids[len(docids) - hard_negatives :]
            samples.append(Sample(ranking.qid, first.docid, tuple(negatives)))
    logger.info(
        "%s: %d of %d queries have a first hit with a score of %g or more and %d other hits",
        path,
        len(samples),
        len(rankings),
        least_score,
        hard_negatives,
    )
    if not samples:
        message = f"no query has a first hit with a score of {least_score} or more"
        cure = "lower least_score or hard_negatives"
        raise InputError(f"{message} and {hard_negatives} other hits; {cure}", path)
    return samples

"""Score the candidates of every query with teachers, once before training.

    spade train --stage teach --recipe my.toml --data-dir DIR --output runs/train.teachers

The candidates of a query are its relevant documents, followed by hits that are taken in turn from
the rankings of BM25 and of the first bi-encoder among the teachers. The setting ``candidates``
limits their number. Every teacher scores every candidate. The score of a candidate is the sum of
the teachers' scores, each multiplied by the teacher's ``weight``. The scores are not normalized for
each query: a cross-encoder's scores show whether any candidate answers the query at all, and the
softmax of distillation needs that.

``teacher.<corpus>.<topics>.txt`` is a TREC run with these scores, for the settings ``teacher`` and
``negatives``. ``teachers.json`` lists the teachers with their checksums. The folder ``cache`` holds
the scores of each teacher, so a killed stage continues where it stopped. If ``cache`` is
copied into the output folder of a recipe that changes only ``weight``, no score is computed again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.corpora.topics import read_topics, topics_name
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.json_files import write_json
from spade_pyserini.progress import progress_bar
from spade_pyserini.records import Hit, Ranking, Topic
from spade_pyserini.search import write_run
from spade_pyserini.train.beyond.score_cache import ScoreCache
from spade_pyserini.train.beyond.scorers import BiEncoderScorer, Scorer, open_scorer
from spade_pyserini.train.documents import corpus_source, open_documents
from spade_pyserini.train.mine import bm25_hits
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.run import Run, start_accelerator
from spade_pyserini.train.samples import DataDir, spread

if TYPE_CHECKING:
    from spade_pyserini.train.settings import TrainingCollection

logger = logging.getLogger(__name__)
STAGE = "teach"
BLOCK = 256  # queries whose scores are written to the cache at once


class Candidates(NamedTuple):
    """A topic and the documents that teachers score for it."""

    topic: Topic
    docids: list[str]


def teach(
    recipe: Recipe, output: str | Path, *, resume: bool = False, data_dir: DataDir = None
) -> list[Path]:
    """Write the teachers' scores for all training collections; returns the runs."""
    if not recipe.teaching.teachers:
        raise UsageError("the recipe names no teachers; add a table [[teaching.teachers]]")
    run = Run(STAGE, recipe, Path(output), data_dir)
    run.execute(_teach, resume=resume)
    return _paths(run)


def _paths(run: Run) -> list[Path]:
    """Return the paths of the runs to write, one for each training collection."""
    paths = []
    for collection in run.recipe.training_collections:
        if not (collection.corpus and collection.queries):
            message = "every training collection needs the settings corpus and queries"
            raise UsageError(f"recipe: for the stage teach, {message}")
        corpus = open_documents(collection, run.data_dir).name
        topics = topics_name(collection.queries, data_dir=run.data_dir)
        paths.append(run.folder / f"teacher.{corpus}.{topics}.txt")
    if len(set(paths)) < len(paths):
        raise UsageError("recipe: two collections have the same corpus and queries; remove one")
    return paths


def _teach(run: Run) -> None:
    accelerator = start_accelerator(run.recipe, single_process=True)
    paths = _paths(run)
    teachers = run.recipe.teaching.teachers
    scorers = [open_scorer(teacher, ScoreCache(run.folder / "cache")) for teacher in teachers]
    run.claim(accelerator)
    for path, collection in zip(paths, run.recipe.training_collections, strict=True):
        if not path.exists():
            _score_collection(run, collection, scorers, path)
    records = [
        {**asdict(teacher), "sha256": scorer.digest}
        for teacher, scorer in zip(teachers, scorers, strict=True)
    ]
    write_json(run.folder / "teachers.json", {"teachers": records})


def _score_collection(
    run: Run, collection: TrainingCollection, scorers: list[Scorer], path: Path
) -> None:
    texts = {
        document.docid: document.contents for document in open_documents(collection, run.data_dir)
    }
    candidates = list(_candidates(run, collection, scorers, texts))
    weights = [teacher.weight for teacher in run.recipe.teaching.teachers]
    logger.info("%s: %d queries", path, len(candidates))
    rankings = _score(candidates, texts, scorers, weights, path.name)
    write_run(rankings, path, "teachers", overwrite=True)


def _candidates(
    run: Run, collection: TrainingCollection, scorers: list[Scorer], texts: dict[str, str]
) -> Iterator[Candidates]:
    """Yield the candidates of each query. Queries with fewer than two candidates are left out."""
    number = run.recipe.teaching.candidates
    topics = spread(read_topics(collection.queries, data_dir=run.data_dir), collection.sample)
    judged = read_qrels(collection.qrels, data_dir=run.data_dir) if collection.qrels else {}
    rankings = [bm25_hits(corpus_source(collection), topics, run.folder, number, run.data_dir)]
    if dense := next((x for x in scorers if isinstance(x, BiEncoderScorer)), None):
        rankings.append(dense.search(topics, texts, number))
    for topic in topics:
        hits = [ranking.get(topic.qid, []) for ranking in rankings]
        grades = judged.get(topic.qid, {})
        relevant = [docid for docid, grade in grades.items() if grade > 0 and docid in texts]
        in_turn = chain(relevant[:number], *zip_longest(*hits))
        docids = list(islice(dict.fromkeys(docid for docid in in_turn if docid), number))
        if len(docids) > 1:
            yield Candidates(topic, docids)


def _score(
    candidates: list[Candidates],
    texts: dict[str, str],
    scorers: list[Scorer],
    weights: Sequence[float],
    name: str,
) -> Iterator[Ranking]:
    """Rank the candidates of each query by the weighted sum of all teachers' scores."""
    starts = range(0, len(candidates), BLOCK)
    for start in progress_bar(starts, name, "blocks", len(starts)):
        block = candidates[start : start + BLOCK]
        pairs = [(topic.text, texts[docid]) for topic, docids in block for docid in docids]
        columns: list[Any] = [
            weight * scorer.scores(pairs) for weight, scorer in zip(weights, scorers, strict=True)
        ]
        total = iter(np.sum(columns, axis=0).tolist())
        for topic, docids in block:
            hits = [Hit(docid, next(total)) for docid in docids]
            yield Ranking(topic.qid, sorted(hits, key=lambda hit: -hit.score))

"""Training samples: a query, its positive document and its hard negatives."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import torch

from spade_pyserini.corpora import open_corpus
from spade_pyserini.errors import InputError, UsageError
from spade_pyserini.evaluate.qrels import read_qrels
from spade_pyserini.files import read_lines
from spade_pyserini.search.run import read_run
from spade_pyserini.topics import read_topics
from spade_pyserini.train.recipe import Recipe

logger = logging.getLogger(__name__)


class Sample(NamedTuple):
    """Ids of a query, a document that is relevant for it, and documents that are not."""

    qid: str
    positive: str
    negatives: tuple[str, ...]


class TrainingData(NamedTuple):
    """All samples with the texts of their queries and documents.

    ``teacher`` has, by query and document, the scores of a stronger model, or nothing.
    """

    samples: list[Sample]
    queries: dict[str, str]
    documents: dict[str, str]
    teacher: dict[str, dict[str, float]]


def load_training_data(recipe: Recipe) -> TrainingData:
    """Read what the recipe names; ids that do not meet are errors."""
    recipe.require("corpus", "queries")
    if (recipe.qrels is None) == (recipe.triples is None):
        raise UsageError("the recipe needs either qrels or triples; add --set qrels=...")
    queries = {topic.qid: topic.text for topic in read_topics(recipe.queries)}
    if recipe.triples is not None:
        samples = list(read_triples(Path(recipe.triples)))
    else:
        samples = _from_qrels(recipe, queries)
    for sample in samples:
        if sample.qid not in queries:
            raise InputError(f"no topic has the id {sample.qid!r}", recipe.queries)
    wanted = {docid for sample in samples for docid in (sample.positive, *sample.negatives)}
    expansions = read_expansions(Path(recipe.expansions)) if recipe.expansions else {}
    documents = {
        document.docid: f"{document.contents} {expansions.get(document.docid, '')}".strip()
        for document in open_corpus(recipe.corpus)
        if document.docid in wanted
    }
    if missing := sorted(wanted - documents.keys()):
        message = f"{len(missing)} documents of the samples are not in the corpus, {missing[0]!r}"
        raise InputError(f"{message} among them", recipe.corpus)
    logger.info("%d samples, %d documents", len(samples), len(documents))
    teacher = read_teacher(Path(recipe.teacher), samples) if recipe.teacher else {}
    return TrainingData(samples, queries, documents, teacher)


def read_triples(path: Path) -> Iterator[Sample]:
    """MS MARCO's triples of ids: ``qid <tab> positive <tab> negative``."""
    found = False
    for number, line in read_lines(path):
        parts = line.split("\t")
        if len(parts) != 3 or not all(parts):
            raise InputError("expected `qid <tab> positive <tab> negative`", path, number)
        found = True
        yield Sample(parts[0], parts[1], (parts[2],))
    if not found:
        raise InputError("the file holds no triple", path)


def read_teacher(path: Path, samples: list[Sample]) -> dict[str, dict[str, float]]:
    """Scores from a TREC run; it has to know every document of every sample."""
    scores = {ranking.qid: dict(ranking.hits) for ranking in read_run(path)}
    for sample in samples:
        for docid in (sample.positive, *sample.negatives):
            if docid not in scores.get(sample.qid, {}):
                raise InputError(f"no score of {docid!r} for the query {sample.qid!r}", path)
        if not sample.negatives:
            message = f"the query {sample.qid!r} has no hard negative to compare with"
            raise InputError(f"{message}; distillation needs them", path)
    return scores


def read_expansions(path: Path) -> dict[str, str]:
    """Text to append to documents: ``docid <tab> text``."""
    expansions: dict[str, str] = {}
    for number, line in read_lines(path):
        docid, tab, text = line.partition("\t")
        if not tab or not docid:
            raise InputError("expected `docid <tab> text`", path, number)
        if not text.strip():
            raise InputError(f"the expansion of {docid!r} is empty", path, number)
        expansions[docid] = text
    if not expansions:
        raise InputError("the file holds no expansion", path)
    return expansions


def _from_qrels(recipe: Recipe, queries: dict[str, str]) -> list[Sample]:
    """One sample for each relevant document; the negatives are the best of the run."""
    qrels = read_qrels(recipe.qrels or "")
    ranked: dict[str, list[str]] = {}
    if recipe.negatives:
        for ranking in read_run(recipe.negatives):
            ranked[ranking.qid] = [hit.docid for hit in ranking.hits]
    wanted = recipe.hard_negatives if recipe.negatives else 0
    samples: list[Sample] = []
    without: list[str] = []
    for qid, judged in qrels.items():
        positives = [docid for docid, grade in judged.items() if grade > 0]
        hard = [docid for docid in ranked.get(qid, []) if judged.get(docid, 0) <= 0][:wanted]
        if not positives or len(hard) < wanted:
            without.append(qid)
            continue
        samples.extend(Sample(qid, positive, tuple(hard)) for positive in positives)
    if without:
        logger.warning(
            "%d of %d queries are left out, without a positive or enough negatives: %s",
            len(without),
            len(qrels),
            ", ".join(without[:5]),
        )
    if not samples:
        raise InputError(
            "no query has a positive document and enough negatives", recipe.qrels or ""
        )
    return samples


class SampleStream:
    """Samples in an order that follows from the seed alone, epoch after epoch.

    ``position`` is all the state there is: the number of samples handed out.
    """

    def __init__(self, size: int, seed: int, position: int = 0) -> None:
        self.size, self.seed, self.position = size, seed, position
        self._epoch, self._order = -1, torch.empty(0)

    def take(self, count: int) -> list[int]:
        """The next ``count`` samples, as places in the list of samples."""
        taken = []
        for _ in range(count):
            epoch, place = divmod(self.position, self.size)
            if epoch != self._epoch:
                generator = torch.Generator().manual_seed(self.seed * 1_000_003 + epoch)
                self._epoch, self._order = epoch, torch.randperm(self.size, generator=generator)
            taken.append(int(self._order[place]))
            self.position += 1
        return taken

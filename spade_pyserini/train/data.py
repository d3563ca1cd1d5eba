"""Training data: samples of all collections, with the texts of their queries and documents."""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.corpora import apply_transforms
from spade_pyserini.corpora.topics import read_topics
from spade_pyserini.errors import InputError, UsageError
from spade_pyserini.formats.runs import read_run
from spade_pyserini.train.documents import open_documents
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.samples import (
    DataDir,
    Sample,
    read_triples,
    samples_from_qrels,
    spread,
)
from spade_pyserini.train.settings import TrainingCollection

logger = logging.getLogger(__name__)


SampleSource = Callable[[TrainingCollection, Recipe], list[Sample]]


class TrainingData(NamedTuple):
    """All samples with the texts of their queries and documents.

    ``samples`` holds the samples of one collection after the other, and ``sizes`` holds the number
    of samples of each collection. ``teacher`` holds the scores of a teacher's run by query and
    document, if there is such a run. With several collections, ids begin with the number of the
    collection and a slash.
    """

    samples: list[Sample]
    queries: dict[str, str]
    documents: dict[str, str]
    teacher: dict[str, dict[str, float]]
    sizes: list[int]

    def collection(self, sample: int) -> int:
        """Return the number of the collection that the sample with this index comes from."""
        return bisect_right(list(accumulate(self.sizes)), sample)

    def query_texts(self, samples: list[int]) -> list[str]:
        """Return the query texts of samples, which are given as indexes."""
        return [self.queries[self.samples[sample].qid] for sample in samples]

    def documents_by_collection(self) -> list[list[str]]:
        """Return the texts of the documents of each collection."""
        if len(self.sizes) == 1:
            return [list(self.documents.values())]
        texts: list[list[str]] = [[] for _ in self.sizes]
        for docid, text in self.documents.items():
            texts[int(docid.partition("/")[0])].append(text)
        return texts


def load_training_data(
    recipe: Recipe, data_dir: DataDir = None, unlabelled: SampleSource | None = None
) -> TrainingData:
    """Read all collections of the recipe; names are looked up below ``data_dir``.

    ``unlabelled`` returns the samples of a collection that has neither qrels nor triples.
    """
    collections = recipe.training_collections
    if len({bool(collection.teacher) for collection in collections}) > 1:
        raise UsageError("recipe: set teacher for all collections, or for none of them")
    parts = [
        _load_collection(collection, recipe, data_dir, unlabelled) for collection in collections
    ]
    data = parts[0] if len(parts) == 1 else _merge(parts)
    if data.teacher and len({len(sample.negatives) for sample in data.samples}) > 1:
        message = "with a teacher's run, all samples must have the same number of negatives"
        cure = "samples of triples have one negative, so set hard_negatives=1"
        raise UsageError(f"recipe: {message}; {cure}")
    return data


def _merge(parts: list[TrainingData]) -> TrainingData:
    """Join the data of several collections; ids get the number of their collection as a prefix."""
    merged = TrainingData([], {}, {}, {}, [])
    for number, part in enumerate(parts):
        prefix = f"{number}/"
        for qid, positive, negatives in part.samples:
            named = tuple(prefix + docid for docid in negatives)
            merged.samples.append(Sample(prefix + qid, prefix + positive, named))
        merged.queries.update({prefix + qid: text for qid, text in part.queries.items()})
        merged.documents.update({prefix + docid: text for docid, text in part.documents.items()})
        for qid, scores in part.teacher.items():
            merged.teacher[prefix + qid] = {prefix + docid: scores[docid] for docid in scores}
        merged.sizes.extend(part.sizes)
    return merged


def _load_collection(
    collection: TrainingCollection,
    recipe: Recipe,
    data_dir: DataDir,
    unlabelled: SampleSource | None,
) -> TrainingData:
    for name in ("corpus", "queries"):
        if not getattr(collection, name):
            raise UsageError(f"the recipe names no {name}; add {name}=NAME")
    topics = read_topics(collection.queries, data_dir=data_dir)
    queries = {topic.qid: topic.text for topic in topics}
    sampled = {topic.qid for topic in spread(topics, collection.sample)}
    chosen = sampled if collection.sample else None
    samples = _read_samples(collection, recipe, data_dir, unlabelled, chosen)
    for sample in samples:
        if sample.qid not in queries:
            raise InputError(f"no topic has the id {sample.qid!r}", collection.queries)
    samples = [sample for sample in samples if sample.qid in sampled]
    documents = _read_documents(collection, samples, data_dir)
    samples = _with_documents(collection, samples, documents)
    used = {sample.qid for sample in samples}
    queries = {qid: text for qid, text in queries.items() if qid in used}
    logger.info(
        "%s: %d training pairs, from %d queries; training reads %d documents: those of the pairs "
        "and their negatives",
        collection.corpus,
        len(samples),
        len(queries),
        len(documents),
    )
    teacher = read_teacher(Path(collection.teacher), samples) if collection.teacher else {}
    return TrainingData(samples, queries, documents, teacher, [len(samples)])


def _read_samples(
    collection: TrainingCollection,
    recipe: Recipe,
    data_dir: DataDir,
    unlabelled: SampleSource | None,
    qids: set[str] | None,
) -> list[Sample]:
    if collection.qrels and collection.triples:
        raise UsageError("the recipe has both qrels and triples; remove one of them")
    if collection.triples is not None:
        return list(read_triples(Path(collection.triples)))
    if collection.qrels is not None:
        return samples_from_qrels(collection, recipe.data, data_dir, qids)
    if unlabelled is None:
        raise UsageError("the recipe needs qrels or triples; add qrels=NAME")
    return unlabelled(collection, recipe)


def _read_documents(
    collection: TrainingCollection, samples: list[Sample], data_dir: DataDir
) -> dict[str, str]:
    """Return the texts of the samples' documents by docid.

    Documents that are not in the corpus are left out.
    """
    wanted = {docid for sample in samples for docid in sample.docids}
    corpus = open_documents(collection, data_dir)
    return {
        document.docid: document.contents
        for document in apply_transforms(corpus, expansions=collection.expansions)
        if document.docid in wanted
    }


def _with_documents(
    collection: TrainingCollection, samples: list[Sample], documents: dict[str, str]
) -> list[Sample]:
    """Return the samples whose documents are all in the corpus."""
    missing = sorted({docid for sample in samples for docid in sample.docids} - documents.keys())
    if not missing:
        return samples
    complete = [sample for sample in samples if documents.keys() >= set(sample.docids)]
    message = (
        f"{len(missing)} documents of the samples are not in the corpus, for example {missing[0]!r}"
    )
    # Judgements often name documents that a version of a corpus lacks; triples should not.
    if collection.triples or not complete:
        raise InputError(message, collection.corpus)
    left_out = len(samples) - len(complete)
    logger.warning("%s: %s; %d samples are left out", collection.corpus, message, left_out)
    return complete


def read_teacher(path: Path, samples: list[Sample]) -> dict[str, dict[str, float]]:
    """Return the scores of a TREC run by query and document.

    Raises `InputError` if a document of a sample has no score, or if a sample has no negative.
    """
    scores = {ranking.qid: dict(ranking.hits) for ranking in read_run(path)}
    for sample in samples:
        for docid in sample.docids:
            if docid not in scores.get(sample.qid, {}):
                message = f"no score of {docid!r} for the query {sample.qid!r}"
                raise InputError(f"{message}; a teacher must score all documents of samples", path)
        if not sample.negatives:
            message = f"the query {sample.qid!r} has no hard negative"
            raise InputError(
                f"{message}; distillation needs one: set negatives and hard_negatives=1 or more",
                path,
            )
    return scores

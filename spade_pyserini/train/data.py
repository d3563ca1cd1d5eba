"""Training samples: a query, its positive document and its hard negatives."""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from spade_pyserini.corpora import apply_transforms, open_corpus
from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.corpora.topics import read_topics
from spade_pyserini.errors import InputError, UsageError
from spade_pyserini.formats.files import read_lines
from spade_pyserini.formats.runs import read_run
from spade_pyserini.train.recipe import Recipe, TrainingCollection

logger = logging.getLogger(__name__)


class Sample(NamedTuple):
    """Ids of a query, a document that is relevant for it, and documents that are not."""

    qid: str
    positive: str
    negatives: tuple[str, ...]


class TrainingData(NamedTuple):
    """All samples with the texts of their queries and documents.

    ``teacher`` has, by query and document, the scores of a stronger model, or nothing. ``sizes``
    are the numbers of samples of each collection, one after the other in ``samples``. With several
    collections, ids begin with the number of theirs.
    """

    samples: list[Sample]
    queries: dict[str, str]
    documents: dict[str, str]
    teacher: dict[str, dict[str, float]]
    sizes: list[int]

    def collection(self, place: int) -> int:
        """The number of the collection that the sample at a place is from."""
        return bisect_right(list(accumulate(self.sizes)), place)

    def documents_by_collection(self) -> list[list[str]]:
        """The texts of each collection."""
        if len(self.sizes) == 1:
            return [list(self.documents.values())]
        texts: list[list[str]] = [[] for _ in self.sizes]
        for docid, text in self.documents.items():
            texts[int(docid.partition("/")[0])].append(text)
        return texts


def load_training_data(recipe: Recipe) -> TrainingData:
    """Read what the recipe names; ids that do not meet are errors."""
    whole = TrainingData([], {}, {}, {}, [])
    several = len(recipe.collections) > 1
    for number, collection in enumerate(recipe.collections):
        prefix = f"{number}/" if several else ""
        part = _load_collection(collection, recipe.hard_negatives, bool(recipe.dense_teacher))
        whole.samples.extend(
            Sample(
                prefix + one.qid, prefix + one.positive, tuple(prefix + x for x in one.negatives)
            )
            for one in part.samples
        )
        whole.queries.update({prefix + qid: text for qid, text in part.queries.items()})
        whole.documents.update({prefix + docid: text for docid, text in part.documents.items()})
        for qid, known in part.teacher.items():
            whole.teacher[prefix + qid] = {prefix + docid: known[docid] for docid in known}
        whole.sizes.extend(part.sizes)
    if len({bool(collection.teacher) for collection in recipe.collections}) > 1:
        raise UsageError("recipe: either all collections have a teacher or none")
    if whole.teacher and len({len(one.negatives) for one in whole.samples}) > 1:
        message = "of a teacher's file, all samples need as many negatives"
        raise UsageError(f"recipe: {message}; triples have one, others hard_negatives")
    return whole


def _load_collection(
    collection: TrainingCollection, hard_negatives: int, taught: bool
) -> TrainingData:
    for name in ("corpus", "queries"):
        if not getattr(collection, name):
            raise UsageError(f"the recipe names no {name}; add --set {name}=...")
    if collection.qrels and collection.triples:
        raise UsageError("the recipe has both qrels and triples; one of them is enough")
    queries = {topic.qid: topic.text for topic in read_topics(collection.queries)}
    if collection.triples is not None:
        samples = list(read_triples(Path(collection.triples)))
    elif collection.qrels is not None:
        samples = _from_qrels(collection, hard_negatives)
    elif collection.negatives is not None:
        if not (taught or collection.teacher):
            message = f"nobody says what is relevant in {collection.corpus}"
            raise UsageError(f"recipe: {message}; give qrels, triples or a teacher")
        samples = _from_run(Path(collection.negatives), collection.least_score, hard_negatives)
    else:
        raise UsageError("the recipe needs qrels, triples or a run; add --set qrels=...")
    for sample in samples:
        if sample.qid not in queries:
            raise InputError(f"no topic has the id {sample.qid!r}", collection.queries)
    wanted = {docid for sample in samples for docid in (sample.positive, *sample.negatives)}
    documents = {
        document.docid: document.contents
        for document in apply_transforms(
            open_corpus(collection.corpus), expansions=collection.expansions
        )
        if document.docid in wanted
    }
    if missing := sorted(wanted - documents.keys()):
        message = f"{len(missing)} documents of the samples are not in the corpus, {missing[0]!r}"
        known = [one for one in samples if {one.positive, *one.negatives} <= documents.keys()]
        # Judgements often name documents that a version of a corpus lacks; triples never should.
        if collection.triples or not known:
            raise InputError(f"{message} among them", collection.corpus)
        left_out = len(samples) - len(known)
        logger.warning("%s: %s; %d samples are left out", collection.corpus, message, left_out)
        samples = known
    used = {sample.qid for sample in samples}
    queries = {qid: text for qid, text in queries.items() if qid in used}
    logger.info(
        "%s: %d samples, %d queries, %d documents",
        collection.corpus,
        len(samples),
        len(queries),
        len(documents),
    )
    teacher = read_teacher(Path(collection.teacher), samples) if collection.teacher else {}
    return TrainingData(samples, queries, documents, teacher, [len(samples)])


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


def _from_qrels(collection: TrainingCollection, hard_negatives: int) -> list[Sample]:
    """One sample for each relevant document; the negatives are the best of the run."""
    qrels = read_qrels(collection.qrels or "")
    ranked: dict[str, list[str]] = {}
    if collection.negatives:
        for ranking in read_run(collection.negatives):
            ranked[ranking.qid] = [hit.docid for hit in ranking.hits]
    wanted = hard_negatives if collection.negatives else 0
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
            "no query has a positive document and enough negatives", collection.qrels or ""
        )
    return samples


def _from_run(path: Path, least_score: float, hard_negatives: int) -> list[Sample]:
    """Nobody has judged: the first hit stands for a relevant document, the last ones do not."""
    samples: list[Sample] = []
    rankings = list(read_run(path))
    for ranking in rankings:
        first, *others = ranking.hits
        if first.score >= least_score and len(others) >= hard_negatives:
            last = others[len(others) - hard_negatives :]
            samples.append(Sample(ranking.qid, first.docid, tuple(hit.docid for hit in last)))
    logger.info(
        "%s: %d of %d queries have a hit that is good enough", path, len(samples), len(rankings)
    )
    if not samples:
        raise InputError(f"no query has a hit of {least_score} and enough others", path)
    return samples


class SampleStream:
    """Samples in an order that follows from the seed alone, epoch after epoch.

    What is taken at once comes from one collection, drawn by its share. ``state`` is all there
    is to keep: the number of draws, and the samples that each collection has handed out.
    """

    def __init__(self, sizes: list[int], seed: int, shares: list[float] | None = None) -> None:
        self.sizes, self.seed = sizes, seed
        self.shares = torch.tensor(shares or [1.0] * len(sizes))
        self.draws, self.positions = 0, [0] * len(sizes)
        self._orders: dict[int, tuple[int, Tensor]] = {}

    @property
    def state(self) -> list[int]:
        return [self.draws, *self.positions]

    @state.setter
    def state(self, value: list[int]) -> None:
        self.draws, *self.positions = value

    def take(self, count: int) -> list[int]:
        """The next ``count`` samples, as places in the list of all samples."""
        number = int(torch.multinomial(self.shares, 1, generator=self._random(self.draws)))
        self.draws += 1
        return [sum(self.sizes[:number]) + self._next(number) for _ in range(count)]

    def _next(self, number: int) -> int:
        epoch, place = divmod(self.positions[number], self.sizes[number])
        self.positions[number] += 1
        if number not in self._orders or self._orders[number][0] != epoch:
            order = torch.randperm(self.sizes[number], generator=self._random(epoch, number))
            self._orders[number] = epoch, order
        return int(self._orders[number][1][place])

    def _random(self, turn: int, number: int = 0) -> torch.Generator:
        return torch.Generator().manual_seed((self.seed * 1009 + number) * 1_000_003 + turn)

"""Training samples of one collection, from relevance judgements or triples."""

from __future__ import annotations

import logging
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.errors import InputError
from spade_pyserini.formats.lines import read_lines
from spade_pyserini.formats.runs import read_run
from spade_pyserini.train.settings import DataSettings, TrainingCollection

logger = logging.getLogger(__name__)
HARD_NEGATIVE = "hard negatives are documents of this run that are not relevant"
DataDir = str | Path | None
T = TypeVar("T")


class Sample(NamedTuple):
    """Ids of a query, a relevant document (d+), and hard negatives (part of N(q))."""

    qid: str
    positive: str
    negatives: tuple[str, ...]

    @property
    def docids(self) -> tuple[str, ...]:
        """The positive, then the negatives."""
        return (self.positive, *self.negatives)


def spread(items: Sequence[T], number: int) -> list[T]:
    """Return ``number`` items, spread evenly over the sequence.

    Returns all items if ``number`` is 0, or if there are not more than ``number`` items.
    """
    if not 0 < number < len(items):
        return list(items)
    return [items[position * len(items) // number] for position in range(number)]


def choose_negatives(docids: list[str], number: int, settings: DataSettings) -> list[str]:
    """Return ``number`` of the ranked documents, or all if there are fewer.

    ``settings.choose_negatives`` decides whether these are the first documents, or documents that
    are spread evenly over the ranking.
    """
    if settings.choose_negatives == "spread" and number:
        return spread(docids, number)
    return docids[:number]


def read_triples(path: Path) -> Iterator[Sample]:
    """Yield samples from MS MARCO's triples of ids: ``qid <tab> positive <tab> negative``."""
    empty = True
    for number, line in read_lines(path):
        parts = line.split("\t")
        if len(parts) != 3 or not all(parts):
            raise InputError("expected `qid <tab> positive <tab> negative`", path, number)
        empty = False
        yield Sample(parts[0], parts[1], (parts[2],))
    if empty:
        raise InputError("the file holds no triple", path)


def samples_from_qrels(
    collection: TrainingCollection,
    settings: DataSettings,
    data_dir: DataDir = None,
    qids: Container[str] | None = None,
) -> list[Sample]:
    """Return one sample for each relevant document in the collection's qrels.

    ``qids``: use only the judgements of these topics; None for all. The negatives of a sample are
    ``hard_negatives`` documents that the run ``negatives`` lists for the query and that are not
    relevant. Queries with fewer such documents are left out.
    """
    qrels, negatives = collection.qrels or "", collection.negatives
    ranked: dict[str, list[str]] = {}
    if negatives:
        for ranking in read_run(negatives):
            ranked[ranking.qid] = [hit.docid for hit in ranking.hits]
    wanted = settings.hard_negatives if negatives else 0
    samples: list[Sample] = []
    unjudged: list[str] = []
    without_negatives: list[str] = []
    judgements = read_qrels(qrels, data_dir=data_dir)
    if qids is not None:
        judgements = {qid: judged for qid, judged in judgements.items() if qid in qids}
    for qid, judged in judgements.items():
        positives = [docid for docid, grade in judged.items() if grade > 0]
        others = [docid for docid in ranked.get(qid, []) if judged.get(docid, 0) <= 0]
        hard = choose_negatives(others, wanted, settings)
        if not positives:
            unjudged.append(qid)
        elif len(hard) < wanted:
            without_negatives.append(qid)
        else:
            samples.extend(Sample(qid, positive, tuple(hard)) for positive in positives)
    number = "no hard negative" if wanted == 1 else f"fewer than {wanted} hard negatives"
    reasons = {
        f"{qrels} has no relevant document for them": unjudged,
        f"{negatives} has {number} for them: {HARD_NEGATIVE}": without_negatives,
    }
    for reason, left_out in reasons.items():
        if left_out:
            message = "%d of %d training queries (such as %s) are not used, because %s"
            shown = ", ".join(left_out[:5])
            logger.warning(message, len(left_out), len(judgements), shown, reason)
    if not samples:
        message = f"no query has a relevant document and {wanted} negatives"
        raise InputError(f"{message}; check the qrels, or lower hard_negatives", qrels)
    return samples

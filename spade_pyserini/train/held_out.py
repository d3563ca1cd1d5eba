"""Divide the queries of `finetune` into training queries and held-out validation queries."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.corpora.topics import read_topics
from spade_pyserini.errors import InputError
from spade_pyserini.formats.qrels import Qrels
from spade_pyserini.train.finetune_options import FinetuneInputs, FinetuneOptions, dev_files
from spade_pyserini.train.samples import DataDir, spread
from spade_pyserini.train.written_inputs import qrels_lines, write_inputs

logger = logging.getLogger(__name__)
DEV_SHARE = 0.2  # share of the queries that are held out for validation
MOST_DEV = 200  # maximum number of queries to validate on
LEAST_QUERIES = 10


class QuerySplit(NamedTuple):
    """Queries and judgements to train on and to validate on.

    train, dev: the names or paths of the queries and of the judgements. pairs: the number of
    training pairs. parts: the judgements that `write` writes, by path.
    """

    train: tuple[str, str]
    dev: tuple[str, str]
    pairs: int
    parts: dict[Path, Qrels]

    def write(self, run: Path) -> None:
        """Write two files: the judgements of the held-out queries and of the other queries.

        Raises `OutputExistsError` if the run in the folder ``run`` was trained with others.
        """
        write_inputs({path: qrels_lines(qrels) for path, qrels in self.parts.items()}, run)


def split_queries(
    options: FinetuneOptions, inputs: FinetuneInputs, folder: Path, data_dir: DataDir
) -> QuerySplit:
    """Return the queries to train on and to validate on.

    If the user gives no dev queries, a part of the queries is held out for validation.
    """
    queries, qrels, _ = inputs.train
    judged = read_qrels(qrels, data_dir=data_dir)
    known = {topic.qid for topic in read_topics(queries, data_dir=data_dir)}
    relevant = {
        qid: grades
        for qid, grades in judged.items()
        if qid in known and any(grade > 0 for grade in grades.values())
    }
    if len(relevant) < LEAST_QUERIES:
        message = f"queries with a relevant document: {len(relevant)}"
        source = options.pairs or options.qrels or qrels
        raise InputError(f"{message}; at least {LEAST_QUERIES} are needed", source)
    dev = dev_files(inputs, folder)
    if options.dev_qrels:
        pairs = _count_pairs(relevant.values())
        return QuerySplit((queries, qrels), dev, pairs, {})
    number = min(MOST_DEV, max(LEAST_QUERIES // 2, int(len(relevant) * DEV_SHARE)))
    held_out = set(spread(sorted(relevant), number))
    logger.info("%d of %d queries are held out for validation", number, len(relevant))
    train = folder / "train.qrels.txt"
    parts = {
        Path(dev[1]): {qid: grades for qid, grades in relevant.items() if qid in held_out},
        train: {qid: grades for qid, grades in relevant.items() if qid not in held_out},
    }
    return QuerySplit((queries, str(train)), dev, _count_pairs(parts[train].values()), parts)


def _count_pairs(judgements: Iterable[dict[str, int]]) -> int:
    """Count the relevant documents of each query, and return the sum."""
    return sum(grade > 0 for grades in judgements for grade in grades.values())

"""Read topics from a file, from a split of a collection, or from ir_datasets."""

from __future__ import annotations

import logging
from pathlib import Path

from spade_pyserini.corpora import irdatasets
from spade_pyserini.corpora.catalogue import suggest_names
from spade_pyserini.corpora.data_directory import find_file
from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.corpora.splits import resolve_split, split_names
from spade_pyserini.corpora.topic_tables import TopicColumns, topic_table
from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.formats.similar import did_you_mean
from spade_pyserini.formats.topics import read_topic_files, topic_file_stem
from spade_pyserini.formats.weighted_topics import VECTOR, read_weighted_topics
from spade_pyserini.records import Topic

logger = logging.getLogger(__name__)


def read_topics(
    name: str | Path,
    *,
    data_dir: str | Path | None = None,
    query_id_field: str | None = None,
    query_field: str | None = None,
) -> list[Topic]:
    """Return the topics of a file or of a split, in the order of the file.

    `spade_pyserini.corpora.splits` describes the names of splits. `spade_pyserini.formats.topics`
    and `spade_pyserini.corpora.topic_tables` describe the formats of files. For a split in files,
    only the topics that have relevance judgements are returned. For a split of ir_datasets, all
    topics are returned. A file with repeated or invalid ids, or without topics, is an error.

    In a table, ``query_id_field`` names the column of the ids, and ``query_field`` names the column
    of the texts. For JSON objects, both name fields. By default, the names are guessed. With
    ``query_id_field=":row"``, the id is the number of the row, from 1.
    """
    chosen = TopicColumns(query_id_field, query_field)
    if path := find_file(name, data_dir):
        return read_topic_files([path], topic_table(path, chosen))
    split = resolve_split(name, data_dir=data_dir)
    if split is None:
        message = f"there are no topics and no file with the name {str(name)!r}"
        names = suggest_names(str(name), split_names(data_dir))
        raise NotFoundError(f"{message}; {did_you_mean(name)}{names}")
    chosen.refuse(f"{name} is a split of a collection, not a table")
    if split.dataset:
        return list(irdatasets.topics(split.dataset))
    qrels = read_qrels(name, data_dir=data_dir)
    topics = [topic for topic in read_topic_files(split.queries) if topic.qid in qrels]
    if not topics:
        message = f"no topic has judgements in {name}; check that the qrels have the same topic ids"
        raise InputError(message, split.queries[0])
    if missing := len(qrels) - len(topics):
        logger.warning("%s: %d of %d judged topics have no query", name, missing, len(qrels))
    return topics


def read_encoded_topics(
    name: str | Path, field: str = VECTOR, *, data_dir: str | Path | None = None
) -> dict[str, dict[str, int]]:
    """Return the term weights of encoded topics in a file, by topic id.

    In JSON lines, ``field`` is the field that has the vector; see `formats.weighted_topics`.
    """
    path = find_file(name, data_dir)
    if path is None:
        raise NotFoundError(f"{name}: no such file; encoded topics are read only from files")
    return read_weighted_topics(path, field)


def topics_name(name: str | Path, *, data_dir: str | Path | None = None) -> str:
    """Return the name of the topics, for use in the file name of a run.

    ``dir/topics.dl19-passage.tsv.gz`` gives ``dl19-passage``; ``scifact/test`` gives
    ``scifact-test``.
    """
    if not find_file(name, data_dir) and (split := resolve_split(name, data_dir=data_dir)):
        return split.name
    return topic_file_stem(Path(name))

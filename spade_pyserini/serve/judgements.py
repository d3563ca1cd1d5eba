"""Find the relevance judgements of a typed query that has the same text as a judged topic."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.corpora.qrels import read_qrels, relevance_level
from spade_pyserini.corpora.qrels_tables import GUESSED_QRELS, QrelsColumns
from spade_pyserini.corpora.topic_tables import GUESSED_TOPICS, TopicColumns
from spade_pyserini.corpora.topics import read_topics
from spade_pyserini.errors import NotFoundError
from spade_pyserini.records import Topic

EXAMPLES = 6  # topics that the page shows before the first search


class JudgedTopic(NamedTuple):
    """A topic with its grades by document id. A grade of ``level`` or more means relevant."""

    qid: str
    text: str
    grades: dict[str, int]
    level: int

    @property
    def relevant(self) -> int:
        """The number of relevant documents."""
        return sum(grade >= self.level for grade in self.grades.values())


class Judgements:
    """Judged topics, which `find` looks up by their texts."""

    def __init__(self, topics: Iterable[JudgedTopic] = ()) -> None:
        self._topics = {_key(topic.text): topic for topic in topics}

    def find(self, query: str) -> JudgedTopic | None:
        """Return the topic whose text is the query; case and spaces do not matter."""
        return self._topics.get(_key(query))

    def examples(self) -> list[str]:
        """Return the texts of a few topics that have a relevant document."""
        texts = [topic.text for topic in self._topics.values() if topic.relevant]
        return texts[:: max(1, len(texts) // EXAMPLES)][:EXAMPLES]

    def __len__(self) -> int:
        return len(self._topics)


def read_judgements(
    names: Iterable[str],
    topics: str | None = None,
    *,
    data_dir: str | Path | None = None,
    topic_columns: TopicColumns = GUESSED_TOPICS,
    qrels_columns: QrelsColumns = GUESSED_QRELS,
) -> Judgements:
    """Read relevance judgements and their topics.

    names: qrels files, or splits such as ``pydoc/test``, which include topics.
    topics: the split or file with the topics; required if ``names`` has qrels files.
    topic_columns, qrels_columns: the columns to read if the files of topics or qrels are tables.
    """
    judged = []
    for name in names:
        qrels = read_qrels(name, data_dir=data_dir, **qrels_columns._asdict())
        level = relevance_level(name, data_dir=data_dir)
        for topic in _read_topics(name, topics, topic_columns, data_dir):
            if topic.qid in qrels:
                judged.append(JudgedTopic(topic.qid, topic.text, qrels[topic.qid], level))
    if names and not judged:
        raise NotFoundError("no topic has a judgement; give the matching topics with topics=NAME")
    return Judgements(judged)


def _read_topics(
    name: str, topics: str | None, columns: TopicColumns, data_dir: str | Path | None
) -> Iterable[Topic]:
    if topics is None and Path(name).is_file():
        message = f"{name} has judgements, but not the texts of their topics"
        raise NotFoundError(f"{message}; give the topics with topics=FILE")
    return read_topics(topics or name, data_dir=data_dir, **columns._asdict())


def _key(text: str) -> str:
    return " ".join(text.casefold().split())

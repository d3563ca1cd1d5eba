"""Topics: queries with ids, by name or from a file."""

from spade_pyserini.topics.read import read_topics
from spade_pyserini.topics.wordpieces import write_wordpiece_topics

__all__ = ["read_topics", "write_wordpiece_topics"]

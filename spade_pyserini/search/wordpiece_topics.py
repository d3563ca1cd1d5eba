"""Write topics as terms, so that Pyserini can search them without tokenizer or query encoder.

``python -m pyserini.search.lucene --impact`` without an encoder splits topics at spaces and weights
each term by its count. A line of distinct WordPieces is therefore exactly SpaDE's boolean query,
and a term that is repeated has a larger weight.
"""

from __future__ import annotations

import logging
from pathlib import Path

from spade_pyserini.formats.outputs import refuse_existing
from spade_pyserini.formats.weighted_topics import write_weighted_topics
from spade_pyserini.models.queries import BooleanQueries, QueryEncoder
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.records import Topic

logger = logging.getLogger(__name__)


def write_wordpiece_topics(
    topics: list[Topic], wordpieces: WordPieces, output: str | Path, overwrite: bool = False
) -> None:
    """Write a line ``qid <tab> term term ...`` with the distinct WordPieces of each topic."""
    write_encoded_topics(topics, BooleanQueries(wordpieces), output, overwrite)


def write_encoded_topics(
    topics: list[Topic], queries: QueryEncoder, output: str | Path, overwrite: bool = False
) -> None:
    """Write a line for each topic; a term is repeated as often as its weight.

    A topic without any term is written as ``[UNK]``, and a warning is logged.
    """
    # Report an existing output before the queries are encoded, because that takes long.
    refuse_existing(Path(output), overwrite)
    weights = queries.encode([topic.text for topic in topics])
    pairs = zip((topic.qid for topic in topics), weights, strict=True)
    without_terms = write_weighted_topics(pairs, Path(output), overwrite)
    if without_terms:
        count, examples = len(without_terms), ", ".join(without_terms[:5])
        logger.warning("%d topics have no WordPiece: %s", count, examples)

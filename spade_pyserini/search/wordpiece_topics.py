"""Write topics as WordPieces, so that plain Pyserini can search without a tokenizer.

``python -m pyserini.search.lucene --impact`` without an encoder splits topics at spaces and weights
each term by its count. A line of distinct WordPieces is therefore exactly SpaDE's boolean query.
"""

from __future__ import annotations

import logging
from pathlib import Path

from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.outputs import refuse_existing
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.records import Topic

UNKNOWN = "[UNK]"
logger = logging.getLogger(__name__)


def write_wordpiece_topics(
    topics: list[Topic], wordpieces: WordPieces, output: str | Path, overwrite: bool = False
) -> None:
    """Write a line ``qid <tab> term term ...`` for each topic.

    Anserini cannot read an empty topic, so a topic without any term is written as `UNKNOWN`, which
    no index contains, and a warning is logged.
    """
    path = Path(output)
    refuse_existing(path, overwrite)
    without_terms = []
    with atomic_write(path) as stream:
        for topic in topics:
            terms = wordpieces.query_terms(topic.text)
            if not terms:
                without_terms.append(topic.qid)
            stream.write(f"{topic.qid}\t{' '.join(terms or [UNKNOWN])}\n".encode())
    if without_terms:
        count, examples = len(without_terms), ", ".join(without_terms[:5])
        logger.warning("%d topics have no WordPiece: %s", count, examples)

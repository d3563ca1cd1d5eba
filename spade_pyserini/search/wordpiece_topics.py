"""Topics as boolean WordPieces, so that plain Pyserini needs no tokenizer.

``python -m pyserini.search.lucene --impact`` without an encoder splits topics at spaces and
counts: a line of distinct WordPieces is exactly SpaDE's query.
"""

from __future__ import annotations

import logging
from pathlib import Path

from spade_pyserini.formats.files import atomic_write, refuse_existing
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.records import Topic

UNKNOWN = "[UNK]"
logger = logging.getLogger(__name__)


def write_wordpiece_topics(
    topics: list[Topic], wordpieces: WordPieces, output: str | Path, overwrite: bool = False
) -> None:
    """Write ``id <tab> term term ...``.

    A topic without any term is reported and written as `UNKNOWN`, which no index has: Anserini
    cannot read an empty topic.
    """
    path = Path(output)
    refuse_existing(path, overwrite)
    without = []
    with atomic_write(path) as stream:
        for topic in topics:
            terms = wordpieces.query_terms(topic.text)
            if not terms:
                without.append(topic.qid)
            stream.write(f"{topic.qid}\t{' '.join(terms or [UNKNOWN])}\n".encode())
    if without:
        logger.warning("%d topics have no WordPiece: %s", len(without), ", ".join(without[:5]))

"""Measures by how many terms topics and answers share.

The paper's Table 3. A topic is of the kind ``Match all`` if a relevant document has all its
WordPieces, ``Match <=1`` if the best relevant document has one of them or none, else ``Match >1``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from spade_pyserini.records import Document, Topic

if TYPE_CHECKING:
    from spade_pyserini.models.wordpieces import WordPieces

logger = logging.getLogger(__name__)
KINDS = ("Match <=1", "Match >1", "Match all")
MEASURES = ("MRR@10", "R@1000", "MAP")


def kinds_of_topics(
    topics: Iterable[Topic],
    qrels: dict[str, dict[str, int]],
    documents: Iterable[Document],
    wordpieces: WordPieces,
    level: int = 1,
) -> dict[str, str]:
    """The kind of each topic that has a relevant document, by topic id."""
    terms = {topic.qid: set(wordpieces.query_terms(topic.text)) for topic in topics}
    relevant: dict[str, list[str]] = {}
    for qid, judged in qrels.items():
        for docid, grade in judged.items():
            if grade >= level and qid in terms:
                relevant.setdefault(docid, []).append(qid)
    overlap: dict[str, int] = {}
    for document in documents:
        if document.docid in relevant:
            has = set(wordpieces.query_terms(document.contents))
            for qid in relevant[document.docid]:
                overlap[qid] = max(overlap.get(qid, 0), len(terms[qid] & has))
    return {qid: _kind(count, len(terms[qid])) for qid, count in overlap.items()}


def _kind(matched: int, wanted: int) -> str:
    if matched == wanted and wanted:
        return KINDS[2]
    return KINDS[0] if matched <= 1 else KINDS[1]

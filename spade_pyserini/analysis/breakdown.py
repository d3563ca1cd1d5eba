"""Classify topics by the number of terms that they share with their relevant documents.

This is the paper's Table 3. A topic is of the kind ``Match all`` if a relevant document has all
WordPieces of the topic. Any other topic is of the kind ``Match <=1`` if no relevant document has
more than one of its WordPieces, else ``Match >1``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from spade_pyserini.formats.qrels import Qrels
from spade_pyserini.records import Document, Topic

if TYPE_CHECKING:
    from spade_pyserini.models.wordpieces import WordPieces

KINDS = ("Match <=1", "Match >1", "Match all")
MEASURES = ("MRR@10", "R@1000", "MAP")


def kinds_of_topics(
    topics: Iterable[Topic],
    qrels: Qrels,
    documents: Iterable[Document],
    wordpieces: WordPieces,
    level: int = 1,
) -> dict[str, str]:
    """Return the kind of each topic that has a relevant document in ``documents``, by topic id.

    A document is relevant if its grade is at least ``level``.
    """
    topic_terms = {topic.qid: set(wordpieces.query_terms(topic.text)) for topic in topics}
    topics_by_document: dict[str, list[str]] = {}
    for qid, judged in qrels.items():
        for docid, grade in judged.items():
            if grade >= level and qid in topic_terms:
                topics_by_document.setdefault(docid, []).append(qid)
    overlap: dict[str, int] = {}
    for document in documents:
        if document.docid in topics_by_document:
            terms = set(wordpieces.query_terms(document.contents))
            for qid in topics_by_document[document.docid]:
                overlap[qid] = max(overlap.get(qid, 0), len(topic_terms[qid] & terms))
    return {qid: _kind(shared, len(topic_terms[qid])) for qid, shared in overlap.items()}


def _kind(shared: int, terms: int) -> str:
    if shared == terms and terms:
        return KINDS[2]
    return KINDS[0] if shared <= 1 else KINDS[1]

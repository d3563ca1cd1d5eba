"""Check topics before a search: refuse WordPieces, and log words that match nothing."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

from spade_pyserini.errors import UsageError
from spade_pyserini.formats.tables import counted
from spade_pyserini.records import Topic

if TYPE_CHECKING:
    from spade_pyserini.models.wordpieces import WordPieces
    from spade_pyserini.search.impact import ImpactSearcher

CONTINUATION = re.compile(r"\s##\w")  # a WordPiece that continues a word
# Topics are refused if more than this share of them has a continuation. Of MS MARCO's topics, 48 %
# have one when they are written as WordPieces.
SUSPICIOUS_SHARE = 1 / 3

logger = logging.getLogger(__name__)


def refuse_wordpieces(topics: list[Topic], wordpieces: WordPieces) -> None:
    """Raise `UsageError` if topics are WordPieces already, as ``spade topics`` writes them.

    The searcher would split them a second time, without an error, into other terms.
    """
    vocabulary = frozenset(wordpieces.terms)
    for topic in topics:
        words = topic.text.split()
        if any(word.startswith("##") for word in words[1:]) and vocabulary.issuperset(words):
            message = f"topic {topic.qid} holds WordPieces already ({topic.text[:60]!r})"
            cure = "give plain text, or pre_encoded=True to search for these WordPieces"
            raise UsageError(f"{message}; {cure}")
    pieces = [topic for topic in topics if CONTINUATION.search(topic.text)]
    if len(pieces) > SUSPICIOUS_SHARE * len(topics):
        message = f"{len(pieces)} of {len(topics)} topics hold WordPieces of another tokenizer"
        raise UsageError(f"{message} ({pieces[0].text[:60]!r}); give plain text")


def log_ignored_words(topics: list[Topic], searcher: ImpactSearcher) -> None:
    """Log the words of topics that are not in the vocabulary, and terms that no document has."""
    for qid, text in topics:
        if words := searcher.wordpieces.unknown_words(text):
            count = counted(len(words), "word")
            logger.info("topic %s: %s not in the vocabulary: %s", qid, count, " ".join(words))
        if terms := searcher.unknown_terms(text):
            logger.info("topic %s: terms in no document: %s", qid, " ".join(terms))

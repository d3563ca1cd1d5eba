"""Check topics before a search: refuse WordPieces, and log words that match nothing."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

from spade_pyserini.errors import UsageError
from spade_pyserini.formats.tables import counted
from spade_pyserini.models.wordpieces import WordPieces, without_punctuation
from spade_pyserini.records import Topic

if TYPE_CHECKING:
    from spade_pyserini.search.impact import ImpactSearcher

CONTINUATION = re.compile(r"\s##\w")  # a WordPiece that continues a word
# Topics are refused if more than this share of them has a continuation. If MS MARCO's topics are
# written as WordPieces, 48 % of them have a continuation.
SUSPICIOUS_SHARE = 1 / 3

logger = logging.getLogger(__name__)


def refuse_wordpieces(topics: list[Topic], wordpieces: WordPieces) -> None:
    """Raise `UsageError` if topics consist of WordPieces, as those of ``spade topics`` do.

    Without this check, the searcher would split the WordPieces again, into other terms.
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
    """For each topic, log words that are not in the vocabulary and terms that no document has.

    Punctuation is left out.
    """
    for qid, text in topics:
        if words := without_punctuation(searcher.wordpieces.unknown_words(text)):
            count = counted(len(words), "word")
            logger.info("topic %s: %s not in the vocabulary: %s", qid, count, " ".join(words))
        if terms := without_punctuation(searcher.unknown_terms(text)):
            logger.info("topic %s: terms in no document: %s", qid, " ".join(terms))

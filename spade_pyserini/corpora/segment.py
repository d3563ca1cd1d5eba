"""Split long documents into passages with ids ``doc#0``, ``doc#1``, ..., for MaxP search.

MaxP: the score of a document is the score of its best passage.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from spade_pyserini.corpora.checks import LocatedDocument, OnError, ReadDocuments
from spade_pyserini.corpora.corpus import Corpus, unknown_size
from spade_pyserini.errors import InputError, UsageError

DELIMITER = "#"


@dataclass(frozen=True)
class Segmentation:
    """Windows of ``words`` words; each begins ``stride`` words after the previous one."""

    words: int
    stride: int

    @classmethod
    def parse(cls, text: str) -> Segmentation:
        """Parse ``250:125`` (overlapping windows) or ``250`` (windows without overlap)."""
        words, _, stride = text.partition(":")
        try:
            segmentation = cls(int(words), int(stride or words))
        except ValueError:
            raise UsageError(f"segment={text}: expected WORDS:STRIDE, such as 250:125") from None
        if not 0 < segmentation.stride <= segmentation.words:
            raise UsageError(f"segment={text}: the stride must be from 1 to the number of words")
        return segmentation


def segmented(corpus: Corpus, segmentation: Segmentation) -> Corpus:
    """Return a corpus of passages; each passage has the title of its document."""
    read = partial(_read_passages, corpus.read, segmentation)
    segment = f"{segmentation.words}:{segmentation.stride}"
    return replace(corpus, read=read, count=unknown_size, segment=segment)


def _read_passages(
    read: ReadDocuments, segmentation: Segmentation, on_error: OnError
) -> Iterator[LocatedDocument]:
    for document, source, line in read(on_error):
        if DELIMITER in document.docid:
            message = f"the id {document.docid!r} contains {DELIMITER!r}, which separates a"
            on_error(
                InputError(
                    f"{message} document's id from its passage number; replace it", source, line
                )
            )
            continue
        for number, text in enumerate(windows(document.text, segmentation)):
            docid = f"{document.docid}{DELIMITER}{number}"
            yield LocatedDocument(document._replace(docid=docid, text=text), source, line)


def windows(text: str, segmentation: Segmentation) -> Iterator[str]:
    """Yield the windows of a text. The last window ends where the text ends.

    An empty text has one window, which is empty.
    """
    words = text.split()
    start = 0
    while True:
        yield " ".join(words[start : start + segmentation.words])
        if start + segmentation.words >= len(words):
            return
        start += segmentation.stride

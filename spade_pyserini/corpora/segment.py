"""Long documents in passages: ids ``doc#0``, ``doc#1``, ..., for MaxP at search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from spade_pyserini.corpora.checks import Located, OnError
from spade_pyserini.corpora.corpus import Corpus, unknown
from spade_pyserini.errors import InputError, UsageError

DELIMITER = "#"


@dataclass(frozen=True)
class Segmentation:
    """Windows of so many words, each beginning ``stride`` words after the one before."""

    words: int
    stride: int

    @classmethod
    def parse(cls, text: str) -> Segmentation:
        """``250:125``, or ``250`` for windows side by side."""
        words, _, stride = text.partition(":")
        try:
            made = cls(int(words), int(stride or words))
        except ValueError:
            raise UsageError(f"--segment takes words:stride, not {text!r}") from None
        if not 0 < made.stride <= made.words:
            raise UsageError(f"--segment takes a stride from 1 to the words, not {text!r}")
        return made


def segmented(corpus: Corpus, segmentation: Segmentation) -> Corpus:
    """The same documents in passages; each keeps the title."""
    read = partial(_passages, corpus.read, segmentation)
    return replace(corpus, read=read, count=unknown)


def _passages(
    read: Callable[[OnError], Iterator[Located]], segmentation: Segmentation, on_error: OnError
) -> Iterator[Located]:
    for document, source, line in read(on_error):
        if DELIMITER in document.docid:
            message = f"the id {document.docid!r} holds {DELIMITER!r}, which parts passages"
            on_error(InputError(f"{message} from their document", source, line))
            continue
        for number, text in enumerate(windows(document.text, segmentation)):
            docid = f"{document.docid}{DELIMITER}{number}"
            yield Located(document._replace(docid=docid, text=text), source, line)


def windows(text: str, segmentation: Segmentation) -> Iterator[str]:
    """At least one; the last one ends with the text."""
    words = text.split()
    start = 0
    while True:
        yield " ".join(words[start : start + segmentation.words])
        if start + segmentation.words >= len(words):
            return
        start += segmentation.stride

"""Corpus-level pruning: remove expansion terms that are in too many documents of a corpus.

Training removes the terms that are in too many of the *training* documents (the paper's gamma). In
another corpus, the expansion encoder may still add a meaningless term to most documents.
With ``corpus_gamma``, such terms are determined on a sample of the corpus before the encoding, and
removed from the expansion vectors. A document that contains a removed term keeps the weight that
the weighting encoder gives to the term.
"""

from __future__ import annotations

from contextlib import closing

import torch

from spade_pyserini.encode.batches import batches
from spade_pyserini.encode.options import BATCH_TOKENS
from spade_pyserini.models.protocols import CorpusEncoder
from spade_pyserini.models.pruning import is_noise
from spade_pyserini.progress import Progress
from spade_pyserini.records import RemovedTerm

SAMPLE = 1000  # largest number of documents in a sample
LEAST = 100  # corpora with fewer documents are not pruned: their frequencies are unreliable
DIGITS = 4  # decimals of the shares of documents in the counts file


class EvenSample:
    """A sample that is spread evenly over a stream of texts whose length is unknown.

    The sample has every n-th text, starting with the first. If the stream has up to ``size`` texts,
    the sample has all of them; otherwise it has between ``size / 2`` and ``size`` texts. The sample
    is not random: the same stream gives the same texts.
    """

    def __init__(self, size: int = SAMPLE) -> None:
        self.size = size
        self.texts: list[str] = []
        self._seen, self._step = 0, 1

    def add(self, text: str) -> None:
        """Process the next text of the stream, which may become part of the sample."""
        if self._seen % self._step == 0:
            if len(self.texts) == self.size:
                self.texts, self._step = self.texts[::2], 2 * self._step
            if self._seen % self._step == 0:
                self.texts.append(text)
        self._seen += 1


def find_noise(
    encoder: CorpusEncoder, texts: list[str], progress: str = "bar"
) -> tuple[RemovedTerm, ...]:
    """Return the terms to remove from the expansion vectors of a corpus, the most frequent first.

    ``texts`` is a sample of the corpus. No term is removed if the sample has fewer than `LEAST`
    documents.
    """
    if len(texts) < LEAST:
        return ()
    config, sampler = encoder.config, encoder.expansion_only()
    ids = sampler.wordpieces.document_ids(texts, config.max_length)
    expanded = torch.zeros(len(sampler.columns(ids)), dtype=torch.long)
    contained = torch.zeros_like(expanded)
    task = "sampling expansion terms"
    with closing(Progress(progress, task=task)) as bar, sampler.fixed():
        bar.expect(len(ids))
        for batch, _ in batches(ids, BATCH_TOKENS):
            expanded += (sampler.weigh(batch) > 0).sum(dim=0).cpu()[: len(expanded)]
            for document in batch:
                contained[list(set(document))] += 1
            bar(len(batch), 0)
    shares = expanded / len(ids), contained / len(ids)
    noise = is_noise(*shares, config.corpus_gamma, config.corpus_few).nonzero().squeeze(1)
    removed = [
        RemovedTerm(
            sampler.wordpieces.terms[term_id],
            *(round(float(share[term_id]), DIGITS) for share in shares),
        )
        for term_id in noise.tolist()
    ]
    return tuple(sorted(removed, key=lambda term: -term.expanded))


def describe_removed(removed: tuple[RemovedTerm, ...]) -> str:
    """Return a log message about the terms that corpus-level pruning removed."""
    if not removed:
        return "corpus-level pruning removed no expansion term"
    first = removed[0]
    number = "1 expansion term" if len(removed) == 1 else f"{len(removed)} expansion terms"
    example = f"{first.term} ({first.expanded * 100:.0f} % of the documents)"
    return f"corpus-level pruning removed {number}, such as {example}"

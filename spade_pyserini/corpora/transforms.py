"""What is done to documents before they are encoded or indexed, in one place for all commands."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini.corpora.corpus import Corpus
from spade_pyserini.corpora.expansions import expanded
from spade_pyserini.corpora.pool import pooled
from spade_pyserini.corpora.segment import Segmentation, segmented
from spade_pyserini.errors import UsageError


def apply_transforms(
    corpus: Corpus,
    segment: str | None = None,
    expansions: str | None = None,
    expansions_per_doc: int | None = None,
    pool: list[str] | None = None,
    data_dir: str | Path | None = None,
) -> Corpus:
    """Passages first, so that expansions are those of passages where there are any."""
    if expansions_per_doc and not expansions:
        raise UsageError("--expansions-per-doc goes with --expansions FILE")
    if segment:
        corpus = segmented(corpus, Segmentation.parse(segment))
    if pool:
        corpus = pooled(corpus, pool, data_dir=data_dir)
    if expansions:
        corpus = expanded(corpus, expansions, expansions_per_doc)
    return corpus

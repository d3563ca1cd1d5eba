"""Change documents before they are encoded or indexed."""

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
    """Change the documents of a corpus in three steps, which are applied in this order.

    Documents are split into passages; documents that are not in the pool are removed; expansions
    are appended. A step without an argument is left out. With ``segment``, the ids in ``pool`` and
    ``expansions`` must be ids of passages.
    """
    if expansions_per_doc and not expansions:
        raise UsageError("expansions_per_doc=N has no effect without expansions=FILE; give both")
    if segment:
        corpus = segmented(corpus, Segmentation.parse(segment))
    if pool:
        corpus = pooled(corpus, pool, data_dir=data_dir)
    if expansions:
        corpus = expanded(corpus, expansions, expansions_per_doc)
    return corpus

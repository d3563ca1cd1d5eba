"""What is reported at the end of an encoding."""

from __future__ import annotations

import logging
from pathlib import Path

from spade_pyserini.formats.paths import sibling
from spade_pyserini.formats.vector_manifest import VectorManifest
from spade_pyserini.sharding.part import Part

logger = logging.getLogger(__name__)
SHOWN = 5  # ids of documents without terms


def log_summary(
    manifest: VectorManifest, folder: Path, part: Part, earlier: VectorManifest | None = None
) -> None:
    """Report the counts of an encoding, and what was left out.

    ``earlier`` is the manifest that the run started with. If it was complete and nothing has
    changed, the report says so.
    """
    finished = earlier is not None and earlier.complete and earlier.shards == manifest.shards
    logger.info(
        "%s%s: %d documents, %.1f terms per document",
        folder,
        " was finished already, nothing was encoded" if finished else "",
        manifest.documents,
        manifest.terms_per_document,
    )
    if manifest.empty_documents:
        empty = [docid for shard in manifest.shards for docid in shard.empty]
        shown = ", ".join(empty[:SHOWN]) + (", ..." if len(empty) > SHOWN else "")
        logger.warning(
            "%d documents have no terms and cannot be retrieved: %s (all are listed in %s)",
            len(empty),
            shown,
            sibling(folder, part.manifest).name,
        )
    _log_lengths(manifest)
    clipped = sum(shard.clipped for shard in manifest.shards)
    if clipped:
        logger.info("%d impacts were reduced to the largest possible value", clipped)


def _log_lengths(manifest: VectorManifest) -> None:
    """Report how many documents were cut, and how much of the text was left out."""
    lengths = manifest.lengths
    if lengths.longer:
        logger.warning(
            "%d of %d documents are longer than %d WordPieces; %s of the text (%d of %d "
            "WordPieces) was left out. `spade encode --segment 150:75` divides documents into "
            "passages, so that usually nothing is left out",
            lengths.longer,
            lengths.documents,
            manifest.settings.max_length,
            _percent(lengths.share_left_out),
            lengths.left_out,
            lengths.wordpieces,
        )
    if unknown := manifest.documents - lengths.documents:
        logger.info(
            "the lengths of %d documents are unknown: an earlier version encoded them", unknown
        )


def _percent(share: float) -> str:
    """A share in percent; a small share is not shown as zero."""
    return "less than 0.1 %" if share < 0.001 else f"{100 * share:.1f} %"

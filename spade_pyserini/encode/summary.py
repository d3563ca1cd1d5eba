"""Log the results at the end of an encoding."""

from __future__ import annotations

import logging
from pathlib import Path

from spade_pyserini.formats.paths import sibling
from spade_pyserini.formats.tables import counted
from spade_pyserini.formats.vector_manifest import VectorManifest
from spade_pyserini.sharding.part import Part

logger = logging.getLogger(__name__)
SHOWN = 5  # number of documents without terms whose ids the message shows


def log_summary(
    manifest: VectorManifest, folder: Path, part: Part, earlier: VectorManifest | None = None
) -> None:
    """Log the size of an encoding, the documents without terms, and how much text was left out.

    ``earlier`` is the manifest that the run started with. If it was complete and nothing has
    changed, the message says so.
    """
    finished = earlier is not None and earlier.complete and earlier.shards == manifest.shards
    logger.info(
        "%s%s: %s, %.1f terms per document",
        folder,
        " was finished already, nothing was encoded" if finished else "",
        counted(manifest.documents, "document"),
        manifest.terms_per_document,
    )
    if manifest.empty_documents:
        empty = [docid for shard in manifest.shards for docid in shard.empty]
        shown = ", ".join(empty[:SHOWN]) + (", ..." if len(empty) > SHOWN else "")
        logger.warning(
            "%s without terms cannot be retrieved: %s (all are listed in %s)",
            counted(len(empty), "document"),
            shown,
            sibling(folder, part.manifest).name,
        )
    _log_lengths(manifest)
    clipped = sum(shard.clipped for shard in manifest.shards)
    if clipped:
        verb = "was" if clipped == 1 else "were"
        shown = counted(clipped, "impact")
        logger.info("%s %s reduced to the largest possible value", shown, verb)


def _log_lengths(manifest: VectorManifest) -> None:
    """Report how many documents were cut, and how much of the text was left out."""
    lengths = manifest.lengths
    if lengths.longer:
        logger.warning(
            "%d of %s %s longer than %d WordPieces; %s of the text (%d of %d "
            "WordPieces) was left out. %s",
            lengths.longer,
            counted(lengths.documents, "document"),
            "is" if lengths.longer == 1 else "are",
            manifest.settings.max_length,
            _percent(lengths.share_left_out),
            lengths.left_out,
            lengths.wordpieces,
            _advice(manifest),
        )
    if unknown := manifest.documents - lengths.documents:
        logger.info(
            "the lengths of %s are unknown: an early version of spade_pyserini, which did not "
            "record lengths, encoded them",
            counted(unknown, "document"),
        )


def shorter_segment(segment: str | None) -> str:
    """Return a ``WORDS:STRIDE`` with which less text is left out.

    segment: how the documents were divided into passages; None if they were not divided.
    """
    if segment is None:
        return "150:75"
    words = max(2, int(segment.partition(":")[0]) * 2 // 3)
    return f"{words}:{words // 2}"


def _advice(manifest: VectorManifest) -> str:
    """Return advice on how to leave out less text."""
    segment = manifest.source.get("segment")
    words = shorter_segment(segment).partition(":")[0]
    if segment is None:
        return f"Usually, nothing is left out of passages of {words} words"
    return f"These documents are passages; less is left out of passages of {words} words"


def _percent(share: float) -> str:
    """Format a share in percent; a small share is not rounded to zero."""
    return "less than 0.1 %" if share < 0.001 else f"{100 * share:.1f} %"

"""Write the list of bad documents that a job left out."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spade_pyserini.formats.lines import write_lines
from spade_pyserini.formats.paths import remove
from spade_pyserini.formats.tables import counted

logger = logging.getLogger(__name__)


@contextmanager
def list_bad_documents(path: Path) -> Iterator[set[str]]:
    """Yield a set for error messages; it is written to ``path`` on exit, even after an exception.

    An older file is removed if the job succeeds without bad documents.
    """
    errors: set[str] = set()
    try:
        yield errors
        if not errors:
            remove(path)
    finally:
        if errors:
            write_lines(path, sorted(errors))
            shown = counted(len(errors), "bad document")
            verb = "was" if len(errors) == 1 else "were"
            message = "%s %s left out, such as %s (all are listed in %s)"
            logger.warning(message, shown, verb, min(errors), path)

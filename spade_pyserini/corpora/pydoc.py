"""The built-in corpus: the docstrings of Python's own standard library.

``pydoc_dump.py`` says by which rules; ``pydoc_data/`` holds topics and judgements.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from spade_pyserini.errors import SpadeError
from spade_pyserini.records import Document

logger = logging.getLogger(__name__)
DUMP = Path(__file__).with_name("pydoc_dump.py")
DATA = Path(__file__).with_name("pydoc_data")
SPLITS = ("dev", "test")


def documents() -> Iterator[Document]:
    """Every documented public function, class and method; id = qualified name."""
    # Isolated and without site-packages: only the standard library is seen, and imported there.
    dump = subprocess.run(
        [sys.executable, "-I", "-S", str(DUMP)],
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    if dump.returncode != 0:
        raise SpadeError(f"the standard library could not be read: {dump.stderr[-500:]}")
    left_out = json.loads(dump.stderr.splitlines()[-1])
    logger.debug("pydoc: left out %d objects without docstring", left_out["undocumented"])
    if left_out["missing"]:
        logger.warning("pydoc: this Python lacks the modules %s", ", ".join(left_out["missing"]))
    for line in dump.stdout.splitlines():
        fields = json.loads(line)
        yield Document(fields["id"], fields["title"], fields["text"])

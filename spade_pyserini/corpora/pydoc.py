"""The built-in corpus: the docstrings of Python's own standard library.

``pydoc_dump.py`` defines which docstrings are documents; ``pydoc_data/`` has the topics and
judgements.
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
    """Yield a document for each public function, class, method and property with a docstring.

    The id of a document is the qualified name, such as ``shutil.rmtree``.
    """
    # A separate interpreter, isolated from site-packages, imports only the standard library.
    dump = subprocess.run(
        [sys.executable, "-I", "-S", str(DUMP)],
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    if dump.returncode != 0:
        raise SpadeError(
            f"the docstrings of the standard library could not be read: {dump.stderr[-500:]}"
        )
    skipped = json.loads(dump.stderr.splitlines()[-1])
    logger.debug("pydoc: skipped %d objects without a docstring", skipped["undocumented"])
    if skipped["missing"]:
        logger.warning("pydoc: this Python lacks the modules %s", ", ".join(skipped["missing"]))
    for line in dump.stdout.splitlines():
        fields = json.loads(line)
        yield Document(fields["id"], fields["title"], fields["text"])

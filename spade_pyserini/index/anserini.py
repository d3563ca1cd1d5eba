"""The Anserini builder: IndexCollection, run by ``pyserini.index.lucene`` in a child process.

IndexCollection may exit with code 0 although it failed, so callers must also compare the counts in
the index with the expected ones, see `spade_pyserini.index.counts`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.errors import JavaError
from spade_pyserini.lucene.errors import report_java_disk_error
from spade_pyserini.lucene.pyserini_module import DIE_WITH_PARENT
from spade_pyserini.lucene.runtime import environment
from spade_pyserini.progress import counting_bar

PROGRESS = re.compile(r"([\d,]+) documents indexed")


class AnseriniInput(NamedTuple):
    """Input of IndexCollection.

    ``collection`` is the name of a class in Anserini, ``folder`` contains the files, ``documents``
    is the expected number of documents (for the progress bar), and ``flags`` are further
    command-line flags of IndexCollection.
    """

    collection: str
    folder: Path
    documents: int
    flags: tuple[str, ...] = ()


def run_index_collection(source: AnseriniInput, index: Path, *, threads: int, log: Path) -> None:
    """Index all files of ``source`` and write the output of Anserini to the file ``log``."""
    command = [
        *(sys.executable, "-m", "spade_pyserini.lucene.pyserini_module", "index.lucene"),
        *("--collection", source.collection, "--input", str(source.folder)),
        *("--index", str(index), "--generator", "DefaultLuceneDocumentGenerator"),
        *("--threads", str(threads), *source.flags),
    ]
    with (
        log.open("w") as log_stream,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**environment(), DIE_WITH_PARENT: "1"},
        ) as process,
        counting_bar("indexing", "documents", source.documents) as bar,
    ):
        assert process.stdout is not None
        try:
            for line in process.stdout:
                log_stream.write(line)
                if match := PROGRESS.search(line):
                    bar.update(int(match[1].replace(",", "")) - bar.n)
        except BaseException:
            process.kill()
            raise
    report_java_disk_error(index, log.read_text(errors="replace"))
    if process.returncode != 0:
        raise JavaError(f"Anserini failed with exit code {process.returncode}; see its log {log}")

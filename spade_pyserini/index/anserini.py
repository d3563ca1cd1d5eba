"""Anserini's IndexCollection, run through ``pyserini.index.lucene`` in a process of its own.

It exits with 0 on nearly every failure, so its log is kept and its result is never trusted:
`spade_pyserini.index.build` counts what Lucene really has.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import deque
from pathlib import Path

from tqdm import tqdm

from spade_pyserini import java
from spade_pyserini.errors import JavaError

PROGRESS = re.compile(r"([\d,]+) documents indexed")


def run_index_collection(
    collection: str, source: Path, index: Path, *options: str, threads: int, total: int
) -> None:
    """Index the files below ``source``; raise `JavaError` with Anserini's last words if it dies."""
    command = [
        *(sys.executable, "-m", "spade_pyserini.pyserini", "index.lucene"),
        *("--collection", collection, "--input", str(source), "--index", str(index)),
        *("--generator", "DefaultLuceneDocumentGenerator", "--threads", str(threads), *options),
    ]
    last: deque[str] = deque(maxlen=8)
    with (
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=java.environment(),
        ) as process,
        tqdm(desc="indexing", unit=" documents", total=total, disable=None) as bar,
    ):
        assert process.stdout is not None
        try:
            for line in process.stdout:
                last.append(line.rstrip())
                if found := PROGRESS.search(line):
                    bar.update(int(found[1].replace(",", "")) - bar.n)
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise JavaError(f"Anserini failed with exit code {process.returncode}: " + " | ".join(last))

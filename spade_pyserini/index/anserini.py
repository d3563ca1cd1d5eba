"""Anserini's IndexCollection, run through ``pyserini.index.lucene`` in a process of its own.

It exits with 0 on nearly every failure, so its result is never trusted:
`spade_pyserini.index.build` counts what Lucene really has, and keeps the log when it differs.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tqdm import tqdm

from spade_pyserini.errors import JavaError
from spade_pyserini.lucene import jvm
from spade_pyserini.lucene.pyserini_module import DIE_WITH_PARENT

PROGRESS = re.compile(r"([\d,]+) documents indexed")


def run_index_collection(
    collection: str,
    source: Path,
    index: Path,
    *options: str,
    threads: int,
    total: int,
    log: Path,
) -> None:
    """Index the files below ``source``; all that Anserini says goes to ``log``."""
    command = [
        *(sys.executable, "-m", "spade_pyserini.lucene.pyserini_module", "index.lucene"),
        *("--collection", collection, "--input", str(source), "--index", str(index)),
        *("--generator", "DefaultLuceneDocumentGenerator", "--threads", str(threads), *options),
    ]
    with (
        log.open("w") as kept,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**jvm.environment(), DIE_WITH_PARENT: "1"},
        ) as process,
        tqdm(desc="indexing", unit=" documents", total=total, disable=None) as bar,
    ):
        assert process.stdout is not None
        try:
            for line in process.stdout:
                kept.write(line)
                if found := PROGRESS.search(line):
                    bar.update(int(found[1].replace(",", "")) - bar.n)
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise JavaError(f"Anserini failed with exit code {process.returncode}; its log is {log}")

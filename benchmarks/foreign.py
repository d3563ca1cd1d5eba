"""Measure how much time the checks of `spade index --foreign` take.

    python benchmarks/foreign.py --documents 100000 --vectors encode/pydoc.spade-mini

The vectors are made from real vectors (see ``synthetic.py``). This package's own builder (the
default of `spade index`) indexes the same files in three ways: without checks, as for vectors of
`spade encode`; with checks in Java while the index is built; and after Python has checked all
lines, as is done for the Anserini builder. The time of each way is that of a complete process,
including the start of its JVM.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from synthetic import write_vectors

WAYS = {
    "without checks": "write_index(files, index, threads=threads, total=None)",
    "checks while building": "write_index(files, index, threads=threads, total=None, "
    "options=WriteOptions(checks=foreign_source(source).checks))",
    "checks in Python first": "check_foreign(source); "
    "write_index(files, index, threads=threads, total=None)",
}
CODE = """
import sys
from pathlib import Path
from spade_pyserini.index.direct import WriteOptions, write_index
from spade_pyserini.index.foreign import check_foreign, foreign_source
source, index, threads = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
files = sorted(source.iterdir())
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--documents", type=int, nargs="+", default=[100_000])
    add("--vectors", default="encode/pydoc.spade-mini", help="folder with real vectors")
    add("--threads", type=int, default=2)
    add("--repeat", type=int, default=3, help="number of runs; the fastest is reported")
    add("--folder", help="folder for temporary vectors and indexes")
    options = parser.parse_args()
    print(f"{'way':24} {'documents':>10} {'seconds':>8} {'documents/s':>12}  relative", flush=True)
    for documents in options.documents:
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            source = Path(name, "vectors")
            write_vectors(Path(options.vectors), source, documents)
            first = None
            for way, statement in WAYS.items():
                times = [
                    measure(statement, source, Path(name, f"{number}-{way}"), options.threads)
                    for number in range(options.repeat)
                ]
                first = first or min(times)
                rate = documents / min(times)
                print(
                    f"{way:24} {documents:10} {min(times):8.1f} {rate:12.0f} "
                    f"{min(times) / first:9.2f}",
                    flush=True,
                )


def measure(statement: str, source: Path, index: Path, threads: int) -> float:
    """Build an index in a new process; return the seconds that the process took."""
    command = [sys.executable, "-c", CODE + statement, str(source), str(index), str(threads)]
    start = time.perf_counter()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()

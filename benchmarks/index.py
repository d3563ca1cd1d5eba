"""Compare the indexing speed of the direct builder and of Anserini's IndexCollection.

    python benchmarks/index.py --documents 100000
    python benchmarks/index.py --documents 100000 1000000 --vectors encode/pydoc.spade-mini

``synthetic.py`` makes the vectors from real vectors (``--vectors``). The builders read the same
files with the same number of threads, one builder after the other. The time is that of a
complete process, including the start of its JVM. Afterwards, outside of the measured time, the
documents and postings of the index are counted, because Anserini may fail and still exit with 0.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from synthetic import write_vectors

BUILDERS = ("direct", "anserini")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--documents", type=int, nargs="+", default=[100_000])
    add(
        "--vectors", default="encode/pydoc.spade-mini", help="folder of real vectors to sample from"
    )
    add("--threads", type=int, default=2)
    add("--builders", nargs="+", default=BUILDERS, choices=BUILDERS)
    add("--folder", help="folder for temporary vectors and indexes")
    options = parser.parse_args()
    print("builder   documents  postings/document  seconds  documents/s  index MB", flush=True)
    for documents in options.documents:
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            folder = Path(name)
            postings = write_vectors(Path(options.vectors), folder / "vectors", documents)
            rates = {}
            for builder in options.builders:
                output = folder / builder
                seconds = build(folder / "vectors", output, builder, options.threads)
                if (counts := count(output)) != (documents, postings):
                    sys.exit(
                        f"{builder}: the index has {counts} documents and postings, "
                        f"expected {documents, postings}"
                    )
                rates[builder] = documents / seconds
                size = sum(path.stat().st_size for path in output.iterdir()) / 1e6
                print(
                    f"{builder:9} {documents:9} {postings / documents:18.1f} {seconds:8.1f} "
                    f"{rates[builder]:12.0f} {size:9.1f}",
                    flush=True,
                )
            if len(rates) == len(BUILDERS):
                print(
                    f"documents/s, direct / anserini: {rates['direct'] / rates['anserini']:.1f}",
                    flush=True,
                )


def build(source: Path, output: Path, builder: str, threads: int) -> float:
    """Build an index and return the seconds it took.

    The vectors are not checked, so the time is that of the builder alone.
    """
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from spade_pyserini.index.direct import write_index\n"
        "from spade_pyserini.index.anserini import AnseriniInput, run_index_collection\n"
        "source, output, builder, threads = sys.argv[1:]\n"
        "files = sorted(Path(source).iterdir())\n"
        "if builder == 'direct':\n"
        "    write_index(files, Path(output), threads=int(threads), total=0)\n"
        "else:\n"
        "    flags = ('--impact', '--pretokenized')\n"
        "    vectors = AnseriniInput('JsonVectorCollection', Path(source), 0, flags)\n"
        "    log = Path(output + '.log')\n"
        "    run_index_collection(vectors, Path(output), threads=int(threads), log=log)\n"
    )
    start = time.perf_counter()
    command = [sys.executable, "-c", code, str(source), str(output), builder, str(threads)]
    subprocess.run(command, check=True)
    return time.perf_counter() - start


def count(index: Path) -> tuple[int, int]:
    """Return the number of documents and of postings in an index, counted in a child process."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from spade_pyserini.index.counts import lucene_counts\n"
        "print(*lucene_counts(Path(sys.argv[1])))\n"
    )
    command = [sys.executable, "-c", code, str(index)]
    process = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    documents, postings, _ = map(int, process.stdout.split())
    return documents, postings


if __name__ == "__main__":
    main()

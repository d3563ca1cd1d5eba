"""Indexing speed: the direct builder against Anserini's IndexCollection, and a flat cost.

    python benchmarks/index.py --documents 100000
    python benchmarks/index.py --documents 100000 1000000 --vectors encode/pydoc.spade-mini

Vectors are drawn from those of a real encoding (``--vectors``), see ``synthetic.py``. Both builders
read the same files with the same threads, one after the other; the time is that of a process that
does nothing else, and the seconds that a JVM needs to start are in Anserini's as in ours. What the
index has is counted afterwards, outside of that time: Anserini exits with 0 when it fails.
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
    add("--vectors", default="encode/pydoc.spade-mini", help="where real vectors are")
    add("--threads", type=int, default=2)
    add("--builders", nargs="+", default=BUILDERS, choices=BUILDERS)
    add("--folder", help="where vectors and indexes are put meanwhile")
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
                if (found := counted(output)) != (documents, postings):
                    sys.exit(
                        f"{builder}: {found} documents and postings, not {documents, postings}"
                    )
                rates[builder] = documents / seconds
                size = sum(path.stat().st_size for path in output.iterdir()) / 1e6
                print(
                    f"{builder:9} {documents:9} {postings / documents:18.1f} {seconds:8.1f} "
                    f"{rates[builder]:12.0f} {size:9.1f}",
                    flush=True,
                )
            if len(rates) == len(BUILDERS):
                print(f"direct / anserini: {rates['direct'] / rates['anserini']:.1f}", flush=True)


def build(source: Path, output: Path, builder: str, threads: int) -> float:
    """Only the indexing: a look at every line, as for foreign vectors, would cost both alike."""
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from spade_pyserini.index.direct import write_index\n"
        "from spade_pyserini.index.anserini import run_index_collection\n"
        "source, output, builder, threads = sys.argv[1:]\n"
        "files = sorted(Path(source).iterdir())\n"
        "if builder == 'direct':\n"
        "    write_index(files, Path(output), threads=int(threads), total=0)\n"
        "else:\n"
        "    run_index_collection('JsonVectorCollection', Path(source), Path(output), '--impact',\n"
        "        '--pretokenized', threads=int(threads), total=0, log=Path(output + '.log'))\n"
    )
    start = time.perf_counter()
    command = [sys.executable, "-c", code, str(source), str(output), builder, str(threads)]
    subprocess.run(command, check=True)
    return time.perf_counter() - start


def counted(index: Path) -> tuple[int, int]:
    """Documents and postings that Lucene has, asked in a process of its own."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from spade_pyserini.formats.index_manifest import lucene_counts\n"
        "print(*lucene_counts(Path(sys.argv[1])))\n"
    )
    command = [sys.executable, "-c", code, str(index)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    documents, postings, _ = map(int, done.stdout.split())
    return documents, postings


if __name__ == "__main__":
    main()

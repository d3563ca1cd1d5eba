r"""Many documents out of a few real ones, for indexes of a size that nobody wants to encode for.

    python benchmarks/synthetic.py --vectors encode/pydoc.spade-mini --documents 200000 \
        --output encode/pydoc-200000.spade-mini
    python -m spade_pyserini.index --foreign --input encode/pydoc-200000.spade-mini \
        --tokenizer encode/pydoc.spade-mini.tokenizer.json

The number of terms of a document, the terms and their impacts come from real documents, mixed anew,
so both distributions are real and no two documents are the same.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import random
from pathlib import Path

SHARD = 2000  # documents of a file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--vectors", required=True, help="where real vectors are")
    add("--documents", type=int, required=True)
    add("--output", required=True, help="a new folder")
    options = parser.parse_args()
    postings = write_vectors(Path(options.vectors), Path(options.output), options.documents)
    print(f"{options.output}: {options.documents} documents, {postings} postings")


Vector = list[tuple[str, int]]
real: list[Vector] = []  # of a process that writes files


def write_vectors(source: Path, folder: Path, documents: int) -> int:
    """Synthetic documents in files of `SHARD`; returns the number of their postings."""
    folder.mkdir(parents=True)
    ranges = [range(one, min(one + SHARD, documents)) for one in range(0, documents, SHARD)]
    with multiprocessing.Pool(initializer=read_real, initargs=(source,)) as pool:
        return sum(pool.starmap(write_file, [(folder, one) for one in ranges]))


def read_real(source: Path) -> None:
    from spade_pyserini.formats.vectors import read_vectors

    real.extend(list(vector.impacts.items()) for vector in read_vectors(source) if vector.impacts)


def write_file(folder: Path, docids: range) -> int:
    """Every document takes its length from one real document and its terms from three."""
    choose, postings = random.Random(docids.start), 0
    with gzip.open(folder / f"docs{docids.start // SHARD:04d}.jsonl.gz", "wt", 1) as stream:
        for docid in docids:
            size = len(choose.choice(real))
            mixed = dict(term for _ in range(3) for term in choose.choice(real))
            terms = choose.sample(sorted(mixed), min(size, len(mixed)))
            postings += len(terms)
            vector = {term: mixed[term] for term in terms}
            stream.write(json.dumps({"id": f"d{docid}", "vector": vector}) + "\n")
    return postings


if __name__ == "__main__":
    main()

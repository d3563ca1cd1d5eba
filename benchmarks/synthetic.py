r"""Make many synthetic document vectors from a few real ones, to measure large indexes.

    python benchmarks/synthetic.py --vectors encode/pydoc.spade-mini --documents 200000 \
        --output encode/pydoc-200000.spade-mini
    spade index --foreign --input encode/pydoc-200000.spade-mini \
        --tokenizer encode/pydoc.spade-mini.tokenizer.json

Each synthetic document takes its number of terms from one real document, and its terms and impacts
from three real documents; all four are chosen at random. Lengths and impacts are therefore
distributed approximately as in the real vectors.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import random
from pathlib import Path

SHARD = 2000  # documents per file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--vectors", required=True, help="folder of real vectors, from `spade encode`")
    add("--documents", type=int, required=True, help="number of documents to write")
    add("--output", required=True, help="folder to create")
    options = parser.parse_args()
    postings = write_vectors(Path(options.vectors), Path(options.output), options.documents)
    print(f"{options.output}: {options.documents} documents, {postings} postings")


Vector = list[tuple[str, int]]
real: list[Vector] = []  # the real vectors, loaded once in each worker process


def write_vectors(source: Path, folder: Path, documents: int) -> int:
    """Write synthetic documents, `SHARD` per file; return the number of postings."""
    folder.mkdir(parents=True)
    starts = range(0, documents, SHARD)
    ranges = [range(start, min(start + SHARD, documents)) for start in starts]
    with multiprocessing.Pool(initializer=read_real, initargs=(source,)) as pool:
        return sum(pool.starmap(write_file, [(folder, docids) for docids in ranges]))


def read_real(source: Path) -> None:
    """Load the real vectors into this worker process."""
    from spade_pyserini.formats.vectors import read_vectors

    real.extend(list(vector.impacts.items()) for vector in read_vectors(source) if vector.impacts)


def write_file(folder: Path, docids: range) -> int:
    """Write the synthetic documents of one file; return the number of postings."""
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

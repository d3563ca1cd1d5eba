"""Make collections of any size for ``scale.py`` from the vectors and texts of a real collection.

Each new document is a real document A in which 10 to 40 % of the terms are replaced by terms of
another real document B. If B has too few other terms, the new document has fewer terms than A.
Terms that occur together in real documents therefore occur together here, too, and documents have
realistic lengths. The impacts of A's terms are multiplied by random factors of about 0.9 to 1.1;
the impacts of B's terms are unchanged. In the text of A, one passage is replaced by a passage of B
with as many words. The share of replaced words is the same as the share of replaced terms.

Each worker process writes one file at a time, so the new documents are never all in memory. Each
file has its own random seed, so an interrupted run continues with the missing files.
"""

from __future__ import annotations

import gzip
import json
import multiprocessing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

SHARD = 2000  # documents per file
REPLACED = (0.1, 0.4)  # smallest and largest share of terms that a second document replaces
NOISE = 0.1  # standard deviation of the logarithm of the random factors of impacts
LARGEST_IMPACT = 255


class Real(NamedTuple):
    """Real documents.

    keys: all terms, as JSON keys. terms: an array for each document with the positions of its
    terms in ``keys``. impacts: an array for each document with the impacts of its terms. words:
    the words of the text of each document.
    """

    keys: list[str]
    terms: list[Any]
    impacts: list[Any]
    words: list[list[str]]


class Counts(NamedTuple):
    """Numbers of documents, of postings, and of words in the texts."""

    documents: int
    postings: int
    words: int


real: Real | None = None  # loaded once in each worker process


def write_collection(vectors: Path, corpus: str, folder: Path, documents: int) -> Counts:
    """Write ``documents`` documents to ``folder/vectors`` and ``folder/texts``; return counts.

    vectors, corpus: the real vectors and their corpus.
    """
    for name in ("vectors", "texts", "counts"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    shards = [
        (folder, number, min(SHARD, documents - number * SHARD))
        for number in range(-(-documents // SHARD))
    ]
    with multiprocessing.Pool(initializer=load, initargs=(vectors, corpus)) as pool:
        counts = list(pool.imap_unordered(write_shard, shards))
    return Counts(*(sum(values) for values in zip(*counts, strict=True)))


def load(vectors: Path, corpus: str) -> None:
    """Read the real vectors and texts into the global ``real`` of this worker process."""
    global real  # noqa: PLW0603
    from spade_pyserini.corpora import open_corpus
    from spade_pyserini.formats.vectors import read_vectors

    texts = {document.docid: document.contents.split() for document in open_corpus(corpus)}
    numbers: dict[str, int] = {}
    real = Real([], [], [], [])
    for docid, impacts in read_vectors(vectors):
        if impacts and texts.get(docid):
            terms = [numbers.setdefault(term, len(numbers)) for term in impacts]
            real.terms.append(np.array(terms, dtype=np.int64))
            real.impacts.append(np.array(list(impacts.values()), dtype=np.int64))
            real.words.append(texts[docid])
    real.keys.extend(f"{json.dumps(term)}: " for term in numbers)
    if not real.terms:
        message = f"{vectors} has no vectors of the documents of {corpus}"
        raise SystemExit(f"{message}; give the corpus of these vectors")


def write_shard(shard: tuple[Path, int, int]) -> Counts:
    """Write a file of vectors and a file of texts, unless they exist; return their counts."""
    folder, number, documents = shard
    done = folder / "counts" / f"{number:05d}.json"
    paths = [folder / name / f"docs{number:05d}.jsonl.gz" for name in ("vectors", "texts")]
    if all(path.exists() for path in (done, *paths)):
        return Counts(*json.loads(done.read_text()))
    random = np.random.default_rng([7, number])
    postings = words = 0
    temporary = [folder / "counts" / f"{number:05d}.{path.parent.name}.tmp" for path in paths]
    with gzip.open(temporary[0], "wt", 1) as vectors, gzip.open(temporary[1], "wt", 1) as texts:
        for docid in range(number * SHARD, number * SHARD + documents):
            line, terms, text = document(random)
            vectors.write(f'{{"id": "d{docid}", "vector": {{{line}}}}}\n')
            texts.write(json.dumps({"id": f"d{docid}", "contents": " ".join(text)}) + "\n")
            postings += terms
            words += len(text)
    for path, target in zip(temporary, paths, strict=True):
        path.replace(target)
    counts = Counts(documents, postings, words)
    done.write_text(json.dumps(counts))
    return counts


def document(random: Any) -> tuple[str, int, list[str]]:
    """Make a document; return its vector as JSON, its number of terms, and its words."""
    assert real is not None
    first, second = random.integers(len(real.terms), size=2)
    share = random.uniform(*REPLACED)
    terms, impacts = real.terms[first], real.impacts[first]
    own = set(terms.tolist())
    kept = random.permutation(len(terms))[round(share * len(terms)) :]
    factor = np.exp(NOISE * random.standard_normal(len(kept)))
    changed = np.clip(np.rint(impacts[kept] * factor), 1, LARGEST_IMPACT).astype(np.int64)
    vector = dict(zip(terms[kept].tolist(), changed.tolist(), strict=True))
    other = list(zip(real.terms[second].tolist(), real.impacts[second].tolist(), strict=True))
    for position in random.permutation(len(other)):
        if len(vector) == len(terms):
            break
        term, impact = other[position]
        if term not in own:
            vector[term] = impact
    line = ", ".join(f"{real.keys[term]}{impact}" for term, impact in vector.items())
    return line, len(vector), mixed_words(random, real.words[first], real.words[second], share)


def mixed_words(random: Any, first: list[str], second: list[str], share: float) -> list[str]:
    """Replace a passage of the first text by a passage of the second; return the words."""
    size = min(round(share * len(first)), len(second))
    start = random.integers(len(first) - size + 1)
    begin = random.integers(len(second) - size + 1)
    return first[:start] + second[begin : begin + size] + first[start + size :]

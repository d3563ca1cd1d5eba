"""Read and write runs in TREC's format. A run has the hits of all topics.

Scores are written without ties, because evaluation tools order ties differently.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, cast

import numpy as np

from spade_pyserini.errors import InputError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.lines import read_lines
from spade_pyserini.formats.outputs import refuse_existing
from spade_pyserini.records import Hit, Ranking

LARGEST = float(np.finfo(np.float32).max)  # trec_eval stores scores as 32-bit floats
STEP = np.float32(2e-6)  # scores this far apart still differ after rounding to six decimals


def strictly_falling(scores: Iterable[float]) -> Iterator[float]:
    """Yield the scores, lowered where needed so that each is at least `STEP` below the previous.

    trec_eval stores scores as 32-bit floats and orders ties by docid; other tools order them by
    rank. Without ties, all tools see the same order.
    """
    previous = np.float32(np.inf)
    for score in scores:
        current = min(np.float32(score), np.float32(previous - STEP))
        if current >= previous:
            current = np.nextafter(previous, np.float32(-np.inf))
        yield float(current)
        previous = current


def write_run(
    rankings: Iterable[Ranking], path: str | Path, tag: str = "SpaDE", overwrite: bool = False
) -> int:
    """Write a TREC run, atomically; return the number of topics without hits.

    The file is compressed if its name ends in ``.gz``.
    """
    path = Path(path)
    refuse_existing(path, overwrite)
    topics_without_hits = 0
    with atomic_write(path) as plain, _compressed(plain, path) as stream:
        for qid, hits in rankings:
            topics_without_hits += not hits
            for hit in hits:
                if not abs(hit.score) <= LARGEST:
                    message = f"topic {qid}: the score of {hit.docid}, {hit.score}, is not finite"
                    raise InputError(f"{message}, or too large; check how it was computed", path)
            falling = strictly_falling(hit.score for hit in hits)
            for rank, (hit, score) in enumerate(zip(hits, falling, strict=True), start=1):
                stream.write(f"{qid} Q0 {hit.docid} {rank} {score:.6f} {tag}\n".encode())
    return topics_without_hits


def _compressed(stream: IO[bytes], path: Path) -> AbstractContextManager[IO[bytes]]:
    """Return ``stream``, or a stream that compresses into it if ``path`` ends in ``.gz``."""
    if path.suffix != ".gz":
        return nullcontext(stream)
    compressed = gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0)
    return cast("AbstractContextManager[IO[bytes]]", compressed)


def run_tag(path: str | Path) -> str:
    """Return the tag of a run: the last column of its first line, usually the model's name."""
    for _, line in read_lines(Path(path)):
        if columns := line.split():
            return columns[-1]
    raise InputError("the run is empty; give a run with hits", path)


def read_run(path: str | Path) -> list[Ranking]:
    """Read a TREC run in trec_eval's order: by descending score, ties by descending docid.

    The rank column is ignored, as in trec_eval.
    """
    path = Path(path)
    scored: dict[str, dict[str, float]] = {}
    for number, line in read_lines(path):
        parts = line.split()
        if not parts:
            continue
        if len(parts) != 6:
            message = f"expected `qid Q0 docid rank score tag`, found {len(parts)} columns"
            raise InputError(message, path, number)
        qid, _, docid, _, score, _ = parts
        try:
            value = float(score)
        except ValueError:
            raise InputError(f"the score {score!r} is not a number", path, number) from None
        if not abs(value) <= LARGEST:
            raise InputError(f"the score {score!r} is not finite, or too large", path, number)
        hits = scored.setdefault(qid, {})
        if docid in hits:
            message = f"topic {qid} has the document {docid} twice; remove one of the lines"
            raise InputError(message, path, number)
        hits[docid] = value
    return [
        Ranking(qid, [Hit(docid, score) for docid, score in _trec_order(hits)])
        for qid, hits in scored.items()
    ]


def _trec_order(hits: dict[str, float]) -> list[tuple[str, float]]:
    key = {docid: (np.float32(score), docid.encode()) for docid, score in hits.items()}
    return sorted(hits.items(), key=lambda item: key[item[0]], reverse=True)

"""Runs: the hits of all topics in TREC's format, written so that every scorer agrees on them."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, cast

import numpy as np

from spade_pyserini.errors import InputError
from spade_pyserini.formats.files import atomic_write, read_lines, refuse_existing
from spade_pyserini.records import Hit, Ranking

LARGEST = float(np.finfo(np.float32).max)  # trec_eval has 32 bits
STEP = np.float32(2e-6)  # the least that shows in the six digits of a run


def strictly_falling(scores: Iterable[float]) -> Iterator[float]:
    """Lower scores just enough that each is at least `STEP` below the one before it.

    trec_eval keeps scores as 32-bit floats and orders ties by docid, other scorers by rank: with
    no ties left they all see the same order.
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
    """Write a TREC run, atomically; returns the number of topics without any hit.

    It is packed where its name ends in ``.gz``.
    """
    path = Path(path)
    refuse_existing(path, overwrite)
    without = 0
    with atomic_write(path) as plain, _packed(plain, path) as stream:
        for qid, hits in rankings:
            without += not hits
            for hit in hits:
                if not abs(hit.score) <= LARGEST:
                    message = f"topic {qid}: the score of {hit.docid}, {hit.score}, is not finite"
                    raise InputError(f"{message}, or too large for trec_eval", path)
            falling = strictly_falling(hit.score for hit in hits)
            for rank, (hit, score) in enumerate(zip(hits, falling, strict=True), start=1):
                stream.write(f"{qid} Q0 {hit.docid} {rank} {score:.6f} {tag}\n".encode())
    return without


def _packed(stream: IO[bytes], path: Path) -> AbstractContextManager[IO[bytes]]:
    """The same stream, or one that packs what is written, where the name says ``.gz``."""
    if path.suffix != ".gz":
        return nullcontext(stream)
    packed = gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0)
    return cast("AbstractContextManager[IO[bytes]]", packed)


def read_run(path: str | Path) -> list[Ranking]:
    """Read a TREC run in trec_eval's order: by score, ties by docid from the end.

    Ranks are not looked at, as trec_eval does not either.
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
            raise InputError(f"topic {qid} has the document {docid} twice", path, number)
        hits[docid] = value
    return [
        Ranking(qid, [Hit(docid, score) for docid, score in _trec_order(hits)])
        for qid, hits in scored.items()
    ]


def _trec_order(hits: dict[str, float]) -> list[tuple[str, float]]:
    key = {docid: (np.float32(score), docid.encode()) for docid, score in hits.items()}
    return sorted(hits.items(), key=lambda item: key[item[0]], reverse=True)

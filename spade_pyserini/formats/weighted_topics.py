"""Encoded topics: the terms of each topic with their weights, integers from 1.

===================  =============================================================================
``.tsv``, ``.txt``   ``id <tab> term term term``; a term of weight n occurs n times, as in the
                     files that Anserini publishes
``.jsonl``           ``{"_id": ..., "vector": {term: weight, ...}}``; the field can have any name
===================  =============================================================================

Both forms are read plain or as ``.gz``. Pyserini reads only the first one.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from spade_pyserini.errors import InputError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.ids import id_problem
from spade_pyserini.formats.json_files import read_json_object
from spade_pyserini.formats.lines import read_lines
from spade_pyserini.formats.outputs import refuse_existing

logger = logging.getLogger(__name__)
VECTOR = "vector"
UNKNOWN = "[UNK]"  # written for a topic without terms: Anserini cannot read empty topics
LARGEST = (1 << 31) - 1


def read_weighted_topics(path: Path, field: str = VECTOR) -> dict[str, dict[str, int]]:
    """Return the term weights of each topic, by topic id, in the order of the file.

    ``field`` is the field with the vectors in JSON lines. Topics without this field are left out.
    """
    name = path.name.removesuffix(".gz")
    if not name.endswith((".tsv", ".txt", ".jsonl")):
        message = (
            "the name of a file of encoded topics must end in .tsv, .txt or .jsonl, "
            "optionally followed by .gz"
        )
        raise InputError(message, path)
    rows = _read_jsonl(path, field) if name.endswith(".jsonl") else _read_tsv(path)
    topics: dict[str, dict[str, int]] = {}
    for line, qid, weights in rows:
        if problem := id_problem(qid):
            raise InputError(f"topic: {problem}", path, line)
        if qid in topics:
            message = f"the topic id {qid!r} was used before; ids must be unique"
            raise InputError(message, path, line)
        topics[qid] = weights
    if not topics:
        raise InputError(f"no topic has a vector; in JSON lines, the field must be {field!r}", path)
    return topics


def write_weighted_topics(
    topics: Iterable[tuple[str, Mapping[str, int]]], output: Path, overwrite: bool = False
) -> list[str]:
    """Write encoded topics in a format that Pyserini reads; return the ids of topics without terms.

    For a topic without terms, the term `UNKNOWN` is written. A boolean query that has terms never
    contains `UNKNOWN`.
    """
    refuse_existing(output, overwrite)
    without_terms = []
    with atomic_write(output) as stream:
        for qid, weights in topics:
            terms = [term for term, weight in weights.items() for _ in range(weight)]
            if not terms:
                without_terms.append(qid)
            stream.write(f"{qid}\t{' '.join(terms or [UNKNOWN])}\n".encode())
    return without_terms


def _read_tsv(path: Path) -> Iterator[tuple[int, str, dict[str, int]]]:
    for number, line in read_lines(path):
        if not line.strip():
            continue
        qid, tab, text = line.partition("\t")
        if not tab:
            raise InputError("expected `id <tab> terms`, found no tab", path, number)
        yield number, qid.strip(), dict(Counter(text.split()))


def _read_jsonl(path: Path, field: str) -> Iterator[tuple[int, str, dict[str, int]]]:
    left_out = 0
    for number, line in read_lines(path):
        if not line.strip():
            continue
        values = read_json_object(line, path, number)
        qid = next((values[key] for key in ("_id", "qid", "id") if key in values), None)
        if not isinstance(qid, str | int) or isinstance(qid, bool):
            raise InputError("a topic needs its id in `_id`, `qid` or `id`", path, number)
        if field in values:
            yield number, str(qid), _weights(values[field], field, path, number)
        else:
            left_out += 1
    if left_out:
        logger.warning("%s: %d topics without the field %r are left out", path, left_out, field)


def _weights(vector: Any, field: str, path: Path, line: int) -> dict[str, int]:
    """Return the vector of a topic, or raise `InputError` if it is not valid."""
    if not isinstance(vector, dict):
        raise InputError(f"`{field}` must be an object that maps terms to weights", path, line)
    for term, weight in vector.items():
        whole = isinstance(weight, int) and not isinstance(weight, bool)
        if not whole or not 1 <= weight <= LARGEST:
            message = f"the weight of {term!r} is {weight!r}, not an integer from 1 to {LARGEST}"
            raise InputError(
                f"{message}; multiply all weights, by 100 for example, and round", path, line
            )
        if term.split() != [term]:
            raise InputError(f"the term {term!r} contains white space; remove it", path, line)
    return vector

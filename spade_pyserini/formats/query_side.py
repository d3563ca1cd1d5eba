"""The query side of vectors or of an index: how a search must encode queries.

==========  ======================================================================================
boolean     each distinct WordPiece of the query has weight 1 (SpaDE, TILDEv2)
words       each distinct word of the query has weight 1 (DeepImpact, DeepCT)
table       each distinct WordPiece has the weight that a table gives it, idf for example
neural      a model encodes the query (SPLADE, uniCOIL)
==========  ======================================================================================

The manifest records a `QuerySide`. A table is a file next to the vectors or the index::

    index/pydoc.doc-v2.queries-1f0c9a3be2d4.json       {"side": {...}, "weights": {"cat": 212, ...}}

The file name contains the first digits of the table's fingerprint. The old and the new table can
therefore exist at the same time, while an index is replaced and a search still reads the old table.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spade_pyserini.errors import ArtifactError, InputError, NotFoundError
from spade_pyserini.formats.json_files import read_json_file
from spade_pyserini.formats.numbers import is_finite
from spade_pyserini.formats.paths import remove, sibling
from spade_pyserini.formats.sealed_json import read_sealed, write_sealed

FORMAT = "spade_pyserini.queries/1"
KINDS = BOOLEAN_KIND, WORDS, TABLE, NEURAL = "boolean", "words", "table", "neural"
LARGEST_WEIGHT = 255  # the largest weight in a table
MOST_BYTES = 1 << 26  # largest size of a table file that another tool wrote
DIGITS = 12  # number of digits of the fingerprint in a file name


@dataclass(frozen=True)
class QuerySide:
    """How queries are encoded.

    kind: one of `KINDS`.
    model: the name of the model that encodes queries, or from which the table was made.
    fingerprint: digest of that model or of the table; empty for ``boolean`` and ``words``.
    prompt: text before every query.
    """

    kind: str = BOOLEAN_KIND
    model: str = ""
    fingerprint: str = ""
    prompt: str = ""

    def recorded(self) -> dict[str, str]:
        """Return the values that a manifest records."""
        return asdict(self)


BOOLEAN = QuerySide()


def query_side(values: Mapping[str, str] | None) -> QuerySide:
    """Return the query side in a manifest; boolean for manifests of earlier versions."""
    side = QuerySide(**values) if values else BOOLEAN
    if side.kind not in KINDS:
        message = f"the vectors need queries of the kind {side.kind!r}, which this version"
        raise ArtifactError(f"{message} does not know; install a newer version of spade_pyserini")
    return side


def weights_fingerprint(weights: Mapping[str, int], prompt: str = "") -> str:
    """Return a digest of the weights of a table and of the prompt."""
    values = json.dumps([prompt, sorted(weights.items())])
    return hashlib.sha256(values.encode()).hexdigest()


def weights_path(folder: Path, side: QuerySide) -> Path:
    """Return the file of a table: ``index/X`` gives ``index/X.queries-1f0c9a3be2d4.json``."""
    return sibling(folder, f"queries-{side.fingerprint[:DIGITS]}.json")


def save_weights(folder: Path, side: QuerySide, weights: Mapping[str, int]) -> None:
    """Write the table of ``side`` next to ``folder``; do nothing if queries need no table."""
    if side.kind == TABLE:
        values = {"format": FORMAT, "side": side.recorded(), "weights": dict(weights)}
        write_sealed(weights_path(folder, side), values)


def load_weights(folder: Path, side: QuerySide) -> dict[str, int]:
    """Read the table of ``side`` next to ``folder``; empty if queries need no table."""
    if side.kind != TABLE:
        return {}
    path = weights_path(folder, side)
    if not path.is_file():
        message = f"{folder}: the weights of query terms are missing (the file {path.name})"
        raise ArtifactError(f"{message}; copy it next to the folder, or encode or index again")
    weights: dict[str, int] = read_sealed(path, FORMAT)["weights"]
    if weights_fingerprint(weights, side.prompt) != side.fingerprint:
        message = f"{path}: these weights of query terms belong to other vectors"
        raise ArtifactError(f"{message}; encode or index again with overwrite=True")
    return weights


def save_side(folder: Path, side: QuerySide, weights: Mapping[str, int]) -> None:
    """Write a query side and its table next to an output that has no manifest.

    For boolean queries without a prompt, no file is written, and an existing file is removed.
    """
    path = side_path(folder)
    if side == BOOLEAN:
        remove(path)
    else:
        values = {"format": FORMAT, "side": side.recorded(), "weights": dict(weights)}
        write_sealed(path, values)


def load_side(folder: Path) -> tuple[QuerySide, dict[str, int]]:
    """Read what `save_side` wrote: the query side, and the weights of its table."""
    path = side_path(folder)
    return read_side(path) if path.is_file() else (BOOLEAN, {})


def side_path(folder: Path) -> Path:
    """Return the file that `save_side` writes: ``X.pisa`` gives ``X.pisa.queries.json``."""
    return sibling(folder, "queries.json")


def read_side(path: Path) -> tuple[QuerySide, dict[str, int]]:
    """Read a file that `save_side` wrote: the query side, and the weights of its table."""
    if not path.is_file():
        raise NotFoundError(f"{path}: no such file; `spade export` writes it next to its output")
    values = read_sealed(path, FORMAT)
    return query_side(values["side"]), values["weights"]


def remove_other_weights(folder: Path, side: QuerySide) -> None:
    """Remove the tables next to ``folder`` that ``side`` does not use."""
    name = re.escape(sibling(folder, "queries-").name)
    pattern = re.compile(rf"{name}[0-9a-f]{{{DIGITS}}}\.json")
    own = weights_path(folder, side).name if side.kind == TABLE else ""
    for path in folder.absolute().parent.iterdir():
        if pattern.fullmatch(path.name) and path.name != own:
            remove(path)


def read_term_weights(path: Path) -> dict[str, float]:
    """Read a table that another tool wrote: a JSON object of terms and weights, plain or ``.gz``.

    OpenSearch publishes the idf of its models in this form. Raises `InputError` for a weight that
    is negative, infinite or not a number.
    """
    values = read_json_file(path, MOST_BYTES)
    for term, weight in values.items():
        check_weight(term, weight, path)
    return {term: float(weight) for term, weight in values.items()}


def check_weight(term: str, weight: Any, source: Path | str) -> None:
    """Raise `InputError` unless ``weight`` is a finite number of 0 or more."""
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise InputError(f"the weight of {term!r} is {weight!r}, expected a number", source)
    if not is_finite(weight) or weight < 0:
        message = f"the weight of {term!r} is {weight}; weights must be finite and not negative"
        raise InputError(f"{message}, because an impact index holds positive integers", source)


def quantize_weights(weights: Mapping[str, float]) -> dict[str, int]:
    """Round the weights of a table to integers; the largest becomes `LARGEST_WEIGHT`.

    Terms whose weight is rounded to 0 are left out: they do not change a score.
    """
    largest = max(weights.values(), default=0.0)
    scale = LARGEST_WEIGHT / largest if largest > 0 else 1.0
    rounded = {term: round(weight * scale) for term, weight in weights.items()}
    return {term: weight for term, weight in rounded.items() if weight}

"""Vectors of another tool's making: they have no manifest, so every line is looked at first.

``pyserini.encode``, SPLADE, uniCOIL and TILDEv2 write Anserini's JsonVectorCollection, as we do.
Anserini drops what it does not understand without a word; here it is an error, by file and line.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.formats.files import is_valid_unicode, sha256
from spade_pyserini.formats.ids import IdSet
from spade_pyserini.formats.vectors import read_shard
from spade_pyserini.models.wordpieces import MAX_TERM_LENGTH, WordPieces

LARGEST = 65_535  # impact: 16 bits


class ForeignVectors(NamedTuple):
    """What was found below a folder. ``digest`` is that of all its files."""

    files: list[Path]
    documents: int
    empty: int
    postings: int
    impacts: int
    digest: str


def check_foreign(source: Path, wordpieces: WordPieces | None = None) -> ForeignVectors:
    """Read all files below ``source``; the first bad line is an `InputError`.

    With ``wordpieces``, terms have to be of their vocabulary.
    """
    files = sorted(path for path in source.rglob("*") if path.is_file())
    if not files:
        raise NotFoundError(f"{source}: no vectors there")
    known = frozenset(wordpieces.terms) if wordpieces else None
    seen, digest = IdSet(), hashlib.sha256()
    documents = empty = postings = impacts = 0
    with tqdm(desc="checking vectors", unit=" documents", disable=None) as bar:
        for path in files:
            digest.update(f"{path.relative_to(source)} {sha256(path)}\n".encode())
            for line, vector in enumerate(read_shard(path), start=1):
                _check(vector.docid, vector.impacts, known, path, line)
                if not seen.add(vector.docid):
                    message = f"the id {vector.docid!r} was used before; Lucene would keep both"
                    raise InputError(message, path, line)
                documents += 1
                empty += not vector.impacts
                postings += len(vector.impacts)
                impacts += sum(vector.impacts.values())
                bar.update()
    if not documents:
        raise InputError("no vectors there", source)
    return ForeignVectors(files, documents, empty, postings, impacts, digest.hexdigest())


def _check(
    docid: str, impacts: dict[str, int], known: frozenset[str] | None, path: Path, line: int
) -> None:
    if docid.split() != [docid] or not docid.isprintable():
        message = f"the id {docid!r} holds white space or control characters"
        raise InputError(f"{message}, which a run cannot carry", path, line)
    for term, impact in impacts.items():
        if impact > LARGEST:
            message = f"the impact of {term!r} is {impact:,}, the most is {LARGEST:,}"
            raise InputError(f"{message}; quantize to fewer bits, 8 are usual", path, line)
        if len(term) > MAX_TERM_LENGTH:
            raise InputError(f"Lucene would split the term {term[:40]!r}...", path, line)
        if not is_valid_unicode(term):
            message = f"the term {term!r} holds half of a surrogate pair (\\ud800 to \\udfff)"
            raise InputError(f"{message}; repair it", path, line)
        if known is not None and term not in known:
            message = f"the term {term!r} is no WordPiece of this tokenizer"
            raise InputError(f"{message}; name the one that it was made with", path, line)

"""Describe and check vectors that another tool encoded.

``pyserini.encode``, SPLADE, uniCOIL and TILDEv2 write Anserini's JsonVectorCollection, as this
package does, but without a manifest. Anserini silently skips lines that it does not understand. The
direct builder checks every line while it builds the index (`foreign_source`); for other uses,
`check_foreign` reads and checks all lines first. Both name the file and line of a bad vector.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.formats.digests import sha256
from spade_pyserini.formats.ids import IdSet
from spade_pyserini.formats.vectors import read_shard
from spade_pyserini.index.foreign_checks import ForeignChecks, repeated_id
from spade_pyserini.index.source import VectorSource
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.progress import counting_bar


def foreign_source(folder: Path, wordpieces: WordPieces | None = None) -> VectorSource:
    """Describe all vectors below ``folder``, with checks to be made while they are indexed.

    If ``wordpieces`` is given, a term that is not in its vocabulary is an error.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if not files:
        message = f"{folder}: no such folder, or this folder has no vectors"
        raise NotFoundError(f"{message}; give the folder with the vectors")
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.relative_to(folder)} {sha256(path)}\n".encode())
    name = folder.resolve().name
    checks = ForeignChecks(frozenset(wordpieces.terms) if wordpieces else None)
    return VectorSource(*(folder, files, name, name, 0, 0, 0, 0, digest.hexdigest()), checks=checks)


def check_foreign(folder: Path, wordpieces: WordPieces | None = None) -> VectorSource:
    """Check all vectors below ``folder``; return their files, counts and digest.

    Raises `InputError` at the first bad line.
    """
    source = foreign_source(folder, wordpieces)
    assert source.checks is not None
    return count_foreign(source, source.checks)


def count_foreign(source: VectorSource, checks: ForeignChecks) -> VectorSource:
    """Check all vectors of ``source`` now; return it with its counts and without ``checks``."""
    docids = IdSet()
    documents = empty = postings = impacts = 0
    with counting_bar("checking vectors", "documents") as bar:
        for path in source.files:
            for line, vector in enumerate(read_shard(path), start=1):
                checks.check(vector, path, line)
                if not docids.add(vector.docid):
                    raise repeated_id(vector.docid, path, line)
                documents += 1
                empty += not vector.impacts
                postings += len(vector.impacts)
                impacts += sum(vector.impacts.values())
                bar.update()
    if not documents:
        raise no_vectors(source.folder)
    return source._replace(
        documents=documents,
        empty_documents=empty,
        postings=postings,
        impacts=impacts,
        checks=None,
    )


def no_vectors(folder: Path) -> InputError:
    """Return the error for a folder whose files have no line."""
    return InputError("this folder has no vectors; give the folder with the vectors", folder)

"""Check vectors that another tool made.

``pyserini.encode``, SPLADE, uniCOIL and TILDEv2 write Anserini's JsonVectorCollection, as this
package does, but without a manifest. Anserini silently skips lines that it does not understand;
`check_foreign` reads every line and reports the first bad one by file and line.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.formats.digests import sha256
from spade_pyserini.formats.ids import IdSet, id_problem
from spade_pyserini.formats.unicode import is_valid_unicode
from spade_pyserini.formats.vectors import read_shard
from spade_pyserini.index.source import VectorSource
from spade_pyserini.models.wordpieces import MAX_TERM_LENGTH, WordPieces
from spade_pyserini.progress import counting_bar
from spade_pyserini.records import ImpactVector

LARGEST_IMPACT = 65_535  # 16 bits


def check_foreign(folder: Path, wordpieces: WordPieces | None = None) -> VectorSource:
    """Check all vectors below ``folder``; return their files, counts and digest.

    Raises `InputError` at the first bad line. If ``wordpieces`` is given, a term that is not in its
    vocabulary is bad.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if not files:
        raise NotFoundError(f"{folder}: this folder has no vectors")
    vocabulary = frozenset(wordpieces.terms) if wordpieces else None
    docids, digest = IdSet(), hashlib.sha256()
    documents = empty = postings = impacts = 0
    beyond_bmp = False
    with counting_bar("checking vectors", "documents") as bar:
        for path in files:
            digest.update(f"{path.relative_to(folder)} {sha256(path)}\n".encode())
            for line, vector in enumerate(read_shard(path), start=1):
                _check_vector(vector, vocabulary, path, line)
                if not docids.add(vector.docid):
                    message = f"the id {vector.docid!r} occurs twice; Lucene would index both"
                    raise InputError(f"{message}, remove one of the lines", path, line)
                documents += 1
                empty += not vector.impacts
                postings += len(vector.impacts)
                impacts += sum(vector.impacts.values())
                beyond_bmp |= any(max(term) > "\uffff" for term in vector.impacts if term)
                bar.update()
    if not documents:
        raise InputError("this folder has no vectors", folder)
    name = folder.resolve().name
    return VectorSource(
        *(folder, files, name, name, documents, empty, postings, impacts, digest.hexdigest()),
        beyond_bmp=beyond_bmp,
    )


def _check_vector(
    vector: ImpactVector, vocabulary: frozenset[str] | None, path: Path, line: int
) -> None:
    if problem := id_problem(vector.docid):
        raise InputError(problem, path, line)
    for term, impact in vector.impacts.items():
        if impact > LARGEST_IMPACT:
            message = f"the impact of {term!r} is {impact:,}, the maximum is {LARGEST_IMPACT:,}"
            raise InputError(f"{message}; quantize to fewer bits, 8 are usual", path, line)
        if len(term) > MAX_TERM_LENGTH:
            message = f"the term {term[:40]!r}... is longer than {MAX_TERM_LENGTH} characters"
            raise InputError(f"{message}; Lucene would split it", path, line)
        if not is_valid_unicode(term):
            message = f"the term {term!r} contains half of a surrogate pair (\\ud800 to \\udfff)"
            raise InputError(f"{message}; repair or remove it", path, line)
        if vocabulary is not None and term not in vocabulary:
            message = f"the term {term!r} is not in the vocabulary of the tokenizer"
            raise InputError(f"{message}; give tokenizer=PATH of the vectors' model", path, line)

"""Document expansions, such as docT5query's predicted queries: text appended to documents.

A file of expansions has one of these formats:

===========  ==================================================================
``.jsonl``   ``{"id": ..., "predicted_queries": [...]}``, docT5query's format
``.tsv``     ``docid <tab> text``
``.txt``     one line for each document, in the order of the corpus
===========  ==================================================================
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from spade_pyserini.corpora.checks import LocatedDocument, OnError, ReadDocuments, raise_error
from spade_pyserini.corpora.corpus import Corpus
from spade_pyserini.errors import ArtifactError, InputError, UsageError
from spade_pyserini.formats.digests import sha256
from spade_pyserini.formats.ids import IdSet
from spade_pyserini.formats.json_files import read_json_object
from spade_pyserini.formats.lines import read_lines, unpacked_name
from spade_pyserini.formats.paths import sibling
from spade_pyserini.formats.sealed_json import read_sealed
from spade_pyserini.formats.tables import counted

logger = logging.getLogger(__name__)
FORMAT = "spade_pyserini.expansions/1"  # the format of the manifest
JSON = (".jsonl", ".json")
QUERIES = ("predicted_queries", "queries", "expansions", "text")


def expanded(corpus: Corpus, path: str | Path, per_document: int | None = None) -> Corpus:
    """Return the corpus with the expansions of ``path`` appended to its documents.

    A document without an expansion stays unchanged. A line of a ``.jsonl`` file has a list of
    queries, of which the first ``per_document`` are appended (by default, all). The other formats
    do not separate queries, so ``per_document`` is an error with these formats. A file that
    `spade expand` wrote is checked against its manifest.
    """
    if per_document is not None and not unpacked_name(Path(path)).endswith(JSON):
        message = f"{path}: only .jsonl files list the queries of a document separately"
        raise UsageError(f"{message}; leave out expansions_per_doc={per_document}")
    check_expansions(Path(path))
    return replace(corpus, read=partial(_read_expanded, corpus.read, Path(path), per_document))


def check_expansions(path: Path) -> None:
    """Raise `ArtifactError` if a file differs from the manifest that `spade expand` wrote."""
    manifest = sibling(path, "manifest.json")
    if not (path.is_file() and manifest.is_file()):
        return
    if read_sealed(manifest, FORMAT).get("sha256") != sha256(path):
        message = f"{path} was edited or damaged: it differs from its digest in {manifest.name}"
        raise ArtifactError(f"{message}; run spade expand again, or remove {manifest.name}")


def _read_expanded(
    read: ReadDocuments, path: Path, per_document: int | None, on_error: OnError
) -> Iterator[LocatedDocument]:
    if _is_in_corpus_order(path):
        # The lines have no ids. If a document were skipped, each later line would be appended to
        # the wrong document. Therefore, the first bad document is an error.
        on_error = raise_error
    for located, text in zip_expansions(read(on_error), path, per_document):
        document = located.document
        longer = f"{document.text} {text}".strip()
        yield located._replace(document=document._replace(text=longer))


def _is_in_corpus_order(path: Path) -> bool:
    """Whether the file has lines without ids, in the order of the corpus."""
    return unpacked_name(path).endswith(".txt")


def zip_expansions(
    documents: Iterable[LocatedDocument], path: Path, per_document: int | None
) -> Iterator[tuple[LocatedDocument, str]]:
    """Yield each document with its expansion, or with ``""`` if it has none.

    A line of the file is kept in memory until the document with its id is read. This needs little
    memory if the lines are in the order of the corpus.
    """
    lines = _read(path, per_document)
    if _is_in_corpus_order(path):
        yield from _zip_lines(documents, lines, path)
        return
    ahead: dict[str, str] = {}
    used = 0
    for located in documents:
        docid = located.document.docid
        while docid not in ahead:
            line = next(lines, None)
            if line is None:
                break
            ahead[line[0]] = line[1]
        used += docid in ahead
        yield located, ahead.pop(docid, "")
    if not used:
        raise InputError("no id in this file is an id of the corpus; choose another file", path)
    if unused := len(ahead) + sum(1 for _ in lines):
        shown = counted(unused, "text")
        logger.warning("%s: the ids of %s are not in the corpus", path, shown)


def _zip_lines(
    documents: Iterable[LocatedDocument], lines: Iterator[tuple[str, str]], path: Path
) -> Iterator[tuple[LocatedDocument, str]]:
    number = 0
    for number, located in enumerate(documents, start=1):
        line = next(lines, None)
        if line is None:
            message = f"only {number - 1} lines, but the corpus has more documents"
            raise InputError(f"{message}; write a line for each document", path)
        yield located, line[1]
    if next(lines, None) is not None:
        message = f"the file has more lines than the corpus has documents ({number})"
        raise InputError(f"{message}; write a line for each document", path)


def _read(path: Path, per_document: int | None) -> Iterator[tuple[str, str]]:
    """Yield (id, text) of each line; for a ``.txt`` file, the id is the line number."""
    name, seen = unpacked_name(path), IdSet()
    for number, line in read_lines(path):
        if name.endswith(".txt"):
            yield str(number), line.strip()
            continue
        if name.endswith(JSON):
            docid, text = _parse_json(line, path, number, per_document)
        else:
            docid, tab, text = line.partition("\t")
            if not tab or not docid:
                raise InputError("expected `docid <tab> text`", path, number)
        if not text.strip():
            raise InputError(f"the expansion of {docid!r} is empty; remove the line", path, number)
        if not seen.add(docid):
            message = f"the id {docid!r} was used before; put its texts on one line"
            raise InputError(message, path, number)
        yield docid, text.strip()


def _parse_json(line: str, path: Path, number: int, per_document: int | None) -> tuple[str, str]:
    fields = read_json_object(line, path, number)
    docid = next((fields[key] for key in ("id", "_id", "docid") if key in fields), None)
    queries = next((fields[key] for key in QUERIES if key in fields), None)
    texts = [queries] if isinstance(queries, str) else queries
    if (
        docid is None
        or not isinstance(texts, list)
        or not all(isinstance(text, str) for text in texts)
    ):
        message = f"expected an `id` and a list of texts in `{QUERIES[0]}`"
        raise InputError(message, path, number)
    return str(docid), " ".join(texts[:per_document])

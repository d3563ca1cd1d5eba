"""docT5query and other expansions: text to append to documents.

===========  ==================================================================
``.jsonl``   ``{"id": ..., "predicted_queries": [...]}``, as published
``.tsv``     ``docid <tab> text``
``.txt``     one line for each document, in the order of the corpus
===========  ==================================================================
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from spade_pyserini.corpora.checks import IdSet, Located, OnError, strict
from spade_pyserini.corpora.corpus import Corpus
from spade_pyserini.errors import InputError
from spade_pyserini.formats.files import read_json_object, read_lines

logger = logging.getLogger(__name__)
QUERIES = ("predicted_queries", "queries", "expansions", "text")


def expanded(corpus: Corpus, path: str | Path, per_document: int | None = None) -> Corpus:
    """The same documents with their expansions; a document without one is left as it is."""
    return replace(corpus, read=partial(_read_both, corpus.read, Path(path), per_document))


def _read_both(
    read: Callable[[OnError], Iterator[Located]],
    path: Path,
    per_document: int | None,
    on_error: OnError,
) -> Iterator[Located]:
    if _is_by_place(path):
        on_error = strict  # a document less, and all after it would get another one's text
    for located, text in zip_expansions(read(on_error), path, per_document):
        document = located.document
        longer = f"{document.text} {text}".strip()
        yield located._replace(document=document._replace(text=longer))


def _is_by_place(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith(".txt")


def zip_expansions(
    documents: Iterable[Located], path: Path, per_document: int | None
) -> Iterator[tuple[Located, str]]:
    """Each document with its text. Files in the order of the corpus are never held in memory."""
    lines = _read(path, per_document)
    if _is_by_place(path):
        yield from _by_place(documents, lines, path)
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
        raise InputError("no id in this file is one of the corpus", path)
    if unused := len(ahead) + sum(1 for _ in lines):
        logger.warning("%s: %d texts are for ids that the corpus has not", path, unused)


def _by_place(
    documents: Iterable[Located], lines: Iterator[tuple[str, str]], path: Path
) -> Iterator[tuple[Located, str]]:
    number = 0
    for number, located in enumerate(documents, start=1):
        line = next(lines, None)
        if line is None:
            raise InputError(f"{number - 1} lines, but the corpus has more documents", path)
        yield located, line[1]
    if next(lines, None) is not None:
        raise InputError(f"more lines than the corpus's {number} documents", path)


def _read(path: Path, per_document: int | None) -> Iterator[tuple[str, str]]:
    """(id, text); the id of a ``.txt`` is the line's number."""
    plain, seen = path.name.removesuffix(".gz"), IdSet()
    for number, line in read_lines(path):
        if plain.endswith(".txt"):
            yield str(number), line.strip()
            continue
        if plain.endswith((".jsonl", ".json")):
            docid, text = _from_json(line, path, number, per_document)
        else:
            docid, tab, text = line.partition("\t")
            if not tab or not docid:
                raise InputError("expected `docid <tab> text`", path, number)
        if not text.strip():
            raise InputError(f"the expansion of {docid!r} is empty", path, number)
        if not seen.add(docid):
            message = f"the id {docid!r} was used before; put its texts on one line"
            raise InputError(message, path, number)
        yield docid, text.strip()


def _from_json(line: str, path: Path, number: int, per_document: int | None) -> tuple[str, str]:
    fields = read_json_object(line, path, number)
    docid = next((fields[key] for key in ("id", "_id", "docid") if key in fields), None)
    found = next((fields[key] for key in QUERIES if key in fields), None)
    texts = [found] if isinstance(found, str) else found
    if docid is None or not isinstance(texts, list) or not all(isinstance(x, str) for x in texts):
        message = f"expected an `id` and a list of texts in `{QUERIES[0]}`"
        raise InputError(message, path, number)
    return str(docid), " ".join(texts[:per_document])

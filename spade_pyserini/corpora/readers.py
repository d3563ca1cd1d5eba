"""Read documents line by line from files in three usual formats, plain or compressed.

=========  ==================================  =============================================
BEIR       ``corpus.jsonl``                    ``{"_id": ..., "title": ..., "text": ...}``
Pyserini   ``*.jsonl``, ``*.json``             ``{"id": ..., "contents": ...}``
MS MARCO   ``collection.tsv``, any ``*.tsv``   ``id <tab> text``, without a header
=========  ==================================  =============================================
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from lzma import LZMAError
from pathlib import Path

from spade_pyserini.corpora.checks import LocatedDocument, OnError, raise_error
from spade_pyserini.corpora.delimited import is_header
from spade_pyserini.corpora.layout import file_kind
from spade_pyserini.errors import InputError
from spade_pyserini.formats.json_files import read_json_object
from spade_pyserini.formats.lines import open_binary, read_lines
from spade_pyserini.records import Document


def read_files(files: list[Path], on_error: OnError = raise_error) -> Iterator[LocatedDocument]:
    """Yield the documents of several files, one file after the other."""
    for path in files:
        parse = _reader(path)
        has_documents = False
        for number, line in read_lines(path, on_error):
            try:
                document = parse(line, path, number)
            except InputError as error:
                on_error(error)
                continue
            if document is not None:
                has_documents = True
                yield LocatedDocument(document, str(path), number)
        if not has_documents:
            raise InputError("the file contains no document", path)


def count_lines(files: list[Path]) -> int | None:
    """Return the number of lines as an estimate of the number of documents.

    Returns None if a file cannot be read.
    """
    try:
        return sum(_lines(path) for path in files)
    except (OSError, EOFError, zlib.error, LZMAError):
        return None


def _lines(path: Path) -> int:
    with open_binary(path) as stream:
        return sum(1 for _ in stream)


def _reader(path: Path) -> Callable[[str, Path, int], Document | None]:
    return read_json if file_kind(path) == "json" else read_tsv


def read_json(line: str, path: Path, number: int) -> Document | None:
    """Parse a line of BEIR's or Pyserini's format, which differ only in the names of fields."""
    if not line.strip():
        return None
    fields = read_json_object(line, path, number)
    docid = fields.get("_id", fields.get("id"))
    if not isinstance(docid, str | int) or isinstance(docid, bool):
        message = "a document needs its id, a string or integer, in `_id` (BEIR) or `id` (Pyserini)"
        raise InputError(message, path, number)
    text = fields.get("text", fields.get("contents"))
    title = fields.get("title")
    if not isinstance(text, str):
        message = "a document needs its text in `text` (BEIR) or `contents` (Pyserini)"
        raise InputError(message, path, number)
    if title is not None and not isinstance(title, str):
        raise InputError(f"the title {title!r} is not a string; put quotes around it", path, number)
    return Document(str(docid), title or "", text)


def read_tsv(line: str, path: Path, number: int) -> Document | None:
    """Parse a line of MS MARCO's ``collection.tsv``."""
    if not line:
        return None
    docid, tab, text = line.partition("\t")
    if not tab:
        raise InputError("expected `id <tab> text`, found no tab", path, number)
    # If the first file of the folder has a header, this function is not called.
    if number == 1 and is_header(line.split("\t")):
        message = "this line is a header, but the first file of the folder has no header"
        raise InputError(f"{message}; give all files a header, or none", path, number)
    return Document(docid, "", text)

"""Files of documents in the three usual formats, plain or ``.gz``, read line by line.

=========  ==================================  =============================================
BEIR       ``corpus.jsonl``                    ``{"_id": ..., "title": ..., "text": ...}``
Pyserini   ``*.jsonl``, ``*.json``             ``{"id": ..., "contents": ...}``
MS MARCO   ``collection.tsv``, any ``*.tsv``   ``id <tab> text``
=========  ==================================  =============================================
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from spade_pyserini.corpora.checks import LocatedDocument, OnError, raise_error
from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.formats.json_files import read_json_object
from spade_pyserini.formats.lines import open_binary, read_lines
from spade_pyserini.records import Document

JSON_SUFFIXES = (".jsonl", ".json", ".jsonl.gz", ".json.gz")
TSV_SUFFIXES = (".tsv", ".tsv.gz")
MAIN_FILES = ("corpus.jsonl", "corpus.jsonl.gz", "collection.tsv", "collection.tsv.gz")


def corpus_files(path: Path) -> list[Path]:
    """Return the files that make up the corpus at ``path``, in reading order."""
    if path.is_file():
        _reader(path)
        return [path]
    if not path.is_dir():
        raise NotFoundError(f"{path}: no such file or folder")
    for name in MAIN_FILES:
        if (path / name).is_file():
            return [path / name]
    files = sorted(file for file in path.rglob("*") if file.is_file())
    json_files = [file for file in files if file.name.endswith(JSON_SUFFIXES)]
    tsv_files = [file for file in files if file.name.endswith(TSV_SUFFIXES)]
    if json_files and tsv_files:
        message = f"the folder has both {json_files[0].name} and {tsv_files[0].name}"
        raise InputError(f"{message}; give the path of the file that is the corpus", path)
    if not json_files and not tsv_files:
        expected = "corpus.jsonl (BEIR), collection.tsv (MS MARCO) or *.jsonl (Pyserini)"
        raise InputError(f"no corpus in this folder; expected {expected}, plain or .gz", path)
    return json_files or tsv_files


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
    """Return the number of lines, about that of the documents; None if a file is unreadable."""
    try:
        return sum(_lines(path) for path in files)
    except (OSError, EOFError, zlib.error):
        return None


def _lines(path: Path) -> int:
    with open_binary(path) as stream:
        return sum(1 for _ in stream)


def _reader(path: Path) -> Callable[[str, Path, int], Document | None]:
    if path.name.endswith(JSON_SUFFIXES):
        return read_json
    if path.name.endswith(TSV_SUFFIXES):
        return read_tsv
    message = "unknown format: the file name must end in .jsonl, .json or .tsv, plain or .gz"
    raise InputError(message, path)


def read_json(line: str, path: Path, number: int) -> Document | None:
    """Parse a line of BEIR's or Pyserini's format, which differ only in the names of fields."""
    if not line.strip():
        return None
    fields = read_json_object(line, path, number)
    docid = fields.get("_id", fields.get("id"))
    if not isinstance(docid, str | int) or isinstance(docid, bool):
        message = "a document needs its id as a string, in `_id` (BEIR) or `id` (Pyserini)"
        raise InputError(message, path, number)
    text = fields.get("text", fields.get("contents"))
    title = fields.get("title")
    if not isinstance(text, str):
        message = "a document needs its text in `text` (BEIR) or `contents` (Pyserini)"
        raise InputError(message, path, number)
    if title is not None and not isinstance(title, str):
        raise InputError(f"the title {title!r} is not a string", path, number)
    return Document(str(docid), title or "", text)


def read_tsv(line: str, path: Path, number: int) -> Document | None:
    """Parse a line of MS MARCO's ``collection.tsv``."""
    if not line:
        return None
    docid, tab, text = line.partition("\t")
    if not tab:
        raise InputError("expected `id <tab> text`, found no tab", path, number)
    return Document(docid, "", text)

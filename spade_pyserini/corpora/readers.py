"""The three forms in which people keep corpora, plain or ``.gz``, read line by line.

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

from spade_pyserini.corpora.checks import Located, OnError, strict
from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.formats.files import open_binary, read_json_object, read_lines
from spade_pyserini.records import Document

JSON_SUFFIXES = (".jsonl", ".json", ".jsonl.gz", ".json.gz")
TSV_SUFFIXES = (".tsv", ".tsv.gz")
MAIN_FILES = ("corpus.jsonl", "corpus.jsonl.gz", "collection.tsv", "collection.tsv.gz")


def corpus_files(path: Path) -> list[Path]:
    """The files that make up the corpus at ``path``, in the order they are read."""
    if path.is_file():
        _reader(path)
        return [path]
    if not path.is_dir():
        raise NotFoundError(f"{path}: no such file or folder")
    for name in MAIN_FILES:
        if (path / name).is_file():
            return [path / name]
    below = sorted(file for file in path.rglob("*") if file.is_file())
    lines = [file for file in below if file.name.endswith(JSON_SUFFIXES)]
    tables = [file for file in below if file.name.endswith(TSV_SUFFIXES)]
    if lines and tables:
        message = f"both {lines[0].name} and {tables[0].name} are in this folder"
        raise InputError(f"{message}; name the file that is the corpus", path)
    if not lines and not tables:
        wanted = "corpus.jsonl (BEIR), collection.tsv (MS MARCO) or *.jsonl (Pyserini)"
        raise InputError(f"no corpus in this folder; expected {wanted}, plain or .gz", path)
    return lines or tables


def read_files(files: list[Path], on_error: OnError = strict) -> Iterator[Located]:
    """Documents of several files, one after the other."""
    for path in files:
        parse = _reader(path)
        found = False
        for number, line in read_lines(path, on_error):
            try:
                document = parse(line, path, number)
            except InputError as error:
                on_error(error)
                continue
            if document is not None:
                found = True
                yield Located(document, str(path), number)
        if not found:
            raise InputError("the file holds no document", path)


def count_lines(files: list[Path]) -> int | None:
    """About as many as there are documents; None where a file cannot be read."""
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
    message = "the name does not tell the form; expected .jsonl, .json or .tsv, plain or .gz"
    raise InputError(message, path)


def read_json(line: str, path: Path, number: int) -> Document | None:
    """A line of BEIR's or Pyserini's: they differ only in the names of the fields."""
    if not line.strip():
        return None
    fields = read_json_object(line, path, number)
    docid = fields.get("_id", fields.get("id"))
    if not isinstance(docid, str | int) or isinstance(docid, bool):
        message = "a document needs its id as text, in `_id` (BEIR) or `id` (Pyserini)"
        raise InputError(message, path, number)
    text = fields.get("text", fields.get("contents"))
    title = fields.get("title")
    if not isinstance(text, str):
        message = "a document needs its text in `text` (BEIR) or `contents` (Pyserini)"
        raise InputError(message, path, number)
    if title is not None and not isinstance(title, str):
        raise InputError(f"the title {title!r} is not text", path, number)
    return Document(str(docid), title or "", text)


def read_tsv(line: str, path: Path, number: int) -> Document | None:
    """A line of MS MARCO's ``collection.tsv``."""
    if not line:
        return None
    docid, tab, text = line.partition("\t")
    if not tab:
        raise InputError("expected `id <tab> text`, found no tab", path, number)
    return Document(docid, "", text)

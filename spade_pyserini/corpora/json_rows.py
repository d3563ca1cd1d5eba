"""Read JSON objects as rows: an object on each line, or an array of objects."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from spade_pyserini.corpora.checks import OnError
from spade_pyserini.corpora.rows import Row
from spade_pyserini.errors import InputError
from spade_pyserini.formats.json_array import read_json_array
from spade_pyserini.formats.json_files import read_json_object
from spade_pyserini.formats.lines import input_errors, open_binary, read_lines

SAMPLE = 1000  # number of objects, at the beginning of a file, whose fields are the columns
START = 4096  # number of bytes to read when looking for the first character that is not blank


class JsonLines:
    """A JSON object on each line."""

    def columns(self, path: Path) -> list[str]:
        """The fields of the first objects; invalid lines are skipped."""
        return _fields(self.rows(path, (), lambda _: None))

    def rows(self, path: Path, names: Sequence[str], on_error: OnError) -> Iterator[Row]:
        """Yield the objects. An object may lack some of the fields ``names``."""
        for number, line in read_lines(path, on_error):
            if not line.strip():
                continue
            try:
                values = read_json_object(line, path, number)
            except InputError as error:
                on_error(error)
            else:
                yield Row(values, number)

    def count(self, path: Path) -> int | None:
        """The number of lines."""
        with open_binary(path) as stream:
            return sum(1 for _ in stream)


class JsonArray:
    """A file that is an array of JSON objects. It is read in pieces."""

    def columns(self, path: Path) -> list[str]:
        """The fields of the first objects."""
        return _fields(self.rows(path, (), lambda _: None))

    def rows(self, path: Path, names: Sequence[str], on_error: OnError) -> Iterator[Row]:
        """Yield the objects. An object may lack some of the fields ``names``."""
        for number, value in read_json_array(path):
            if isinstance(value, dict):
                yield Row(value, number)
            else:
                kind = "null" if value is None else type(value).__name__
                message = f"a JSON object was expected in the array, found {kind}"
                on_error(InputError(message, path, number))

    def count(self, path: Path) -> int | None:
        """None: the number is unknown until the array is read."""
        return None


def is_array(path: Path) -> bool:
    """Whether the first character of a JSON file, after white space, is ``[``."""
    with input_errors(path), open_binary(path) as stream:
        start = stream.read(START)
    return start.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"[")


def _fields(rows: Iterator[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in islice(rows, SAMPLE) for name in row.values))

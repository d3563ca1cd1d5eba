"""Read a file that is a JSON array, element by element, in little memory."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from spade_pyserini.errors import InputError
from spade_pyserini.formats.json_files import unique_keys
from spade_pyserini.formats.lines import input_errors, open_binary

CHUNK = 1 << 20  # number of characters to read at a time
BLANKS = re.compile(r"[ \t\r\n]*")


def read_json_array(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield (line number, element) for each element of the array in a file.

    The file can be compressed. Invalid JSON raises `InputError`.
    """
    try:
        with input_errors(path), open_binary(path) as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="\n")
            yield from _Array(text, path).elements()
    except UnicodeDecodeError:
        raise InputError("the file is not UTF-8; re-encode it", path) from None


class _Array:
    """The part of the text that is in memory, and the current position in it."""

    def __init__(self, stream: TextIO, path: Path) -> None:
        self.stream, self.path = stream, path
        self.text, self.position, self.line, self.size = "", 0, 1, CHUNK
        self.decoder = json.JSONDecoder(object_pairs_hook=unique_keys)

    def elements(self) -> Iterator[tuple[int, Any]]:
        self._expect("[")
        if self._next() == "]":
            self._expect("]")
        else:
            while True:
                self._next()
                line = self.line
                yield line, self._element()
                if self._expect(",]") == "]":
                    break
        if self._next():
            raise self._error("there is more text after the end of the array")

    def _element(self) -> Any:
        """Decode the element at the position; read more text while it is not complete."""
        while True:
            try:
                value, end = self.decoder.raw_decode(self.text, self.position)
            except json.JSONDecodeError as error:
                if self._read():
                    continue
                raise self._error(f"not valid JSON ({error.msg})") from None
            except ValueError as error:  # a repeated key, or a number with too many digits
                raise self._error(f"invalid JSON ({error})") from None
            except RecursionError:
                raise self._error("JSON nested too deeply") from None
            self._advance(end)
            return value

    def _expect(self, characters: str) -> str:
        """Skip one of these characters and return it."""
        found = self._next()
        if not found or found not in characters:
            shown = " or ".join(characters)
            raise self._error(f"not valid JSON (expected {shown}, found {found or 'the end'})")
        self._advance(self.position + 1)
        return found

    def _next(self) -> str:
        """Skip white space; return the next character, or an empty string at the end."""
        while True:
            match = BLANKS.match(self.text, self.position)
            self._advance(match.end() if match else self.position)
            if self.position < len(self.text):
                return self.text[self.position]
            if not self._read():
                return ""

    def _advance(self, end: int) -> None:
        self.line += self.text.count("\n", self.position, end)
        self.position = end

    def _read(self) -> bool:
        """Read more text; return False at the end of the file.

        If an element could not be decoded, twice as much text is read as in the last attempt.
        """
        self.size = 2 * self.size if self.position == 0 and self.text else CHUNK
        more = self.stream.read(self.size)
        self.text = self.text[self.position :] + more
        self.position = 0
        return bool(more)

    def _error(self, message: str) -> InputError:
        return InputError(message, self.path, self.line)

"""Text files by lines, in UTF-8, plain or ``.gz``."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO

from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.paths import is_local

LONGEST_LINE = 1 << 28  # bytes; a compressed file of a few megabytes can hold a line of gigabytes


def read_lines(
    path: Path, on_error: Callable[[InputError], None] | None = None
) -> Iterator[tuple[int, str]]:
    """Yield (line number, line without its end) of a UTF-8 file, plain or ``.gz``.

    Bytes that are not UTF-8 and a damaged or truncated ``.gz`` raise `InputError`. If ``on_error``
    is given, it is called with the error of a line that is not UTF-8; unless it raises, the line is
    skipped. A line longer than `LONGEST_LINE` is an error, before more of it is read.
    """
    offset = 0
    number = 0
    try:
        with open_binary(path) as stream:
            for number, raw in enumerate(_raw_lines(stream), start=1):
                if len(raw) > LONGEST_LINE:
                    message = f"the line is longer than {LONGEST_LINE:,} bytes; split the document"
                    raise InputError(message, path, number)
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    position = offset + error.start
                    byte = f"byte {position} (0x{raw[error.start]:02x})"
                    fault = InputError(f"{byte} is not UTF-8; re-encode the file", path, number)
                    if on_error is None:
                        raise fault from None
                    on_error(fault)
                else:
                    yield number, line.rstrip("\r\n")
                offset += len(raw)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        message = f"the gzip data is damaged or cut off ({error}); fetch or write the file again"
        raise InputError(message, path, number + 1) from None
    except FileNotFoundError:
        raise NotFoundError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError("is a folder, a file was expected", path) from None


def _raw_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a stream; of a line that is too long, only the first part."""
    return iter(partial(stream.readline, LONGEST_LINE + 1), b"")


def open_binary(path: Path) -> IO[bytes]:
    """Open a file for reading bytes, decompressed if it is ``.gz``."""
    if path.suffix == ".gz":
        compressed = path if is_local(path) else path.open("rb")
        return gzip.open(compressed, "rb")  # type: ignore[return-value]
    return path.open("rb")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a text file, atomically."""
    with atomic_write(path) as stream:
        stream.write("".join(f"{line}\n" for line in lines).encode())

"""Read UTF-8 files line by line, plain or compressed (``.gz``, ``.bz2``, ``.xz``, ``.zst``)."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.paths import is_local
from spade_pyserini.formats.similar import no_such

PACKED = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
RE_ENCODE = "save the file as UTF-8, for example with iconv -f WINDOWS-1252 -t UTF-8"
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError)
LONGEST_LINE = 1 << 28  # bytes; a compressed file of a few megabytes can hold a line of gigabytes


def read_lines(
    path: Path, on_error: Callable[[InputError], None] | None = None
) -> Iterator[tuple[int, str]]:
    """Yield (line number, line without its end) of a UTF-8 file, plain or compressed.

    `InputError` is raised for bytes that are not UTF-8, for a line longer than `LONGEST_LINE`, and
    for compressed data that is damaged or truncated. If ``on_error`` is given, the error of a line
    that is not UTF-8 is passed to ``on_error`` instead. If ``on_error`` returns, the line is
    skipped.
    """
    offset = 0
    for number, raw in read_raw_lines(path):
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            position = offset + error.start
            byte = f"byte {position} (0x{raw[error.start]:02x})"
            fault = InputError(f"{byte} is not UTF-8; {RE_ENCODE}", path, number)
            if on_error is None:
                raise fault from None
            on_error(fault)
        else:
            yield number, line.rstrip("\r\n")
        offset += len(raw)


def read_raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (line number, bytes of the line with its end) of a file, plain or compressed."""
    number = 0
    with input_errors(path, lambda: number + 1), open_binary(path) as stream:
        for number, raw in enumerate(_raw_lines(stream), start=1):
            if len(raw) > LONGEST_LINE:
                message = f"the line is longer than {LONGEST_LINE:,} bytes; split the document"
                raise InputError(message, path, number)
            yield number, raw


@contextmanager
def input_errors(path: Path, line: Callable[[], int | None] = lambda: None) -> Iterator[None]:
    """Raise `SpadeError` for three errors in the ``with`` block, which reads the file ``path``.

    The three errors are: the file is missing, is a folder, or has damaged compressed data. ``line``
    returns the current line number for the message.
    """
    try:
        yield
    except FileNotFoundError:
        raise NotFoundError(no_such(path, "file")) from None
    except IsADirectoryError:
        raise InputError("is a folder, a file was expected", path) from None
    except (*DAMAGED, OSError) as error:
        # bz2 and zstd raise an OSError without a number for data that they cannot decompress.
        if isinstance(error, OSError) and (error.errno is not None or path.suffix not in PACKED):
            raise
        method = PACKED.get(path.suffix, "compressed")
        message = f"the {method} data is damaged or cut off ({error})"
        raise InputError(f"{message}; fetch or write the file again", path, line()) from None


def _raw_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a stream; a line longer than `LONGEST_LINE` comes in several pieces."""
    return iter(partial(stream.readline, LONGEST_LINE + 1), b"")


def open_binary(path: Path) -> IO[bytes]:
    """Open a file for reading bytes, decompressed if needed."""
    if path.suffix not in PACKED:
        return path.open("rb")
    packed: Any = path if is_local(path) else path.open("rb")
    if path.suffix == ".gz":
        return cast("IO[bytes]", gzip.open(packed, "rb"))
    if path.suffix == ".bz2":
        return cast("IO[bytes]", bz2.open(packed, "rb"))
    if path.suffix == ".xz":
        return cast("IO[bytes]", lzma.open(packed, "rb"))
    import pyarrow as pa

    stream = pa.CompressedInputStream(pa.PythonFile(path.open("rb")), "zstd")
    return io.BufferedReader(stream)


def unpacked_name(path: Path) -> str:
    """The name of a file without the suffix of its compression: ``a.csv`` for ``a.csv.gz``."""
    return path.name.removesuffix(path.suffix) if path.suffix in PACKED else path.name


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a text file, atomically."""
    with atomic_write(path) as stream:
        stream.write("".join(f"{line}\n" for line in lines).encode())

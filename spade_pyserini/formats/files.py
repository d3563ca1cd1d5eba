"""Reading text strictly and writing files so that a reader never sees half of one.

A place is a local path, or an fsspec address (``s3://``, ``gs://``, ``hf://``, ``memory://``).
"""

from __future__ import annotations

import errno
import fcntl
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from spade_pyserini.errors import (
    ArtifactError,
    InputError,
    NotFoundError,
    OutputExistsError,
    SpadeError,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def location(place: str | Path) -> Path:
    """A local path as it is; an address ``scheme://...`` as what can be used like a path."""
    if isinstance(place, Path) or "://" not in str(place):
        return Path(place)
    from upath import UPath

    scheme = str(place).split("://")[0]
    try:
        found = UPath(place)
        found.fs  # noqa: B018 - the file system's own library is imported here
    except ImportError as error:
        raise NotFoundError(f"{place}: {scheme}:// needs another library: {error}") from None
    except ValueError as error:
        raise NotFoundError(f"{place}: {error}") from None
    return Path(found.path) if scheme in ("file", "local") else cast(Path, found)


def is_local(path: Path) -> bool:
    return isinstance(path, Path)


def read_lines(
    path: Path, on_error: Callable[[InputError], None] | None = None
) -> Iterator[tuple[int, str]]:
    """Yield (line number, line without its end) of a UTF-8 file, plain or ``.gz``.

    Bytes that are not UTF-8 and a damaged or truncated ``.gz`` raise `InputError`. A line of such
    bytes is skipped if ``on_error`` is given and does not raise.
    """
    offset = 0
    number = 0
    try:
        with open_binary(path) as stream:
            for number, raw in enumerate(stream, start=1):
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    place = offset + error.start
                    message = f"byte {place} (0x{raw[error.start]:02x}) is not UTF-8; re-encode it"
                    fault = InputError(message, path, number)
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


def open_binary(path: Path) -> IO[bytes]:
    """A file's bytes, unpacked if it is ``.gz``."""
    if path.suffix == ".gz":
        packed = path if is_local(path) else path.open("rb")
        return gzip.open(packed, "rb")  # type: ignore[return-value]
    return path.open("rb")


def read_json_object(text: str, path: Path, line: int | None = None) -> dict[str, Any]:
    """Parse one JSON object; anything else is an `InputError` at that place."""
    try:
        value = json.loads(text, object_pairs_hook=_unique_keys)
    except json.JSONDecodeError as error:
        message = f"not valid JSON ({error.msg} at column {error.colno}); mend or remove the line"
        raise InputError(message, path, line) from None
    except ValueError as error:  # a repeated key, or a number of too many digits
        raise InputError(f"not acceptable JSON ({error})", path, line) from None
    except RecursionError:
        raise InputError("JSON nested too deeply", path, line) from None
    if not isinstance(value, dict):
        raise InputError(f"a JSON object was expected, found {_kind(value)}", path, line)
    return value


def is_valid_unicode(text: str) -> bool:
    """False where half of a surrogate pair stands alone: JSON and command lines can bring one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {repeated!r} stands twice in an object")
    return found


def _kind(value: object) -> str:
    return "null" if value is None else type(value).__name__


@contextmanager
def atomic_write(path: Path, temporary: Path | None = None) -> Iterator[IO[bytes]]:
    """Write ``path`` under a temporary name; flush and rename it only when all went well.

    ``temporary`` puts the unfinished file elsewhere on the same file system, for folders whose
    every file is read by another program. An object store has no such names: what is put there
    is there as a whole, or not.
    """
    if not is_local(path):
        collected = io.BytesIO()
        yield collected
        store: Any = path
        store.parent.mkdir(parents=True, exist_ok=True)
        store.fs.pipe_file(store.path, collected.getvalue())
        return
    unfinished = temporary or path.with_name(f".{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(path)
    except BaseException as error:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise SpadeError(
                f"{path}: the disk is full; free some space and run the same command again, "
                "what is finished is kept"
            ) from None
        raise


def read_json_file(path: Path) -> dict[str, Any]:
    """A whole file that is one JSON object."""
    return read_json_object("\n".join(line for _, line in read_lines(path)), path)


def write_json(path: Path, value: object) -> None:
    """Write ``value`` as readable JSON, atomically."""
    with atomic_write(path) as stream:
        stream.write(json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a text file, atomically."""
    with atomic_write(path) as stream:
        stream.write("".join(f"{line}\n" for line in lines).encode())


def write_sealed(path: Path, values: dict[str, Any]) -> None:
    """Write a JSON object with a digest of itself, so that an edit is noticed."""
    write_json(path, {**values, "seal": _seal(values)})


def read_sealed(path: Path, form: str) -> dict[str, Any]:
    """Read what `write_sealed` wrote; ``form`` is what its ``format`` has to be."""
    values = read_json_file(path)
    if values.get("format") != form:
        found = f"format {values.get('format')!r} is not {form!r}"
        raise InputError(f"{found}: of another version; make it again with --overwrite", path)
    if values.pop("seal", None) != _seal(values):
        raise ArtifactError(f"{path}: edited or damaged; make it again with --overwrite")
    return values


def _seal(values: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


@contextmanager
def lock(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Let one process at a time write ``path``; another one is refused at once, or waits.

    On an object store, one process of this machine.
    """
    if is_local(path):
        file = sibling(path, "lock")
    else:
        name = hashlib.sha256(str(path).encode()).hexdigest()[:16]
        file = Path(tempfile.gettempdir(), f"spade_pyserini.{name}.lock")
    file.parent.mkdir(parents=True, exist_ok=True)
    with _locked(file, wait) as stream:
        if stream is None:
            raise OutputExistsError(f"{path}: another process is writing it just now")
        try:
            yield
        finally:
            file.unlink(missing_ok=True)


@contextmanager
def _locked(file: Path, wait: bool) -> Iterator[IO[str] | None]:
    """The file, locked by this process; None where another one has it and nobody waits."""
    while True:
        with file.open("w") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield None
                return
            if _is_at(file, stream):
                yield stream
                return


def _is_at(file: Path, stream: IO[str]) -> bool:
    """Whoever had the lock has removed it: what is locked then has no name any more."""
    try:
        return os.path.samestat(file.stat(), os.fstat(stream.fileno()))
    except FileNotFoundError:
        return False


def chosen(settings: DataclassInstance) -> dict[str, Any]:
    """The fields that are not as by default, for digests: a new field leaves the old ones alone."""
    values = {one.name: getattr(settings, one.name) for one in fields(settings)}
    usual = {one.name: one.default for one in fields(settings)}
    return {name: value for name, value in values.items() if value != usual[name]}


def sha256(path: Path) -> str:
    """Hexadecimal digest of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def folder_bytes(folder: Path) -> int:
    """Size of all files below ``folder``."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Raise `OutputExistsError` unless ``path`` is free, or a file that may be replaced."""
    check_writable(path)
    if path.is_dir():
        raise OutputExistsError(f"{path} is a folder, a file was expected; choose another name")
    if path.exists() and not overwrite:
        raise OutputExistsError(f"{path} exists already; pass --overwrite to replace it")


def check_writable(path: Path) -> None:
    """Raise `OutputExistsError` where nothing can be written, before long work is done for it."""
    if is_local(path):
        above = next(one for one in path.absolute().parents if one.exists())
        if not above.is_dir() or not os.access(above, os.W_OK):
            raise OutputExistsError(f"{path}: {above} is no folder that can be written to")


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if not is_local(path):
        store: Any = path
        if store.exists():
            store.fs.rm(store.path, recursive=True)
    elif path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def sibling(folder: Path, suffix: str) -> Path:
    """``encode/X`` and ``manifest.json`` give ``encode/X.manifest.json``."""
    if folder.name in ("", ".."):
        folder = folder.resolve()
    return folder.with_name(f"{folder.name}.{suffix}")


def safe_file_name(name: str) -> str:
    """``name`` as one harmless path component: a name never leads outside its folder."""
    cleaned = re.sub(r"[^\w.+-]+", "-", name).strip(".-")
    return cleaned or "unnamed"

"""One interface for local paths and for addresses in object stores.

An address is what fsspec accepts: ``s3://``, ``gs://``, ``hf://``, ``memory://``.
"""

from __future__ import annotations

import logging
import re
import shutil
from functools import cache
from pathlib import Path
from typing import Any, cast

from spade_pyserini.errors import NotFoundError

logger = logging.getLogger(__name__)
BEST = "best"  # the folder to which training writes the best model
# A folder with one of these files is a model; sentence-transformers writes the second.
OF_MODEL = ("config.json", "modules.json")


def location(address: str | Path) -> Path:
    """Return a `Path` for a local address, and a path-like object for an object store."""
    if isinstance(address, Path) or "://" not in str(address):
        return Path(address)
    from upath import UPath

    scheme = str(address).split("://")[0]
    try:
        path = UPath(address)
        path.fs  # noqa: B018 - imports the file system's own library
    except ImportError as error:
        raise NotFoundError(f"{address}: {scheme}:// needs another library: {error}") from None
    except ValueError as error:
        raise NotFoundError(f"{address}: {error}") from None
    return Path(path.path) if scheme in ("file", "local") else cast(Path, path)


def is_local(path: Path) -> bool:
    """Whether ``path`` is on a local file system, not in an object store."""
    return isinstance(path, Path)


def sibling(folder: Path, suffix: str) -> Path:
    """Return a path next to ``folder``: ``encode/X`` and ``lock`` give ``encode/X.lock``."""
    if folder.name in ("", ".."):
        folder = folder.resolve()
    return folder.with_name(f"{folder.name}.{suffix}")


def safe_file_name(name: str) -> str:
    """Return ``name`` as a single path component that cannot lead out of its folder."""
    cleaned = re.sub(r"[^\w.+-]+", "-", name).strip(".-")
    return cleaned or "unnamed"


def model_title(name: str | Path) -> str:
    """Return the last part of a model's path, but ``my-model`` for the folder ``my-model/best``.

    Training writes the best model to a folder with the name ``best``.
    """
    path = Path(name)
    return path.resolve().parent.name if path.name == BEST and path.is_dir() else path.name


def trained_model(folder: Path) -> Path:
    """Return ``folder/best`` if ``folder`` is the output of a training run, else ``folder``.

    The output of a training run is not a model itself, but ``folder/best`` is.
    """
    best = folder / BEST
    if is_model(folder) or not is_model(best):
        return folder
    _log_best(folder, best, folder.absolute())
    return best


def is_model(folder: Path) -> bool:
    """Whether ``folder`` has the settings of a model."""
    return any((folder / name).is_file() for name in OF_MODEL)


@cache  # a command looks up its model several times
def _log_best(folder: Path, best: Path, _absolute: Path) -> None:
    logger.info("%s is the output of a training run; its model %s is used", folder, best)


def folder_bytes(folder: Path) -> int:
    """Return the total size of all files below ``folder``."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def remove(path: Path) -> None:
    """Remove a file or a folder, if it exists."""
    if not is_local(path):
        store: Any = path
        if store.exists():
            store.fs.rm(store.path, recursive=True)
    elif path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)

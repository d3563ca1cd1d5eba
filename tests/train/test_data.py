"""Training data: samples, texts, and errors for wrong inputs."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from spade_pyserini import SpadeModel
from spade_pyserini.errors import (
    InputError,
    NotFoundError,
    UsageError,
)
from spade_pyserini.train import Recipe, train
from spade_pyserini.train.data import load_training_data
from spade_pyserini.train.dev_set import DevSet
from spade_pyserini.train.log import read_log
from spade_pyserini.train.settings import DevCollection, TrainingCollection


def test_a_teachers_run_needs_the_same_number_of_negatives_everywhere(
    recipe: Recipe, tmp_path: Path
) -> None:
    (tmp_path / "t.tsv").write_text("q1\td3\td9\n")
    (tmp_path / "teacher.txt").write_text(
        "".join(f"q{q} Q0 d{d} {d + 1} {99 - d} x\n" for q in range(6) for d in range(30))
    )
    plain = TrainingCollection(
        recipe.data.corpus, recipe.data.queries, teacher=str(tmp_path / "teacher.txt")
    )
    two = replace(plain, qrels=recipe.data.qrels, negatives=recipe.data.negatives)
    both = (two, replace(plain, triples=str(tmp_path / "t.tsv")))
    assert len(load_training_data(recipe.change(data=both)).samples) == 13
    with pytest.raises(UsageError, match="all samples must have the same number of negatives"):
        load_training_data(recipe.change(data=both, hard_negatives=2))


def test_samples_from_qrels_and_triples(recipe: Recipe, tmp_path: Path) -> None:
    data = load_training_data(recipe)
    assert len(data.samples) == 12
    assert data.samples[0] == ("q0", "d0", ("d2",))
    (tmp_path / "t.tsv").write_text("q1\td3\td9\n")
    triples = recipe.change(qrels=None, negatives=None, triples=str(tmp_path / "t.tsv"))
    assert load_training_data(triples).samples == [("q1", "d3", ("d9",))]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("triples", "q1\td3\n", r":1: expected `qid <tab> positive <tab> negative`"),
        ("triples", "q77\td3\td4\n", "no topic has the id 'q77'"),
        ("triples", "q1\td3\tmissing\n", "1 documents of the samples are not in the corpus"),
        ("qrels", "q1 0 missing 1\n", "1 documents of the samples are not in the corpus"),
        ("triples", "", "holds no triple"),
        ("expansions", "d1\t \n", r":1: the expansion of 'd1' is empty"),
        ("expansions", "d1\n", r":1: expected `docid <tab> text`"),
        ("qrels", "q1 0 d1 0\n", "no query has a relevant document"),
    ],
)
def test_bad_training_data(
    recipe: Recipe, tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / "f.tsv").write_text(content)
    changes = {name: str(tmp_path / "f.tsv")} | ({"qrels": None} if name == "triples" else {})
    with pytest.raises(InputError, match=message):
        load_training_data(recipe.change(**changes))


def test_samples_without_their_documents_are_left_out_with_a_warning(
    recipe: Recipe, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "qrels.txt").write_text("q0 0 d0 1\nq1 0 missing 1\n")
    data = load_training_data(recipe.change(qrels=str(tmp_path / "qrels.txt")))
    assert [sample.qid for sample in data.samples] == ["q0"]
    assert "'missing'; 1 samples are left out" in caplog.text


def test_names_are_looked_up_below_the_data_directory(
    recipe: Recipe, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    folder = tmp_path / "data" / "mine"
    shutil.copytree(recipe.data.corpus, folder)
    (folder / "qrels").mkdir()
    texts = [line.split("\t") for line in Path(recipe.data.queries).read_text().splitlines()]
    queries = (json.dumps({"_id": qid, "text": text}) for qid, text in texts)
    (folder / "queries.jsonl").write_text("".join(f"{line}\n" for line in queries))
    qrels = (line.split() for line in Path(recipe.data.qrels or "").read_text().splitlines())
    judged = "".join(f"{qid}\t{docid}\t{grade}\n" for qid, _, docid, grade in qrels)
    (folder / "qrels" / "train.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")
    named = recipe.change(corpus="mine", queries="mine/train", qrels="mine/train")
    assert load_training_data(named, tmp_path / "data") == load_training_data(recipe)
    collection = DevCollection("mine", "mine/train", "mine/train")
    dev = DevSet(collection, tiny_model.wordpieces, tmp_path / "data")
    assert (dev.name, len(dev.topics), len(dev.texts)) == ("mine", 6, 30)
    with pytest.raises(NotFoundError, match="'mine"):
        load_training_data(named)
    by_name = named.change(
        dev_queries="mine/train", dev_qrels="mine/train", steps=1, warmup_steps=0
    )
    assert train(by_name, tmp_path / "run", data_dir=tmp_path / "data").is_dir()


def test_expansions_are_appended(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "e.tsv").write_text("d0\tsome new words\n")
    data = load_training_data(recipe.change(expansions=str(tmp_path / "e.tsv")))
    assert data.documents["d0"].endswith(" some new words")


def test_two_collections_with_the_same_ids(recipe: Recipe, tmp_path: Path) -> None:
    flat = {
        name: getattr(recipe.data, name) for name in ("corpus", "queries", "qrels", "negatives")
    }
    collection = TrainingCollection(**flat, share=2.0)
    both = recipe.change(data=(collection, replace(collection, share=1.0)))
    data = load_training_data(both)
    assert data.sizes == [12, 12]
    assert data.samples[0] == ("0/q0", "0/d0", ("0/d2",))
    assert data.samples[12] == ("1/q0", "1/d0", ("1/d2",))
    assert len(data.documents) == 2 * len(load_training_data(recipe).documents)
    dev = DevCollection(
        recipe.data.corpus, recipe.validation.dev_queries or "", recipe.validation.dev_qrels or ""
    )
    train(both.change(dev=(dev, replace(dev, sample=2))), tmp_path / "run")
    card = (tmp_path / "run" / "best" / "README.md").read_text()
    assert (
        card.count(f"- Trained on the queries `{recipe.data.queries}` with `{recipe.data.qrels}`")
        == 2
    )
    assert f"on `{recipe.validation.dev_qrels}`, `{recipe.validation.dev_qrels}` at alpha" in card
    assert max(map(len, card.splitlines())) < 400  # each collection has its own line
    line = read_log(tmp_path / "run", "validation")[-1]
    assert 0 <= line["expansion_share"] <= 1
    assert line["documents_per_second"] > 0

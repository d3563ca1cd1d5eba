"""The stage ``teach``: teachers score candidate documents for each query."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from transformers import AutoModel

from spade_pyserini.corpora import open_corpus
from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.corpora.topics import read_topics
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.runs import read_run
from spade_pyserini.models.bi_encoder import open_bi_encoder
from spade_pyserini.models.cross_encoder import load_cross_encoder
from spade_pyserini.train import Recipe, run_stage, train
from spade_pyserini.train.beyond import scorers
from spade_pyserini.train.data import load_training_data
from spade_pyserini.train.extension_settings import Teacher
from tests.baselines.test_rerank import save_cross_encoder
from tests.models.onnx_files import export_onnx

pytestmark = pytest.mark.java
RUN = "teacher.tiny.queries.txt"


@pytest.fixture(scope="module")
def taught(recipe: Recipe, tiny_backbone: Path, tmp_path_factory: pytest.TempPathFactory) -> Recipe:
    """A recipe with a cross-encoder in safetensors and a bi-encoder in ONNX as teachers."""
    folder = tmp_path_factory.mktemp("teachers")
    export_onnx(AutoModel.from_pretrained(tiny_backbone), folder / "bi" / "model.onnx")
    shutil.copy(tiny_backbone / "tokenizer.json", folder / "bi")
    source = save_cross_encoder(tiny_backbone, folder / "cross")
    cross = Teacher(str(source), weight=0.5, max_length=64)
    dense = Teacher(str(folder / "bi"), kind="bi-encoder", weight=10.0, max_length=16)
    return recipe.change(teachers=(cross, dense), candidates=6)


def test_scores_are_the_weighted_sum_of_all_teachers(taught: Recipe, tmp_path: Path) -> None:
    (path,) = run_stage("teach", taught, tmp_path / "t")
    assert path == tmp_path / "t" / RUN
    texts = {x.docid: x.contents for x in open_corpus(taught.data.corpus)}
    qrels = read_qrels(taught.data.qrels or "")
    queries = {topic.qid: topic.text for topic in read_topics(taught.data.queries)}
    cross, dense = taught.teaching.teachers
    score = load_cross_encoder(cross.model)
    encoder = open_bi_encoder(dense.model, max_length=16)
    rankings = read_run(path)
    assert [ranking.qid for ranking in rankings] == list(queries)
    for qid, hits in rankings:
        assert len(hits) == 6
        assert {docid for docid, _ in hits} >= set(qrels[qid])
        for docid, value in hits:
            query, document = queries[qid], texts[docid]
            cosine = encoder.embed_queries([query]) @ encoder.embed_documents([document]).T
            expected = 0.5 * score([(query, document)])[0] + 10 * cosine.item()
            assert value == pytest.approx(expected, abs=1e-3)
    records = json.loads((tmp_path / "t" / "teachers.json").read_text())["teachers"]
    assert [len(record["sha256"]) for record in records] == [64, 64]


def test_a_killed_stage_continues(
    taught: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = run_stage("teach", taught, tmp_path / "t")
    before = path.read_bytes()
    assert run_stage("teach", taught, tmp_path / "t") == [path]
    for name in ("finished", RUN):
        (tmp_path / "t" / name).unlink()

    def fail(*_: object) -> None:
        raise AssertionError("computed again")

    monkeypatch.setattr(scorers.CrossEncoderScorer, "_compute", fail)
    assert run_stage("teach", taught, tmp_path / "t") == [path]
    assert path.read_bytes() == before


def test_training_on_the_scores(taught: Recipe, tmp_path: Path) -> None:
    (path,) = run_stage("teach", taught, tmp_path / "t")
    changes = {"negatives": str(path), "teacher": str(path), "hard_negatives": 2}
    learned = taught.change(**changes, choose_negatives="spread", steps=2, warmup_steps=1)
    qrels = read_qrels(taught.data.qrels or "")
    ranked = {qid: [docid for docid, _ in hits] for qid, hits in read_run(path)}
    for sample in load_training_data(learned).samples:
        others = [x for x in ranked[sample.qid] if x not in qrels[sample.qid]]
        assert len(others) == 4
        assert sample.negatives == (others[0], others[2])
    assert (train(learned, tmp_path / "run") / "model.safetensors").is_file()


def test_wrong_recipes(recipe: Recipe, taught: Recipe, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="names no teachers"):
        run_stage("teach", recipe, tmp_path / "t")
    with pytest.raises(UsageError, match="needs a model"):
        run_stage("teach", recipe.change(teachers=(Teacher(),)), tmp_path / "t")
    with pytest.raises(UsageError, match="kind must be cross-encoder or bi-encoder"):
        Teacher("x", kind="dense")
    with pytest.raises(UsageError, match="candidates must be 2 or more"):
        taught.change(candidates=1)
    assert not (tmp_path / "t" / "recipe.json").exists()

"""Beyond the paper: a dense teacher, weights of query terms, several collections, TensorBoard."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeModel
from spade_pyserini.errors import InputError, NotFoundError, OutputExistsError, UsageError
from spade_pyserini.models.term_counts import count_terms, counted_idf
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.train import Recipe, load_recipe, train
from spade_pyserini.train.data import load_training_data
from spade_pyserini.train.log import RunLog, read_log
from spade_pyserini.train.loop import Trainer
from spade_pyserini.train.optimizers import rate_factor
from spade_pyserini.train.recipe import DevCollection, TrainingCollection
from spade_pyserini.train.run import start_model
from spade_pyserini.train.beyond.teachers import BM25Teacher, DenseTeacher
from spade_pyserini.train.validate import DevSet, validate
from tests.conftest import ROOT


def test_the_dense_teacher_knows_what_belongs_together() -> None:
    teacher = DenseTeacher("minilm", torch.device("cpu"), 128)
    queries = ["how do I delete a folder", "the capital of France"]
    documents = ["Paris is a city on the Seine.", "rmtree removes a directory tree."]
    scores = teacher.scores(queries, documents)
    assert scores[0, 1] > scores[0, 0] + 0.2
    assert scores[1, 0] > scores[1, 1] + 0.2
    assert torch.equal(scores, teacher.scores(queries, documents))
    with pytest.raises(NotFoundError, match="the dense model 'no-such/teacher' cannot be loaded"):
        DenseTeacher("no-such/teacher", torch.device("cpu"), 128)


def test_the_lexical_teacher_is_bm25(tiny_model: SpadeModel) -> None:
    words: WordPieces = tiny_model.wordpieces
    texts = ["the cat the cat", "the dog", "the old bird"]
    counts = count_terms(words, texts, len(words.terms), 32)
    assert counts.mean_length == 3
    scores = BM25Teacher(words, counts, 32).scores(["the cat", "fish", "bird bird"], texts)
    the, cat, bird = math.log(1 + 0.5 / 3.5), math.log(1 + 2.5 / 1.5), math.log(1 + 2.5 / 1.5)

    def weight(idf: float, count: int, length: int) -> float:
        return idf * 1.9 * count / (count + 0.9 * (0.6 + 0.4 * length / 3))

    wanted = [
        [weight(the, 2, 4) + weight(cat, 2, 4), weight(the, 1, 2), weight(the, 1, 3)],
        [0, 0, 0],
        [0, 0, weight(bird, 1, 3)],
    ]
    assert torch.allclose(scores, torch.tensor(wanted))


def test_what_is_relevant_too_is_no_negative(recipe: Recipe, tmp_path: Path) -> None:
    trainer = Trainer(recipe, tmp_path / "run")
    objective, places = trainer.objective, [0, 5, 3]
    docids = objective.documents(places)
    vectors = torch.rand(len(docids), len(trainer.model.kept))
    before = objective.loss(places, docids, False, vectors)["ranking"]
    qid = trainer.data.samples[0].qid
    objective.relevant[qid] = {docids[0], docids[1]}
    after = objective.loss(places, docids, False, vectors)["ranking"]
    assert after < before  # one rival less
    objective.relevant[qid] = {docids[0]}
    assert objective.loss(places, docids, False, vectors)["ranking"] == before


def test_a_corpus_says_how_rare_a_term_is(recipe: Recipe, tmp_path: Path) -> None:
    rare = replace(recipe, idf="learned", corpus_idf=0.5)
    trainer = Trainer(rare, tmp_path / "run")
    counts, model = trainer.counts[0], trainer.model
    assert model.config.corpus_idf == 0.5 and model.document_frequency is not None
    usual = counted_idf(model.wordpieces, counts, trainer.data.queries.values())
    assert torch.allclose(model.query_weights, usual**0.5)
    assert torch.allclose(model.weights_for(None), model.corpus_weights)

    best = train(rare, tmp_path / "whole")
    loaded = SpadeModel.from_pretrained(best)
    text = trainer.data.documents["d0"]
    before = loaded.encode([text])[0]
    loaded.read_corpus(count_terms(loaded.wordpieces, [text] * 5000, len(loaded.kept), 64))
    after = loaded.encode([text])[0]
    own = set(loaded.wordpieces.query_terms(text)) & before.keys()
    assert own and all(0 < after[term] < before[term] for term in own)  # all documents have it
    assert all(after[term] > before[term] for term in before.keys() - own)  # none has it


def test_no_steps_at_all_give_the_start_other_settings(recipe: Recipe, tmp_path: Path) -> None:
    first = train(replace(recipe, idf="counted"), tmp_path / "first")
    changed = replace(recipe, init=str(first), steps=0, warmup_steps=0, corpus_idf=0.5)
    second = train(changed, tmp_path / "second")
    before, after = SpadeModel.from_pretrained(first), SpadeModel.from_pretrained(second)
    assert torch.equal(before.query_weights, after.query_weights)
    assert (before.config.corpus_idf, after.config.corpus_idf) == (0.0, 0.5)
    assert before.encode(["the old cat"]) != after.encode(["the old cat"])
    unmeasured = replace(changed, dev_queries=None, dev_qrels=None)
    third = train(unmeasured, tmp_path / "third")
    assert "It was not validated." in (third / "README.md").read_text()


def test_training_goes_on_from_a_model_with_settings_of_its_own(
    recipe: Recipe, tmp_path: Path
) -> None:
    first = train(replace(recipe, corpus_idf=0.5, saturate=True), tmp_path / "first")
    second = train(replace(recipe, init=str(first)), tmp_path / "second")
    config = SpadeModel.from_pretrained(second).config
    assert (config.corpus_idf, config.saturate) == (0.5, True)
    plain = replace(recipe, init=str(first), corpus_idf=0.0, saturate=False)
    third = SpadeModel.from_pretrained(train(plain, tmp_path / "third"))
    assert (third.config.corpus_idf, third.config.saturate) == (0.0, False)
    assert third.document_frequency is None and (third.corpus_weights == 1).all()


def test_a_run_that_was_begun_before_a_setting_came(recipe: Recipe, tmp_path: Path) -> None:
    train(recipe, tmp_path / "run")
    path = tmp_path / "run" / "recipe.json"
    old = json.loads(path.read_text())
    del old["saturate"]
    path.write_text(json.dumps(old))
    train(recipe, tmp_path / "run", resume=True)
    with pytest.raises(OutputExistsError, match="saturate None, now True"):
        train(replace(recipe, saturate=True), tmp_path / "run", resume=True)


@pytest.mark.parametrize("distillation", ["kl", "margin_mse"])
def test_learning_from_a_dense_teacher(recipe: Recipe, tmp_path: Path, distillation: str) -> None:
    taught = replace(
        recipe,
        dense_teacher="minilm",
        distillation=distillation,
        ranking_weight=0.0,
        lambda_=0.0,
        strategy="expansion",
        steps=40,
        warmup_steps=40,
        validate_every=40,
    )
    train(taught, tmp_path / "run")
    steps = read_log(tmp_path / "run", "step")
    values = [line["expansion_distillation"] for line in steps]
    assert sum(values[-8:]) < 0.9 * sum(values[:8])
    assert all(line["expansion_ranking"] == 0 for line in steps)
    with pytest.raises(UsageError, match="one teacher is enough"):
        replace(taught, teacher="run.txt")


def test_the_positive_comes_first_for_the_teacher(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    taught = replace(recipe, dense_teacher="minilm", teacher_bm25=0.5)
    trainer = Trainer(taught, tmp_path / "run")
    objective, places = trainer.objective, [0, 5, 3]
    docids = objective.documents(places)
    marks = torch.arange(3 * len(docids)).view(3, -1).float()
    student, teacher = objective._with_dense(places, docids, marks)
    assert student[:, 0].tolist() == [marks[row, row].item() for row in range(3)]
    assert sorted(student[1].tolist()) == marks[1].tolist()
    dense, (lexical,) = objective.dense, objective.lexical
    assert dense is not None
    texts = [trainer.data.documents[docid] for docid in docids]
    assert lexical.scores(list(trainer.data.queries.values()), texts).max() > 0
    for row, place in enumerate(places):
        sample = trainer.data.samples[place]
        query, text = trainer.data.queries[sample.qid], trainer.data.documents[sample.positive]
        both = 20 * dense.scores([query], [text]) + 0.5 * lexical.scores([query], [text])
        assert teacher[row, 0].item() == pytest.approx(both.item())


def test_counted_idf_is_bm25s(tiny_model: SpadeModel) -> None:
    words: WordPieces = tiny_model.wordpieces
    texts = ["the cat the cat", "the dog", "the bird"]
    counts = count_terms(words, texts, len(words.terms), 32)
    weights = counted_idf(words, counts, ["the cat"])
    the, cat, fish = (words.terms.index(term) for term in ("the", "cat", "fish"))
    expected = {
        the: math.log(1 + 0.5 / 3.5),
        cat: math.log(1 + 2.5 / 1.5),
        fish: math.log(1 + 3.5 / 0.5),
    }
    mean = (expected[the] + expected[cat]) / 2
    for place, value in expected.items():
        assert weights[place].item() == pytest.approx(value / mean, rel=1e-5)


def test_a_fresh_weighting_head_can_start_with_all_terms_alive(recipe: Recipe) -> None:
    alive = {}
    for bias in (0.0, 1.0):
        model = start_model(replace(recipe, weighting_bias=bias)).eval()
        ids = model.wordpieces.document_ids(["the old cat sleeps", "a dog eats the fish"], 32)
        weights = model.components(ids)[0]
        alive[bias] = weights[weights > 0]
    assert len(alive[1.0]) == 9 and (alive[1.0] - 1).abs().max() < 0.5
    assert not len(alive[0.0]) or alive[0.0].max() < 0.5


def test_flops_count_from_fine_tuning_on(recipe: Recipe, tmp_path: Path) -> None:
    train(replace(recipe, flops=0.1, warmup_steps=2, steps=4), tmp_path / "run")
    steps = read_log(tmp_path / "run", "step")
    assert [("expansion_flops" in line) for line in steps] == [False, False, True, True]


def test_only_fine_tuned_models_are_candidates(recipe: Recipe, tmp_path: Path) -> None:
    settings = replace(recipe, warmup_steps=2, steps=3, validate_every=1, encode_length=20)
    # Nothing is learned: all validations are alike, and the first candidate stays the best.
    settings = replace(settings, weighting_rate=0.0, expansion_rate=0.0, head_rate=None, gammas=())
    trainer = Trainer(settings, tmp_path / "run")
    trainer.train()
    assert [line["step"] for line in read_log(tmp_path / "run", "validation")] == [1, 2, 3]
    assert trainer.best["step"] == 3
    assert SpadeModel.from_pretrained(tmp_path / "run" / "best").config.max_length == 20
    assert trainer.model.config.max_length == recipe.max_length


@pytest.mark.parametrize("idf", ["counted", "learned"])
def test_weights_of_query_terms_travel_with_the_model(
    recipe: Recipe, tmp_path: Path, idf: str
) -> None:
    best = train(replace(recipe, idf=idf, idf_rate=0.05), tmp_path / "run")
    model = SpadeModel.from_pretrained(best)
    data = load_training_data(recipe)
    texts = list(data.documents.values())
    counts = count_terms(model.wordpieces, texts, len(model.kept), recipe.max_length)
    queries = data.queries.values()
    counted = counted_idf(model.wordpieces, counts, queries)
    assert (model.query_weights >= 0).all()
    assert torch.allclose(model.query_weights, counted) is (idf == "counted")


def test_a_weighted_query_is_a_boolean_one_on_weighted_documents(tiny_model_folder: Path) -> None:
    model = SpadeModel.from_pretrained(tiny_model_folder)
    ids = model.wordpieces.document_ids(["the old cat sleeps", "a dog eats the fish"], 32)
    plain = model.weigh(ids)
    model.query_weights.data.uniform_(0, 3)
    query = torch.zeros(plain.shape[1])
    query[[model.wordpieces.terms.index(term) for term in ("the", "cat", "fish")]] = 1
    expected = plain @ (query * model.query_weights)
    assert torch.allclose(model.weigh(ids) @ query, expected, rtol=1e-5)
    before = SpadeModel.from_pretrained(tiny_model_folder)
    assert model.fingerprint != before.fingerprint


def test_two_collections_with_the_same_ids(recipe: Recipe, tmp_path: Path) -> None:
    flat = {name: getattr(recipe, name) for name in ("corpus", "queries", "qrels", "negatives")}
    one = TrainingCollection(**flat, share=2.0)
    both = replace(recipe, data=(one, replace(one, share=1.0)))
    data = load_training_data(both)
    assert data.sizes == [12, 12]
    assert data.samples[0] == ("0/q0", "0/d0", ("0/d2",))
    assert data.samples[12] == ("1/q0", "1/d0", ("1/d2",))
    assert len(data.documents) == 2 * len(load_training_data(recipe).documents)
    dev = DevCollection(recipe.corpus, recipe.dev_queries or "", recipe.dev_qrels or "")
    train(replace(both, dev=(dev, replace(dev, sample=2))), tmp_path / "run")
    card = (tmp_path / "run" / "best" / "README.md").read_text()
    assert card.count(f"- Trained on the queries `{recipe.queries}` with `{recipe.qrels}`") == 2
    assert f"on `{recipe.dev_qrels}`, `{recipe.dev_qrels}` at alpha" in card
    assert max(map(len, card.splitlines())) < 400  # no line holds all collections
    line = read_log(tmp_path / "run", "validation")[-1]
    assert 0 <= line["expansion_share"] <= 1
    assert line["documents_per_second"] > 0


def test_tables_in_a_recipe(tmp_path: Path) -> None:
    path = tmp_path / "two.toml"
    path.write_text('tau = 20\n[[data]]\ncorpus = "a"\nshare = 2\n[[dev]]\nsample = 7\n')
    recipe = load_recipe(path)
    assert recipe.data == (TrainingCollection(corpus="a", share=2.0),)
    assert recipe.dev == (DevCollection(sample=7),)
    for text, message in (
        ("[[data]]\ncorpsu = 'a'\n", "has no setting 'corpsu'; did you mean corpus"),
        ("data = [1]\n", "is a list of tables"),
        ("[[data]]\nshare = 0\n", "shares are above 0"),
    ):
        path.write_text(text)
        with pytest.raises(UsageError, match=message):
            load_recipe(path)


def test_a_pool_and_a_sample_make_validation_smaller(
    recipe: Recipe, tiny_model: SpadeModel
) -> None:
    words = tiny_model.wordpieces
    assert recipe.dev_queries and recipe.dev_qrels
    whole = DevCollection(recipe.corpus, recipe.dev_queries, recipe.dev_qrels)
    assert (len(DevSet(whole, words).topics), len(DevSet(whole, words).texts)) == (6, 30)
    small = DevSet(replace(whole, pool=recipe.negatives, sample=2), words)
    assert [topic.qid for topic in small.topics] == ["q0", "q3"]
    assert set(small.docids) == {f"d{number}" for number in (*range(6), *range(12, 18))}


def test_the_mean_over_collections(recipe: Recipe, tiny_model: SpadeModel) -> None:
    words = tiny_model.wordpieces
    assert recipe.dev_queries and recipe.dev_qrels
    whole = DevCollection(recipe.corpus, recipe.dev_queries, recipe.dev_qrels)
    sets = [DevSet(whole, words), DevSet(replace(whole, sample=1), words)]
    alone = [validate(tiny_model, [one], (0.5,)) for one in sets]
    both = validate(tiny_model, sets, (0.5,))
    assert both.mrr == pytest.approx((alone[0].mrr + alone[1].mrr) / 2)
    assert both.ndcg == pytest.approx((alone[0].ndcg + alone[1].ndcg) / 2)


def test_mixed_precision(recipe: Recipe, tmp_path: Path) -> None:
    for strategy in ("cotrain", "joint"):
        train(replace(recipe, precision="bf16", strategy=strategy), tmp_path / strategy)
        assert len(read_log(tmp_path / strategy, "step")) == recipe.steps


def test_schedules(recipe: Recipe) -> None:
    assert rate_factor(recipe, 5) == 1
    linear = replace(recipe, schedule="linear", steps=10, warmup_steps=0, rate_warmup=3)
    factors = [rate_factor(linear, number) for number in range(10)]
    assert factors[:4] == [0.25, 0.5, 0.75, 1.0]
    assert factors[4:] == sorted(factors[4:], reverse=True)
    assert factors[-1] == pytest.approx(1 / 7)


def test_tensorboard_gets_the_figures(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = RunLog(tmp_path)
    log.begin(0)
    log.write("step", 1, weighting_ranking=2.5, note="text")
    log.write("step", 2, weighting_ranking=1.5)
    log.close()
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    found = events.Scalars("step/weighting_ranking")
    assert [(one.step, one.value) for one in found] == [(1, 2.5), (2, 1.5)]


def test_a_log_line_cut_off_by_a_kill(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    log.write("step", 1, x=1.0)
    log.write("step", 2, x=2.0)
    with (tmp_path / "log.jsonl").open("a") as stream:
        stream.write('{"event": "st')
    log.begin(1)
    log.close()
    assert [line["step"] for line in read_log(tmp_path)] == [1]


def test_a_backbone_that_is_not_its_tokenizers(tiny_backbone: Path, tmp_path: Path) -> None:
    from transformers import BertConfig, BertModel

    config = BertConfig.from_pretrained(tiny_backbone)
    config.vocab_size -= 20
    shutil.copytree(tiny_backbone, tmp_path / "b")
    BertModel(config).save_pretrained(tmp_path / "b")  # type: ignore[no-untyped-call]
    with pytest.raises(InputError, match="they do not belong together"):
        SpadeModel.from_backbone(tmp_path / "b")


@pytest.mark.slow
def test_two_processes_train_and_stop_together(recipe: Recipe, tmp_path: Path) -> None:
    """Early stopping is decided in one process and must reach the other."""
    recipe = replace(recipe, steps=40, patience=1, validate_every=1, weighting_rate=0.0)
    recipe = replace(recipe, expansion_rate=0.0, warmup_steps=0)
    path = tmp_path / "recipe.toml"
    settings = {key: value for key, value in recipe.as_json().items() if value is not None}
    del settings["data"], settings["dev"]
    path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items()))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc_per_node", "2", "-m", "spade_pyserini.train", "--recipe", str(path)]
    command += ["--output", str(tmp_path / "run")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ACCELERATE_USE_CPU": "true"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(read_log(tmp_path / "run", "validation")) == 2  # nothing improves
    assert SpadeModel.from_pretrained(tmp_path / "run" / "best").config.trained

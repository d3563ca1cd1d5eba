"""Co-training: the encoders exchange hard samples."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.train import Recipe
from spade_pyserini.train.cotraining import hardest, rival
from spade_pyserini.train.loop import Trainer
from spade_pyserini.train.run import Run
from spade_pyserini.train.step import Encode
from spade_pyserini.train.stream import SampleStream


def sample_loss(trainer: Trainer, encode: Encode, number: int) -> float:
    """Return the loss of Eq. 11 for one sample, computed with its own negative."""
    sample = trainer.data.samples[number]
    both = (
        encode(trainer.objective.ids([docid])) for docid in (sample.positive, sample.negatives[0])
    )
    return trainer.objective.sample_losses([number], *both).item()


def test_each_encoder_gets_what_the_other_finds_hard(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    trainer = Trainer(Run("train", recipe.change(warmup_steps=0), tmp_path / "run"))
    block = SampleStream([len(trainer.data.samples)], recipe.optimization.seed).take(8)
    trainer.model.eval()
    hard = {}
    for name in ("weighting", "expansion"):
        encode = partial(trainer.encode_for_exchange, name)
        hard[name] = hardest(trainer.objective, encode, block, 4)
        losses = {number: sample_loss(trainer, encode, number) for number in block}
        assert hard[name] == sorted(block, key=losses.__getitem__, reverse=True)[:4]
    trainer.cotraining.exchange(block)
    assert hard["weighting"] != hard["expansion"]
    assert trainer.cotraining.queues["weighting"] == hard["expansion"]
    assert trainer.cotraining.queues["expansion"] == hard["weighting"]


def test_without_negatives_the_positive_of_another_query_is_the_negative(
    recipe: Recipe, tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir()
    trainer = Trainer(Run("train", recipe.change(negatives=None), tmp_path / "run"))
    block = list(range(len(trainer.data.samples)))
    for number in block:
        negative = rival(trainer.data, block, number)
        sample = trainer.data.samples[number]
        assert negative not in read_qrels(recipe.data.qrels or "")[sample.qid]

"""Training with extensions of the paper's model: fewer expansion terms."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini import SpadeModel
from spade_pyserini.train import Recipe, train
from tests.models.helpers import components


def test_training_with_fewer_terms(recipe: Recipe, tmp_path: Path) -> None:
    best = train(recipe.change(expansion_terms=6, decoder_rank=2), tmp_path / "run")
    model = SpadeModel.from_pretrained(best)
    assert int(model.expansion.expandable.sum()) == 6
    _, expansion = components(model, ["the old cat sleeps"])
    assert int((expansion > 0).sum()) <= 6
    again = recipe.change(init=str(best), expansion_terms=30_522, decoder_rank=2)
    model = SpadeModel.from_pretrained(train(again, tmp_path / "again"))
    assert model.expansion.expandable.all()  # a larger expansion_terms allows all terms again

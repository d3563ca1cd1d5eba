"""Training SpaDE: warm-up, co-training and learned pruning, by recipe."""

from spade_pyserini.train.head import fit_head
from spade_pyserini.train.loop import train
from spade_pyserini.train.mine import mine_negatives
from spade_pyserini.train.query_head import fit_query_head
from spade_pyserini.train.recipe import Recipe, load_recipe

__all__ = ["Recipe", "fit_head", "fit_query_head", "load_recipe", "mine_negatives", "train"]

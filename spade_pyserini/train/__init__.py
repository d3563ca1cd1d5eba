"""Training SpaDE: warm-up, co-training and learned pruning, by recipe."""

from typing import TYPE_CHECKING

from spade_pyserini._lazy import lazy

if TYPE_CHECKING:
    from spade_pyserini.train.loop import train
    from spade_pyserini.train.masked_lm import fit_head
    from spade_pyserini.train.mine import mine_negatives
    from spade_pyserini.train.recipe import Recipe, load_recipe
    from spade_pyserini.train.template_weights import fit_request_weights
    from spade_pyserini.train.term_vectors import fit_query_head

__all__ = [
    "Recipe",
    "fit_head",
    "fit_query_head",
    "fit_request_weights",
    "load_recipe",
    "mine_negatives",
    "train",
]
__getattr__ = lazy(
    __name__,
    {
        "masked_lm": ["fit_head"],
        "loop": ["train"],
        "mine": ["mine_negatives"],
        "term_vectors": ["fit_query_head"],
        "recipe": ["Recipe", "load_recipe"],
        "template_weights": ["fit_request_weights"],
    },
)

"""Training SpaDE by recipe: warm-up, co-training and learned pruning.

The modules of this package implement the paper; `spade_pyserini.train.beyond` holds additions.
Read `loop` first, then `objective` and `losses` (Eq. 11 and 12), `cotraining` and `pruning`.
"""

from typing import TYPE_CHECKING

from spade_pyserini._lazy import lazy

if TYPE_CHECKING:
    from spade_pyserini.train.beyond.masked_lm import fit_masked_lm
    from spade_pyserini.train.beyond.template_weights import fit_template_weights
    from spade_pyserini.train.beyond.term_vectors import fit_term_vectors
    from spade_pyserini.train.loop import train
    from spade_pyserini.train.mine import mine_negatives
    from spade_pyserini.train.recipe import Recipe, load_recipe, make_recipe
    from spade_pyserini.train.stages import run_stage

__all__ = [
    "Recipe",
    "fit_masked_lm",
    "fit_template_weights",
    "fit_term_vectors",
    "load_recipe",
    "make_recipe",
    "mine_negatives",
    "run_stage",
    "train",
]
__getattr__ = lazy(
    __name__,
    {
        "beyond.masked_lm": ["fit_masked_lm"],
        "beyond.template_weights": ["fit_template_weights"],
        "beyond.term_vectors": ["fit_term_vectors"],
        "loop": ["train"],
        "mine": ["mine_negatives"],
        "recipe": ["Recipe", "load_recipe", "make_recipe"],
        "stages": ["run_stage"],
    },
)

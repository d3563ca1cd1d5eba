"""The stages of training by name, for ``spade train --stage``."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini.errors import UsageError
from spade_pyserini.train.beyond.encoding_settings import choose_settings
from spade_pyserini.train.beyond.masked_lm import fit_masked_lm
from spade_pyserini.train.beyond.teach import teach
from spade_pyserini.train.beyond.template_weights import fit_template_weights
from spade_pyserini.train.beyond.term_vectors import fit_term_vectors
from spade_pyserini.train.loop import train
from spade_pyserini.train.mine import mine_negatives
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.run import STAGE_ALIASES
from spade_pyserini.train.samples import DataDir

STAGES = {
    "masked-lm": fit_masked_lm,
    "term-vectors": fit_term_vectors,
    "train": train,
    "templates": fit_template_weights,
    "settings": choose_settings,
}


def run_stage(
    stage: str,
    recipe: Recipe,
    output: str | Path,
    *,
    resume: bool = False,
    data_dir: DataDir = None,
) -> list[Path]:
    """Run a stage by its name; returns the paths of the runs or of the model that it wrote.

    ``mine`` ignores ``resume``: it always starts from the beginning. ``head``, ``queries`` and
    ``requests`` are older names of ``masked-lm``, ``term-vectors`` and ``templates``.
    """
    if stage == "mine":
        return mine_negatives(recipe, output, data_dir=data_dir)
    if stage == "teach":
        return teach(recipe, output, resume=resume, data_dir=data_dir)
    name = STAGE_ALIASES.get(stage, stage)
    if name not in STAGES:
        known = ", ".join(["mine", "teach", *STAGES])
        raise UsageError(f"no stage is called {stage!r}; known names: {known}")
    return [STAGES[name](recipe, output, resume=resume, data_dir=data_dir)]

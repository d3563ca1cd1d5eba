"""Validation during training: which model is the best so far, and when to stop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spade_pyserini.encode.calibration import calibrated_scale
from spade_pyserini.models import SpadeEncoder, SpadeModel
from spade_pyserini.train.dev_set import DevSet
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.validate import ALPHAS, Validation, validate


class ModelSelection:
    """Validates the model and saves the best one in the folder ``best`` of the run.

    best: step, MRR@10 and alpha of the best model. worse: number of validations since then.
    """

    def __init__(
        self, recipe: Recipe, run: Path, dev: list[DevSet], documents: dict[str, str]
    ) -> None:
        self.recipe, self.run, self.dev, self.documents = recipe, run, dev, documents
        self.best: dict[str, Any] = {}
        self.worse = 0

    @property
    def alphas(self) -> tuple[float, ...]:
        """The values of alpha to try: one if the strategy determines it."""
        settings = self.recipe.cotraining
        only = {"weighting": 0.0, "expansion": 1.0, "joint": settings.joint_alpha}
        if settings.strategy in only:
            return (only[settings.strategy],)
        return self.recipe.validation.alphas or ALPHAS

    def update(self, model: SpadeModel, step: int) -> Validation | None:
        """Validate the model after a step, and save it if it is the best one so far.

        Without validation collections, the model of the last step is saved; returns None.
        """
        last = step == self.recipe.optimization.steps
        if not self.dev:
            if last:
                alpha = self.alphas[0] if len(self.alphas) == 1 else model.config.alpha
                self.save(model, alpha)
            return None
        figures = validate(model, self.dev, self.alphas, self.recipe.optimization.precision)
        if not last and self._in_warmup(step):
            return figures  # not pruned yet, so not a candidate
        if figures.mrr > self.best.get("mrr", -1.0):
            self.best = {"step": step, "mrr": figures.mrr, "alpha": figures.alpha}
            self.worse = 0
            self.save(model, figures.alpha)
        else:
            self.worse += 1
        return figures

    def _in_warmup(self, step: int) -> bool:
        apart = self.recipe.cotraining.strategy == "apart"
        return step <= self.recipe.optimization.warmup_steps and not apart

    def save(self, model: SpadeModel, alpha: float) -> None:
        """Save the model with this alpha and a calibrated scale for quantization."""
        length = self.recipe.model.encode_length or model.config.max_length
        best = model.with_settings(alpha=alpha, max_length=length, trained=True).eval()
        docids = sorted(self.documents)
        step = max(1, len(docids) // self.recipe.model.calibration_sample)
        spread = docids[::step]  # over all collections
        texts = [self.documents[docid] for docid in spread]
        best = best.with_settings(scale=calibrated_scale(SpadeEncoder(best), texts))
        best.save_pretrained(self.run / "best", half=self.recipe.model.half)
        model.train()  # both models share their modules

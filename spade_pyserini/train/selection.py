"""Validation during training: which model is the best so far, and when to stop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from torch import nn

from spade_pyserini.encode.calibration import calibrated_scale
from spade_pyserini.formats.json_files import write_json
from spade_pyserini.models import SpadeEncoder, SpadeModel
from spade_pyserini.train.dev_set import DevSet
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.validate import ALPHAS, Validation, validate

QUERY_SCORES = "dev.scores.json"  # the best model's MRR@10 of each query


class Figures(Protocol):
    """The measures of a validation; each kind of model has a NamedTuple that implements this."""

    @property
    def mrr(self) -> float: ...

    def _asdict(self) -> dict[str, Any]: ...


Model = TypeVar("Model", bound=nn.Module)


class Selection(ABC, Generic[Model]):
    """Validates the model and saves the best one in the folder ``best`` of the run.

    best: step, MRR@10 and settings of the best model. worse: number of validations since the
    validation of the best model.
    """

    def __init__(self, recipe: Recipe, run: Path, dev: list[DevSet]) -> None:
        self.recipe, self.run, self.dev = recipe, run, dev
        self.best: dict[str, Any] = {}
        self.worse = 0

    def update(self, model: Model, step: int) -> Figures | None:
        """Validate the model after a step, and save it if it is the best one so far.

        Returns the figures of the validation. Without validation collections, only the model of
        the last step is saved, and None is returned.
        """
        last = step == self.recipe.optimization.steps
        if not self.dev:
            if last:
                self.keep(model, None)
            return None
        figures: Figures = self.validate(model)
        if not last and not self.is_candidate(step):
            return figures
        if figures.mrr > self.best.get("mrr", -1.0):
            self.best = {"step": step, "mrr": figures.mrr, **self.keep(model, figures)}
            self.worse = 0
        else:
            self.worse += 1
        return figures

    def is_candidate(self, step: int) -> bool:
        """Whether the model after this step may be the best one."""
        return True

    @abstractmethod
    def validate(self, model: Model) -> Any:
        """Return the `Figures` of the model on all validation collections."""

    @abstractmethod
    def keep(self, model: Model, figures: Any | None) -> dict[str, Any]:
        """Save the model as the best one; returns further values for ``best``.

        ``figures`` is the result of `validate`, or None without validation collections.
        """


class ModelSelection(Selection[SpadeModel]):
    """The selection of a SpaDE model, together with its alpha."""

    def __init__(
        self, recipe: Recipe, run: Path, dev: list[DevSet], documents: dict[str, str]
    ) -> None:
        super().__init__(recipe, run, dev)
        self.documents = documents

    @property
    def alphas(self) -> tuple[float, ...]:
        """The values of alpha to try; only one if the training strategy determines it."""
        settings = self.recipe.cotraining
        only = {"weighting": 0.0, "expansion": 1.0, "joint": settings.joint_alpha}
        if settings.strategy in only:
            return (only[settings.strategy],)
        return self.recipe.validation.alphas or ALPHAS

    def validate(self, model: SpadeModel) -> Validation:
        return validate(model, self.dev, self.alphas, self.recipe.optimization.precision)

    def is_candidate(self, step: int) -> bool:
        """Whether this step comes after warm-up. With the strategy ``apart``, all steps do."""
        apart = self.recipe.cotraining.strategy == "apart"
        return step > self.recipe.optimization.warmup_steps or apart

    def keep(self, model: SpadeModel, figures: Validation | None) -> dict[str, Any]:
        alpha = model.config.alpha if len(self.alphas) > 1 else self.alphas[0]
        if figures is not None:
            alpha = figures.alpha
        self.save(model, alpha)
        if figures is not None:
            write_json(self.run / QUERY_SCORES, figures.by_query)
        return {"alpha": alpha}

    def save(self, model: SpadeModel, alpha: float) -> None:
        """Save the model with this alpha and a calibrated scale for quantization."""
        length = self.recipe.model.encode_length or model.config.max_length
        best = model.with_settings(alpha=alpha, max_length=length, trained=True).eval()
        docids = sorted(self.documents)
        step = max(1, len(docids) // self.recipe.model.calibration_sample)
        spread = docids[::step]  # spread evenly over the documents of all collections
        texts = [self.documents[docid] for docid in spread]
        best = best.with_settings(scale=calibrated_scale(SpadeEncoder(best), texts))
        best.save_pretrained(self.run / "best", half=self.recipe.model.half)
        model.train()  # ``best`` shares its modules with ``model`` and has set them to eval mode

"""The part of training that is the same for all models: steps, validations and checkpoints."""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from typing import Any

import torch
from accelerate.utils import broadcast_object_list
from torch import nn

from spade_pyserini.errors import SpadeError, UsageError
from spade_pyserini.progress import counting_bar
from spade_pyserini.train.attention import choose_attention
from spade_pyserini.train.beyond.unlabelled import samples_from_run
from spade_pyserini.train.checkpoint import Counter, TrainingState
from spade_pyserini.train.data import TrainingData, load_training_data
from spade_pyserini.train.log import RunLog
from spade_pyserini.train.run import Run, start_accelerator
from spade_pyserini.train.selection import Selection
from spade_pyserini.train.stream import SampleStream

logger = logging.getLogger(__name__)


class TrainingLoop(ABC):
    """A training run. Subclasses implement `train_step`.

    The constructor of a subclass sets ``model``, ``optimizers`` and ``selection``, then calls
    ``run.claim``.
    """

    model: nn.Module
    optimizers: dict[str, torch.optim.Optimizer]
    selection: Selection[Any]

    def __init__(self, run: Run) -> None:
        self.run, self.recipe = run, run.recipe
        recipe = run.recipe
        self.accelerator = start_accelerator(recipe)
        torch.manual_seed(recipe.optimization.seed)
        self.data: TrainingData = load_training_data(recipe, run.data_dir, samples_from_run)
        shares = [collection.share for collection in recipe.training_collections]
        self.stream = SampleStream(self.data.sizes, recipe.optimization.seed, shares)
        self.step = 0
        self.log = RunLog(run.folder, self.accelerator.is_main_process)
        if recipe.optimization.batch_size % self.accelerator.num_processes:
            size, processes = recipe.optimization.batch_size, self.accelerator.num_processes
            message = f"batch_size is {size}, which is not a multiple of the number of processes"
            raise UsageError(f"recipe: {message}, {processes}; change one of them")

    # Methods that subclasses override

    @abstractmethod
    def train_step(self) -> dict[str, float]:
        """Train on one batch and log the step; returns the parts of the losses."""

    @property
    def counters(self) -> dict[str, Counter]:
        """Further objects whose tensors are saved in checkpoints, by name."""
        return {}

    @property
    def further_state(self) -> dict[str, Any]:
        """Further values that checkpoints save."""
        return {}

    def restore_further(self, state: dict[str, Any]) -> None:  # noqa: B027
        """Restore values that `further_state` returned; by default there are none."""

    # The loop

    def train(self) -> None:
        """Train to the last step, or until validations no longer improve.

        Continues after the last checkpoint, if there is one.
        """
        steps, settings = self.recipe.optimization.steps, self.recipe.validation
        choose_attention(self.model, self.recipe, self.accelerator.device.type)
        self._restore()
        # `finetune` logs a better estimate of the remaining time, which includes the validations.
        remaining = self.run.after_step is None
        with counting_bar("training", "steps", steps, self.step, remaining=remaining) as bar:
            while self.step < steps and self.selection.worse < settings.patience:
                parts = self.train_step()
                # The sum is enough on a terminal; the log has the parts.
                bar.set_postfix({"loss": f"{sum(parts.values()):.3f}"}, refresh=False)
                bar.update()
                if self.run.after_step is not None:
                    self.run.after_step(self.step)
                if self.step % settings.validate_every == 0 or self.step == steps:
                    self._validate()
                    self._save()
        if self.step < steps:
            message = "stopped after step %d of %d: %s without improvement"
            logger.info(message, self.step, steps, _validations(self.selection.worse))
        # With steps=0, a recipe only changes settings of the model ``init``, which is then saved.
        if steps == 0 and not self.selection.best:
            self._validate()
        self.log.close()

    def check_finite(self, parts: dict[str, float], samples: list[int]) -> None:
        """Raise `SpadeError` if a part of the loss of a batch is NaN or infinite."""
        if not all(math.isfinite(value) for value in parts.values()):
            qids = ", ".join(self.data.samples[sample].qid for sample in samples[:5])
            raise SpadeError(
                f"the loss is {parts} at step {self.step + 1}; the last checkpoint is intact. "
                f"Lower the learning rate, or look at the queries of this batch: {qids}"
            )

    # Validation and checkpoints

    def _validate(self) -> None:
        if self.accelerator.is_main_process:
            figures = self.selection.update(self.model, self.step)
            if figures is not None:
                values = figures._asdict()
                values.pop("by_query", None)  # `ModelSelection` writes those of the best model
                self.log.write("validation", self.step, **values)
                best = self.selection.best.get("step")
                shown = "" if best is None else f", best so far at step {best}"
                message = "step %d of %d: MRR@10 %.4f on validation%s"
                steps = self.recipe.optimization.steps
                logger.info(message, self.step, steps, figures.mrr, shown)
        # Only the main process validates; the others have to stop at the same step.
        best_and_worse = [self.selection.best, self.selection.worse]
        self.selection.best, self.selection.worse = broadcast_object_list(best_and_worse)

    @property
    def _state(self) -> TrainingState:
        return TrainingState(self.accelerator, self.model, self.optimizers, self.counters)

    def _save(self) -> None:
        state: dict[str, Any] = {
            "step": self.step,
            "stream": self.stream.state,
            **self.further_state,
            "best": self.selection.best,
            "worse": self.selection.worse,
        }
        self._state.save(self.run.folder, state)

    def _restore(self) -> None:
        state = self._state.restore(self.run.folder)
        self.log.begin(state["step"] if state else 0)
        if state is None:
            return
        self.step, self.stream.state = state["step"], state["stream"]
        self.restore_further(state)
        self.selection.best, self.selection.worse = state["best"], state["worse"]
        logger.info("continuing after step %d", self.step)


def _validations(number: int) -> str:
    return "1 validation" if number == 1 else f"{number} validations"

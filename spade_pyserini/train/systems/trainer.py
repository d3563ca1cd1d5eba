"""Train a system other than SpaDE."""

from __future__ import annotations

import time
from functools import partial

from spade_pyserini.models.systems.system import System
from spade_pyserini.models.term_counts import count_terms
from spade_pyserini.train.beyond.distillation import RunDistillation
from spade_pyserini.train.beyond.extensions import dense_distillation
from spade_pyserini.train.data import TrainingData
from spade_pyserini.train.dev_set import load_dev_sets
from spade_pyserini.train.extension import Extension, Extensions
from spade_pyserini.train.optimizers import step as step_optimizer
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.run import Run
from spade_pyserini.train.samples import spread
from spade_pyserini.train.sparse_start import SAMPLE
from spade_pyserini.train.step import backward
from spade_pyserini.train.systems.registry import TRAINED
from spade_pyserini.train.systems.start import (
    check_recipe,
    sparsify,
    start_system,
    system_optimizer,
)
from spade_pyserini.train.systems.validation import SystemSelection
from spade_pyserini.train.training_loop import TrainingLoop


class SystemTrainer(TrainingLoop):
    """A training run of a system other than SpaDE: the model, the loss and the optimizer."""

    model: System

    def __init__(self, run: Run) -> None:
        check_recipe(run.recipe)
        super().__init__(run)
        recipe = run.recipe
        self.model = start_system(recipe).to(self.accelerator.device)
        sparsify(self.model, spread(list(self.data.documents.values()), SAMPLE), recipe)
        dev = load_dev_sets(recipe, self.model.wordpieces, run.data_dir)
        objective = TRAINED[recipe.model.system].objective
        extensions = system_extensions(recipe, self.data, self.model)
        self.objective = objective(recipe, self.data, self.model, extensions)
        self.optimizers = {"system": system_optimizer(self.model, recipe)}
        self.selection = SystemSelection(recipe, run.folder, dev)
        run.claim(self.accelerator)

    def train_step(self) -> dict[str, float]:
        self.model.train()
        start = time.perf_counter()
        settings = self.recipe.optimization
        samples = self.stream.take(settings.batch_size)
        texts = self.objective.texts(samples)
        _, parts = backward(
            self.accelerator,
            self.objective.encoder(samples),
            texts,
            partial(self.objective.loss, samples),
            micro_batch=settings.micro_batch,
            parameters=[x for x in self.model.parameters() if x.requires_grad],
        )
        named = {f"{self.recipe.model.system}_{part}": value for part, value in parts.items()}
        self.check_finite(named, samples)
        step_optimizer(self.optimizers["system"], settings, self.step)
        self.step += 1
        rate = round(len(texts) / (time.perf_counter() - start), 2)
        self.log.write("step", self.step, **named, documents_per_second=rate)
        return named


def system_extensions(recipe: Recipe, data: TrainingData, model: System) -> Extensions:
    """Return the distillation losses of the teachers that the recipe names."""
    extensions: list[Extension] = []
    if recipe.distillation.dense_teacher:
        sizes = len(model.kept), recipe.model.max_length
        bm25 = recipe.distillation.teacher_bm25
        texts = data.documents_by_collection() if bm25 else []
        counts = [count_terms(model.wordpieces, part, *sizes) for part in texts]
        extensions.append(dense_distillation(recipe, data, model.wordpieces, counts))
    if data.teacher:
        extensions.append(RunDistillation(recipe.distillation, data))
    return Extensions(extensions)

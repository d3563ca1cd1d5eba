"""The training of SpaDE.

In the warm-up stage, each encoder is trained alone on the same batches: the weighting encoder with
Eq. 11, the expansion encoder with Eq. 12. In the fine-tuning stage, each encoder is trained on the
samples that are hard for the other encoder (co-training), with document-level pruning (top-k,
Eq. 8) and corpus-level pruning.

    spade train --recipe smoke --output runs/train.smoke
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spade_pyserini.models import SpadeModel
from spade_pyserini.models.aggregation import mix
from spade_pyserini.train.beyond.extensions import extend
from spade_pyserini.train.checkpoint import Counter
from spade_pyserini.train.cotraining import Cotraining
from spade_pyserini.train.dev_set import load_dev_sets
from spade_pyserini.train.encoders import ENCODERS, encode_documents
from spade_pyserini.train.initial_model import start_model
from spade_pyserini.train.objective import Objective
from spade_pyserini.train.optimizers import encoder_optimizer
from spade_pyserini.train.optimizers import step as step_optimizer
from spade_pyserini.train.pruning import DocumentFrequency
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.report import draw_curves, write_card
from spade_pyserini.train.run import AfterStep, Run
from spade_pyserini.train.samples import DataDir, spread
from spade_pyserini.train.selection import ModelSelection
from spade_pyserini.train.sparse_start import SAMPLE, lower_expansion_bias
from spade_pyserini.train.step import Encode, LossParts, backward
from spade_pyserini.train.systems.trainer import SystemTrainer
from spade_pyserini.train.training_loop import TrainingLoop

STAGE = "train"
DUAL = ("cotrain", "apart", "joint")  # strategies that train both encoders


def train(
    recipe: Recipe,
    output: str | Path,
    *,
    resume: bool = False,
    data_dir: DataDir = None,
    after_step: AfterStep | None = None,
) -> Path:
    """Train a model into the folder ``output``; returns the folder of the best model.

    An interrupted run with the same recipe continues after its last checkpoint. ``resume`` logs a
    warning if there is no such run. Names of collections are looked up below ``data_dir``.
    ``after_step`` is called with the number of each step, from 1, when the step has ended.
    """
    run = Run(STAGE, recipe, Path(output), data_dir, after_step)
    return run.execute(_train, resume=resume)


def _train(run: Run) -> None:
    trainer: TrainingLoop = SystemTrainer(run) if run.recipe.model.system else Trainer(run)
    trainer.train()
    if trainer.accelerator.is_main_process:
        write_card(run.folder, run.recipe, trainer.selection.best)
        if run.recipe.optimization.steps:
            draw_curves(run.folder)


class Trainer(TrainingLoop):
    """A training run of SpaDE: the model, its optimizers, and the state that checkpoints save."""

    model: SpadeModel

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        recipe = run.recipe
        model = start_model(recipe).to(self.accelerator.device)
        dev = load_dev_sets(recipe, model.wordpieces, run.data_dir)
        self.model, extensions = extend(run, self.data, model)
        texts = spread(list(self.data.documents.values()), SAMPLE)
        lower_expansion_bias(self.model, texts, recipe.model.start_terms)
        self.objective = Objective(recipe, self.data, self.model, extensions)
        self.trained = [x for x in ENCODERS if recipe.cotraining.strategy in (*DUAL, x)]
        self.optimizers = {
            name: encoder_optimizer(self.model, name, recipe.optimization) for name in self.trained
        }
        self.optimizers |= extensions.optimizers()
        self.frequency = DocumentFrequency(len(self.model.kept), recipe.pruning)
        self.cotraining = Cotraining(self.objective, self.encode_for_exchange)
        self.selection = ModelSelection(recipe, run.folder, dev, self.data.documents)
        run.claim(self.accelerator)

    # The state besides weights and optimizers

    @property
    def counters(self) -> dict[str, Counter]:
        return {"frequency": self.frequency}

    @property
    def further_state(self) -> dict[str, Any]:
        return {"queues": self.cotraining.queues}

    def restore_further(self, state: dict[str, Any]) -> None:
        self.cotraining.queues |= state["queues"]

    # One step

    @property
    def warming_up(self) -> bool:
        """Whether the next step belongs to the warm-up stage."""
        apart = self.recipe.cotraining.strategy == "apart"
        return self.step < self.recipe.optimization.warmup_steps and not apart

    @property
    def pruning(self) -> bool:
        """Whether the next step prunes: in fine-tuning, if the expansion encoder is trained."""
        return not self.warming_up and "expansion" in self.trained

    def train_step(self) -> dict[str, float]:
        """Train each encoder on one batch, then prune; returns the parts of the losses."""
        self.model.train()
        start, documents = time.perf_counter(), 0
        parts: dict[str, float] = {}
        cotraining = self.recipe.cotraining.strategy == "cotrain" and not self.warming_up
        size = self.recipe.optimization.batch_size
        batch = [] if cotraining else self.stream.take(size)
        if self.recipe.cotraining.strategy == "joint":
            parts |= self.train_jointly(batch)
            documents = len(self.objective.documents(batch))
        else:
            for encoder in self.trained:
                if cotraining:
                    batch = self.next_hard_batch(encoder)
                parts |= self.train_encoder(encoder, batch)
                documents += len(self.objective.documents(batch))
        removed = self.frequency.prune(self.model.kept) if self.pruning else 0
        self.step += 1
        rate = round(documents / (time.perf_counter() - start), 2)
        self.log.write("step", self.step, **parts, removed=removed, documents_per_second=rate)
        return parts

    def next_hard_batch(self, encoder: str) -> list[int]:
        """Return the next samples for an encoder, which are hard for the other encoder."""
        size = self.recipe.optimization.batch_size
        while len(self.cotraining.queues[encoder]) < size:
            self.model.eval()
            hard = self.cotraining.exchange(self.stream.take(self.recipe.cotraining.block))
            self.model.train()
            # Logged with the next step's number: a continued run removes the lines of the steps
            # after its checkpoint, and writes them again.
            samples, overlap = len(hard.weighting), hard.overlap
            self.log.write("exchange", self.step + 1, samples=samples, overlap=overlap)
        return self.cotraining.next_batch(encoder, size)

    # One step of one encoder, or of both

    def train_encoder(self, encoder: str, samples: list[int]) -> dict[str, float]:
        """Train an encoder for one step: Eq. 11 for weighting, Eq. 12 for expansion."""
        expansion = encoder == "expansion"

        def loss(vectors: Tensor) -> LossParts:
            return self.objective.loss(samples, vectors, expansion=expansion, pruning=self.pruning)

        vectors, parts = self._backward(partial(self.encode, encoder), samples, loss, [encoder])
        if expansion and self.pruning:
            self.frequency.add(vectors)
        return {f"{encoder}_{part}": value for part, value in parts.items()}

    def train_jointly(self, samples: list[int]) -> dict[str, float]:
        """Train both encoders for one step: Eq. 12 with the aggregated vector v_d (Eq. 10)."""

        def encode(ids: list[list[int]]) -> Tensor:  # both vectors in one row, [D, 2 |V|]
            return torch.cat([self.encode(name, ids) for name in ENCODERS], dim=1)

        def loss(both: Tensor) -> LossParts:
            own, added = both.chunk(2, dim=1)
            mixed = mix(own, added, self.recipe.cotraining.joint_alpha)
            return self.objective.loss(samples, mixed, expansion=True, pruning=self.pruning)

        both, parts = self._backward(encode, samples, loss, list(ENCODERS))
        if self.pruning:
            self.frequency.add(both.chunk(2, dim=1)[1])
        return {f"joint_{part}": value for part, value in parts.items()}

    def _backward(
        self,
        encode: Encode,
        samples: list[int],
        loss: Callable[[Tensor], LossParts],
        encoders: list[str],
    ) -> tuple[Tensor, dict[str, float]]:
        """Update the weights of encoders; returns document vectors and the parts of the loss."""
        parameters = [x for name in encoders for x in getattr(self.model, name).parameters()]
        vectors, parts = backward(
            self.accelerator,
            encode,
            self.objective.ids(self.objective.documents(samples)),
            loss,
            micro_batch=self.recipe.optimization.micro_batch,
            parameters=[parameter for parameter in parameters if parameter.requires_grad],
        )
        self.check_finite(parts, samples)
        extensions = self.objective.extensions
        for name in (*encoders, *extensions.optimizers()):
            step_optimizer(self.optimizers[name], self.recipe.optimization, self.step)
        extensions.after_step()
        return vectors, parts

    def encode(self, encoder: str, ids: list[list[int]]) -> Tensor:
        """Encode documents, [documents, |V|]; with top-k (Eq. 8) except in warm-up."""
        return encode_documents(self.model, encoder, ids, top_k=not self.warming_up)

    @torch.no_grad()
    def encode_for_exchange(self, encoder: str, ids: list[list[int]]) -> Tensor:
        """Encode documents without gradients, to find the hard samples of co-training."""
        with self.accelerator.autocast():
            return self.encode(encoder, ids).float()

"""The training loop, top to bottom.

Warm-up trains each encoder alone on the same batches. Fine-tuning goes block by block: each
encoder measures its loss on the samples of a block and hands the tau percent largest to the
other, which trains on them; top-k and corpus-level pruning are on.

    python -m spade_pyserini.train --recipe smoke --output runs/train.smoke
    python -m spade_pyserini.train --recipe smoke --output runs/train.smoke --resume
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import broadcast_object_list
from torch import Tensor
from tqdm import tqdm

from spade_pyserini.encode.shard import calibrated_scale
from spade_pyserini.errors import SpadeError, UsageError
from spade_pyserini.models.tensors import mix, pad_batch
from spade_pyserini.models.term_counts import (
    TermCounts,
    count_terms,
    counted_idf,
    empty_counts,
    merge_counts,
    most_frequent,
)
from spade_pyserini.train.checkpoint import (
    load_checkpoint,
    load_optimiser,
    load_weights,
    optimiser_tensors,
    save_checkpoint,
    weight_tensors,
)
from spade_pyserini.train.data import SampleStream, TrainingData, load_training_data
from spade_pyserini.train.cotraining import hardest
from spade_pyserini.train.log import RunLog
from spade_pyserini.train.objective import Objective
from spade_pyserini.train.optimizers import encoder_optimiser, query_optimiser
from spade_pyserini.train.optimizers import step as optimise
from spade_pyserini.train.pruning import DocumentFrequency, PruningSettings
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.report import draw_curves, write_card
from spade_pyserini.train.run import claim, run_stage, start_accelerator, start_model
from spade_pyserini.train.step import LossParts, backward
from spade_pyserini.train.validate import ALPHAS, DevSet, Validation, validate

logger = logging.getLogger(__name__)
CALIBRATION_SAMPLE = 1000  # training documents that the scale of quantization is taken from
SIMILAR = 16  # documents that are padded to one length
ENCODERS = ("weighting", "expansion")
BOTH = ("cotrain", "apart", "joint")  # strategies that train both


def train(recipe: Recipe, output: str | Path, *, resume: bool = False) -> Path:
    """Train by ``recipe`` into the folder ``output``; returns the folder of the best model."""
    return run_stage("train", _train, recipe, output, resume)


def _train(recipe: Recipe, run: Path) -> None:
    trainer = Trainer(recipe, run)
    trainer.train()
    if trainer.accelerator.is_main_process:
        write_card(run, recipe, trainer.best)
        if recipe.steps:
            draw_curves(run)


class Trainer:
    """One run: the model, its optimisers, and the state that a checkpoint keeps."""

    def __init__(self, recipe: Recipe, run: Path) -> None:
        self.recipe, self.run = recipe, run
        self.accelerator = start_accelerator(recipe)
        torch.manual_seed(recipe.seed)
        self.data: TrainingData = load_training_data(recipe)
        self.model = start_model(recipe).to(self.accelerator.device)
        self.dev = [DevSet(one, self.model.wordpieces) for one in recipe.dev_collections]
        self.counts = self._count_terms()
        self.trained = [name for name in ENCODERS if recipe.strategy in (*BOTH, name)]
        self.optimisers = {
            name: encoder_optimiser(self.model, name, recipe) for name in self.trained
        }
        self._weigh_terms()
        self.objective = Objective(recipe, self.data, self.model, self.counts)
        settings = PruningSettings(recipe.gammas, recipe.period)
        self.frequency = DocumentFrequency(len(self.model.kept), settings)
        shares = [collection.share for collection in recipe.collections]
        self.stream = SampleStream(self.data.sizes, recipe.seed, shares)
        self.queues: dict[str, list[int]] = {name: [] for name in self.trained}
        self.step = 0
        self.encoded = 0  # documents of the running step
        self.best: dict[str, Any] = {}
        self.worse = 0
        self.log = RunLog(run, self.accelerator.is_main_process)
        if recipe.batch_size % self.accelerator.num_processes:
            message = "batch_size does not divide by the number of processes"
            raise UsageError(f"recipe: {message}, {self.accelerator.num_processes}")
        claim(run, "train", recipe, self.accelerator)

    def _count_terms(self) -> list[TermCounts]:
        """Of each collection, where the recipe needs them. They choose terms to expand by."""
        recipe, expandable = self.recipe, self.model.expansion.expandable
        needed = (recipe.idf != "none", recipe.expansion_terms, recipe.teacher_bm25)
        if not any((*needed, self.corpus_idf)):
            return []
        length, size = self.model.config.max_length, len(expandable)
        counts = [
            count_terms(self.model.wordpieces, texts, size, length)
            for texts in self.data.documents_by_collection()
        ]
        if recipe.expansion_terms:
            expandable.copy_(most_frequent(merge_counts(counts).df, recipe.expansion_terms))
        return counts

    @property
    def corpus_idf(self) -> float:
        """The recipe's, or that of the model that this run starts from."""
        given = self.recipe.corpus_idf
        return self.model.config.corpus_idf if given is None else given

    def _weigh_terms(self) -> None:
        """What the model that this run starts from does not have already."""
        weights, power = self.model.query_weights, self.corpus_idf
        if self.recipe.idf != "none" and (weights == 1).all():
            seen, queries = merge_counts(self.counts), self.data.queries.values()
            counted = counted_idf(self.model.wordpieces, seen, queries).to(weights)
            weights.data = counted ** (1 - power)  # the rest is for the corpus to say
        if power != self.model.config.corpus_idf:
            size = len(self.model.kept)
            self.model.use_corpus_idf(power, merge_counts([empty_counts(size), *self.counts]))
        if self.recipe.idf == "learned":
            weights.requires_grad_()
            self.optimisers["query"] = query_optimiser(self.model, self.recipe)

    # The loop

    def train(self) -> None:
        """Go on from the last checkpoint, or begin, until the end or until nothing improves."""
        recipe = self.recipe
        self._restore()
        with tqdm(total=recipe.steps, initial=self.step, desc="training", disable=None) as bar:
            while self.step < recipe.steps and self.worse < recipe.patience:
                self.model.train()
                start = time.perf_counter()
                parts: dict[str, float] = {}
                self.encoded = 0
                if recipe.strategy == "joint":
                    parts |= self._train_jointly(self._next_batch("weighting"))
                else:
                    for name in self.trained:
                        parts |= self._train_encoder(name, self._next_batch(name))
                removed = self.frequency.prune(self.model.kept) if self.pruning else 0
                self.step += 1
                seconds = time.perf_counter() - start
                rate = round(self.encoded / seconds, 2)
                self._log("step", **parts, removed=removed, documents_per_second=rate)
                bar.update()
                bar.set_postfix({key: f"{value:.3f}" for key, value in parts.items()})
                if self.step % recipe.validate_every == 0 or self.step == recipe.steps:
                    self._validate()
                    self._checkpoint()
        if recipe.steps == 0 and not self.best:  # the start with other settings
            self._validate()
        self.log.close()

    @property
    def warming_up(self) -> bool:
        return self.step < self.recipe.warmup_steps and self.recipe.strategy != "apart"

    @property
    def pruning(self) -> bool:
        """Document- and corpus-level pruning are for fine-tuning."""
        return not self.warming_up and "expansion" in self.trained

    def _next_batch(self, name: str) -> list[int]:
        """Places of the next samples for an encoder."""
        size = self.recipe.batch_size
        if self.warming_up or self.recipe.strategy != "cotrain":
            # All encoders take the same samples: the first asks the stream, the others its queue.
            if not self.queues[name]:
                taken = self.stream.take(size)
                for other in self.trained:
                    self.queues[other] = list(taken)
        else:
            while len(self.queues[name]) < size:
                self._exchange_block()
        batch, self.queues[name] = self.queues[name][:size], self.queues[name][size:]
        return batch

    def _exchange_block(self) -> None:
        """Each encoder hands its tau percent largest losses of a block to the other."""
        block = self.stream.take(self.recipe.block)
        count = max(1, math.floor(len(block) * self.recipe.tau / 100))
        self.model.eval()
        hard = {
            name: hardest(self.objective, partial(self._only_encode, name), block, count)
            for name in ENCODERS
        }
        self.model.train()
        self.queues["weighting"] += hard["expansion"]
        self.queues["expansion"] += hard["weighting"]
        both = set(hard["weighting"]) & set(hard["expansion"])
        # Of the step that wants it: what is done again after a kill is forgotten together.
        self.log.write("exchange", self.step + 1, samples=count, overlap=len(both) / count)

    @torch.no_grad()
    def _only_encode(self, name: str, ids: list[list[int]]) -> Tensor:
        with self.accelerator.autocast():
            return self._encode(name, ids).float()

    # One step of one encoder

    def _train_encoder(self, name: str, places: list[int]) -> dict[str, float]:
        encode = partial(self._encode, name)
        vectors, parts = self._backward(encode, places, name == "expansion", [name])
        if name == "expansion" and self.pruning:
            self.frequency.add(vectors)
        return {f"{name}_{part}": value for part, value in parts.items()}

    def _train_jointly(self, places: list[int]) -> dict[str, float]:
        """Both vectors of a document go side by side, [D, 2 |V|], up to the loss on their sum."""
        self.queues = {name: [] for name in self.trained}

        def encode(ids: list[list[int]]) -> Tensor:
            return torch.cat([self._encode(name, ids) for name in ENCODERS], dim=1)

        def mixed(both: Tensor) -> Tensor:
            own, added = both.chunk(2, dim=1)
            return mix(own, added, self.recipe.joint_alpha)

        both, parts = self._backward(encode, places, True, list(ENCODERS), mixed)
        if self.pruning:
            self.frequency.add(both.chunk(2, dim=1)[1])
        return {f"joint_{part}": value for part, value in parts.items()}

    def _backward(
        self,
        encode: Callable[[list[list[int]]], Tensor],
        places: list[int],
        pointwise: bool,
        names: list[str],
        mixed: Callable[[Tensor], Tensor] = lambda vectors: vectors,
    ) -> tuple[Tensor, dict[str, float]]:
        """``mixed`` makes what is scored of what ``encode`` gives."""
        docids = self.objective.documents(places)
        self.encoded += len(docids)

        def loss(vectors: Tensor) -> LossParts:
            return self.objective.loss(
                places, docids, pointwise, mixed(vectors), pruned=self.pruning
            )

        parameters = [one for name in names for one in getattr(self.model, name).parameters()]
        parameters = [one for one in parameters if one.requires_grad]
        vectors, parts = backward(
            self.accelerator,
            encode,
            self.objective.ids(docids),
            loss,
            micro_batch=self.recipe.micro_batch,
            parameters=parameters,
        )
        if not all(math.isfinite(value) for value in parts.values()):
            raise SpadeError(
                f"the loss is {parts} at step {self.step + 1}; the last checkpoint is kept. "
                "Lower the learning rate, or look at the samples of this batch: "
                + ", ".join(self.data.samples[place].qid for place in places[:5])
            )
        for name in (*names, "query"):
            if name in self.optimisers:
                optimise(self.optimisers[name], self.recipe, self.step)
        self.model.query_weights.data.clamp_(min=0)
        return vectors, parts

    def _encode(self, name: str, ids: list[list[int]]) -> Tensor:
        """Vectors in the order of the documents; those of like length are computed together."""
        order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
        found = []
        for start in range(0, len(ids), SIMILAR):
            part = [ids[place] for place in order[start : start + SIMILAR]]
            inputs = pad_batch(part, self.accelerator.device)
            if name == "weighting":
                found.append(self.model.weighting_vectors(*inputs))
            else:
                top_k = not self.warming_up
                found.append(self.model.expansion_vectors(*inputs, top_k=top_k))
        back = torch.tensor(order, device=self.accelerator.device).argsort()
        return torch.cat(found)[back]

    # Validation, checkpoints, log

    def _validate(self) -> None:
        if self.accelerator.is_main_process:
            self._find_best()
        # One process measures, all know: they stop together.
        told = [self.best, self.worse]
        self.best, self.worse = broadcast_object_list(told)

    def _find_best(self) -> None:
        only = {"weighting": 0.0, "expansion": 1.0, "joint": self.recipe.joint_alpha}
        alphas = ALPHAS
        if self.recipe.strategy in only:
            alphas = (only[self.recipe.strategy],)
            self.model.reconfigure(alpha=alphas[0])
        if not self.dev:
            if self.step == self.recipe.steps:
                self._keep_best(None)
            return
        found = validate(self.model, self.dev, alphas, self.recipe.precision)
        self._log("validation", **found._asdict())
        warmed_up = self.step <= self.recipe.warmup_steps and self.recipe.strategy != "apart"
        if warmed_up and self.step < self.recipe.steps:
            return  # not pruned yet: no candidate for the best model
        if found.mrr > self.best.get("mrr", -1.0):
            self._keep_best(found)
            self.worse = 0
        else:
            self.worse += 1

    def _keep_best(self, found: Validation | None) -> None:
        """Save the model as it is now, with its alpha and a scale for quantization."""
        if found is not None:
            self.best = {"step": self.step, "mrr": found.mrr, "alpha": found.alpha}
            self.model.config = replace(self.model.config, alpha=found.alpha)
        plain = self.model.config
        self.model.eval()
        self.model.reconfigure(max_length=self.recipe.encode_length or plain.max_length)
        docids = sorted(self.data.documents)
        spread = docids[:: max(1, len(docids) // CALIBRATION_SAMPLE)]  # over all collections
        scale = calibrated_scale(self.model, [self.data.documents[docid] for docid in spread])
        self.model.reconfigure(trained=True, scale=scale)
        self.model.save_pretrained(self.run / "best", half=self.recipe.half)
        self.model.config = plain
        self.model.train()

    def _checkpoint(self) -> None:
        device = self.accelerator.device
        random = {"random.cpu": torch.get_rng_state()}
        if device.type == "cuda":
            random["random.cuda"] = torch.cuda.get_rng_state(device)
        # One row for each process.
        states = {x: self.accelerator.gather(random[x][None].to(device)) for x in random}
        if not self.accelerator.is_main_process:
            return
        tensors = weight_tensors(self.model) | states
        for name, optimiser in self.optimisers.items():
            tensors |= optimiser_tensors(optimiser, f"optimiser.{name}")
        for name, tensor in self.frequency.state_dict().items():
            tensors[f"frequency.{name}"] = tensor
        state = {
            "step": self.step,
            "stream": self.stream.state,
            "queues": self.queues,
            "best": self.best,
            "worse": self.worse,
        }
        save_checkpoint(self.run, state, tensors)

    def _restore(self) -> None:
        found = load_checkpoint(self.run)
        self.log.begin(found[0]["step"] if found else 0)
        if found is None:
            return
        state, tensors = found
        load_weights(self.model, tensors)
        for name, optimiser in self.optimisers.items():
            load_optimiser(optimiser, tensors, f"optimiser.{name}")
        self.frequency.load_state_dict(
            {name: tensors[f"frequency.{name}"] for name in ("counts", "numbers")}
        )
        row, device = self.accelerator.process_index, self.accelerator.device
        states = {x: tensors[x][row % len(tensors[x])] for x in tensors if x.startswith("random.")}
        torch.set_rng_state(states["random.cpu"])
        if "random.cuda" in states and device.type == "cuda":
            torch.cuda.set_rng_state(states["random.cuda"], device)
        self.step, self.worse, self.best = state["step"], state["worse"], state["best"]
        self.queues, self.stream.state = state["queues"], state["stream"]
        logger.info("going on after step %d", self.step)

    def _log(self, event: str, **values: Any) -> None:
        self.log.write(event, self.step, **values)

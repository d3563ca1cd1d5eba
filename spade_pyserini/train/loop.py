"""The training loop, top to bottom.

Warm-up trains each encoder alone on the same batches. Fine-tuning goes block by block: each
encoder measures its loss on the samples of a block and hands the tau percent largest to the
other, which trains on them; top-k and corpus-level pruning are on.

    python -m spade_pyserini.train --recipe smoke --output runs/train.smoke
    python -m spade_pyserini.train --recipe smoke --output runs/train.smoke --resume
"""

from __future__ import annotations

import json
import logging
import math
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from tqdm import tqdm

from spade_pyserini.encode.shard import calibrated_scale
from spade_pyserini.errors import OutputExistsError, SpadeError, UsageError
from spade_pyserini.files import read_json_file, write_json
from spade_pyserini.models import SpadeConfig, SpadeModel
from spade_pyserini.models.spade import padded
from spade_pyserini.train import losses
from spade_pyserini.train.checkpoint import (
    load_checkpoint,
    load_optimiser,
    optimiser_tensors,
    save_checkpoint,
)
from spade_pyserini.train.data import SampleStream, TrainingData, load_training_data
from spade_pyserini.train.pruning import DocumentFrequency, PruningSettings
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.report import draw_curves, write_card
from spade_pyserini.train.step import LossParts, backward
from spade_pyserini.train.validate import ALPHAS, DevSet, Validation, query_vectors

logger = logging.getLogger(__name__)
CALIBRATION_SAMPLE = 1000  # training documents that the scale of quantization is taken from
ENCODERS = ("weighting", "expansion")
BOTH = ("cotrain", "apart", "joint")  # strategies that train both


def train(recipe: Recipe, output: str | Path, *, resume: bool = False) -> Path:
    """Train by ``recipe`` into the folder ``output``; returns the folder of the best model."""
    run = Path(output)
    _claim(run, recipe, resume)
    trainer = Trainer(recipe, run)
    trainer.train()
    if trainer.accelerator.is_main_process:
        write_card(run, recipe, trainer.best)
        draw_curves(run)
    return run / "best"


def _claim(run: Path, recipe: Recipe, resume: bool) -> None:
    """A run's folder belongs to one recipe."""
    path = run / "recipe.json"
    if path.exists():
        if not resume:
            raise OutputExistsError(f"{run} holds a run already; pass --resume to go on with it")
        old, new = read_json_file(path), json.loads(json.dumps(recipe.as_json()))
        if old != new:
            names = [name for name in new if old.get(name) != new[name]]
            changes = "; ".join(f"{name} {old.get(name)}, now {new[name]}" for name in names)
            raise OutputExistsError(f"{run} was begun with another recipe ({changes})")
    write_json(path, recipe.as_json())


class Trainer:
    """One run: the model, two optimisers, and the state that a checkpoint keeps."""

    def __init__(self, recipe: Recipe, run: Path) -> None:
        self.recipe, self.run = recipe, run
        self.accelerator = Accelerator(mixed_precision=recipe.precision)
        torch.manual_seed(recipe.seed)
        config = SpadeConfig(k=recipe.k, max_length=recipe.max_length, pooling=recipe.pooling)
        self.model = SpadeModel.from_backbone(recipe.backbone, config, recipe.seed)
        self.model.check_length()
        self.model.to(self.accelerator.device)
        self.data: TrainingData = load_training_data(recipe)
        self.dev = self._dev_set()
        self.trained = [name for name in ENCODERS if recipe.strategy in (*BOTH, name)]
        self.optimisers = {name: self._optimiser(name) for name in self.trained}
        settings = PruningSettings(recipe.gammas, recipe.period)
        self.frequency = DocumentFrequency(len(self.model.kept), settings)
        self.stream = SampleStream(len(self.data.samples), recipe.seed)
        self.queues: dict[str, list[int]] = {name: [] for name in self.trained}
        self.step = 0
        self.best: dict[str, Any] = {}
        self.worse = 0
        if len(self._documents(range(recipe.batch_size))) % self.accelerator.num_processes:
            message = "the documents of a batch do not divide by the number of processes"
            raise UsageError(f"recipe: {message}; change batch_size")

    def _dev_set(self) -> DevSet | None:
        recipe = self.recipe
        if not (recipe.dev_qrels and recipe.dev_queries):
            return None
        return DevSet(recipe.dev_corpus or recipe.corpus, recipe.dev_queries, recipe.dev_qrels)

    def _optimiser(self, name: str) -> torch.optim.AdamW:
        encoder: nn.Module = getattr(self.model, name)
        rate = getattr(self.recipe, f"{name}_rate")
        head = list(encoder.get_submodule("head").parameters())
        body = list(encoder.get_submodule("backbone").parameters())
        groups: list[dict[str, Any]] = [
            {"params": body},
            {"params": head, "lr": self.recipe.head_rate or rate},
        ]
        return torch.optim.AdamW(groups, lr=rate, weight_decay=0.0)

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
                if recipe.strategy == "joint":
                    parts |= self._train_jointly(self._next_batch("weighting"))
                else:
                    for name in self.trained:
                        parts |= self._train_encoder(name, self._next_batch(name))
                removed = self.frequency.prune(self.model.kept) if self.pruning else 0
                self.step += 1
                seconds = time.perf_counter() - start
                self._log("step", **parts, removed=removed, seconds=round(seconds, 4))
                bar.update()
                bar.set_postfix({key: f"{value:.3f}" for key, value in parts.items()})
                if self.step % recipe.validate_every == 0 or self.step == recipe.steps:
                    self._validate()
                    self._checkpoint()

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
        hardest = {name: self._hardest(name, block, count) for name in ENCODERS}
        self.queues["weighting"] += hardest["expansion"]
        self.queues["expansion"] += hardest["weighting"]
        both = set(hardest["weighting"]) & set(hardest["expansion"])
        self._log("exchange", samples=count, overlap=len(both) / count)

    @torch.no_grad()
    def _hardest(self, name: str, block: list[int], count: int) -> list[int]:
        self.model.eval()
        found = []
        for start in range(0, len(block), self.recipe.micro_batch):
            places = block[start : start + self.recipe.micro_batch]
            samples = [self.data.samples[place] for place in places]
            queries = self._queries(places)
            positives = self._encode(name, self._ids([one.positive for one in samples]))
            rivals = [self._rival(block, start + offset) for offset in range(len(places))]
            negatives = self._encode(name, self._ids(rivals))
            found += losses.hardness(queries, positives, negatives).tolist()
        self.model.train()
        order = sorted(range(len(block)), key=lambda place: (-found[place], place))
        return [block[place] for place in order[:count]]

    def _rival(self, block: list[int], number: int) -> str:
        """A sample's own negative; without one, the positive of another query of the block."""
        sample = self.data.samples[block[number]]
        if sample.negatives:
            return sample.negatives[0]
        others = (self.data.samples[place] for place in block[number + 1 :] + block[:number])
        return next(
            (other.positive for other in others if other.qid != sample.qid), sample.positive
        )

    # One step of one encoder

    def _train_encoder(self, name: str, places: list[int]) -> dict[str, float]:
        encode = partial(self._encode, name)
        vectors, parts = self._backward(encode, places, name == "expansion", [name])
        if name == "expansion" and self.pruning:
            self.frequency.add(vectors)
        return {f"{name}_{part}": value for part, value in parts.items()}

    def _train_jointly(self, places: list[int]) -> dict[str, float]:
        self.queues = {name: [] for name in self.trained}

        def encode(ids: list[list[int]]) -> Tensor:
            own, added = (self._encode(name, ids) for name in ENCODERS)
            return (1 - self.recipe.joint_alpha) * own + self.recipe.joint_alpha * added

        vectors, parts = self._backward(encode, places, True, list(ENCODERS))
        if self.pruning:
            self.frequency.add(vectors)
        return {f"joint_{part}": value for part, value in parts.items()}

    def _backward(
        self, encode: Any, places: list[int], pointwise: bool, names: list[str]
    ) -> tuple[Tensor, dict[str, float]]:
        docids = self._documents(places)
        loss = partial(self._loss, places, docids, pointwise)
        parameters = [one for name in names for one in getattr(self.model, name).parameters()]
        vectors, parts = backward(
            self.accelerator,
            encode,
            self._ids(docids),
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
        for name in names:
            self.optimisers[name].step()
            self.optimisers[name].zero_grad(set_to_none=True)
        return vectors, parts

    def _loss(
        self, places: list[int], docids: list[str], pointwise: bool, documents: Tensor
    ) -> LossParts:
        """Eq. 11, or Eq. 12 with its point-wise term, on the whole batch."""
        queries = self._queries(places)
        own = torch.arange(len(places), device=documents.device)
        relevance = losses.scores(queries, documents)
        # Another query's copy of the positive is no negative.
        same = torch.tensor([[two == docids[row] for two in docids] for row in range(len(places))])
        same[own.cpu(), own.cpu()] = False
        relevance = relevance.masked_fill(same.to(documents.device), float("-inf"))
        parts = {"ranking": losses.ranking_loss(relevance, own)}
        if self.data.teacher:
            parts["distillation"] = self._distillation(places, docids, relevance)
        if pointwise:
            point = losses.pointwise_loss(queries, documents[: len(places)])
            parts["pointwise"] = self.recipe.lambda_ * point
            if self.recipe.flops:
                parts["flops"] = self.recipe.flops * losses.flops_loss(documents)
        return parts

    def _distillation(self, places: list[int], docids: list[str], relevance: Tensor) -> Tensor:
        """How far the scores of each query's own documents are from the teacher's."""
        own, teacher = [], []
        first = len(places)
        for row, place in enumerate(places):
            sample = self.data.samples[place]
            columns = [row, *range(first, first + len(sample.negatives))]
            first += len(sample.negatives)
            own.append(relevance[row, columns])
            known = self.data.teacher[sample.qid]
            teacher.append([known[docids[column]] for column in columns])
        loss = losses.kl_loss if self.recipe.distillation == "kl" else losses.margin_mse_loss
        target = torch.tensor(teacher, device=relevance.device)
        return self.recipe.distillation_weight * loss(torch.stack(own), target)

    def _documents(self, places: Any) -> list[str]:
        """The documents of a batch: all positives, then all negatives."""
        samples = [self.data.samples[place % len(self.data.samples)] for place in places]
        positives = [sample.positive for sample in samples]
        return positives + [docid for sample in samples for docid in sample.negatives]

    def _ids(self, docids: list[str]) -> list[list[int]]:
        texts = [self.data.documents[docid] for docid in docids]
        return self.model.wordpieces.document_ids(texts, self.recipe.max_length)

    def _queries(self, places: list[int]) -> Tensor:
        samples = [self.data.samples[place] for place in places]
        return query_vectors(self.model, [self.data.queries[one.qid] for one in samples])

    def _encode(self, name: str, ids: list[list[int]]) -> Tensor:
        inputs = padded(ids, self.accelerator.device)
        if name == "weighting":
            return self.model.weighting_vectors(*inputs)
        return self.model.expansion_vectors(*inputs, top_k=not self.warming_up)

    # Validation, checkpoints, log

    def _validate(self) -> None:
        if self.dev is None or not self.accelerator.is_main_process:
            if not self.best and self.step == self.recipe.steps:
                self._keep_best(None)
            return
        only = {"weighting": (0.0,), "expansion": (1.0,), "joint": (self.recipe.joint_alpha,)}
        found = self.dev.validate(self.model, only.get(self.recipe.strategy, ALPHAS))
        self._log("validation", **found._asdict())
        if self.warming_up and self.step < self.recipe.steps:
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
        sample = sorted(self.data.documents)[:CALIBRATION_SAMPLE]
        scale = calibrated_scale(self.model, [self.data.documents[docid] for docid in sample])
        self.model.config = replace(plain, trained=True, scale=scale)
        self.model.save_pretrained(self.run / "best")
        self.model.config = plain
        self.model.train()

    def _checkpoint(self) -> None:
        if not self.accelerator.is_main_process:
            return
        tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        for name, optimiser in self.optimisers.items():
            tensors |= optimiser_tensors(optimiser, f"optimiser.{name}")
        for name, tensor in self.frequency.state_dict().items():
            tensors[f"frequency.{name}"] = tensor
        tensors["random.cpu"] = torch.get_rng_state()
        if self.accelerator.device.type == "cuda":
            tensors["random.cuda"] = torch.cuda.get_rng_state(self.accelerator.device)
        state = {
            "step": self.step,
            "position": self.stream.position,
            "queues": self.queues,
            "best": self.best,
            "worse": self.worse,
        }
        save_checkpoint(self.run, state, tensors)

    def _restore(self) -> None:
        found = load_checkpoint(self.run)
        if found is None:
            (self.run / "log.jsonl").unlink(missing_ok=True)
            return
        state, tensors = found
        prefix = "model."
        self.model.load_state_dict(
            {name.removeprefix(prefix): x for name, x in tensors.items() if name.startswith(prefix)}
        )
        for name, optimiser in self.optimisers.items():
            load_optimiser(optimiser, tensors, f"optimiser.{name}")
        self.frequency.load_state_dict(
            {name: tensors[f"frequency.{name}"] for name in ("counts", "numbers")}
        )
        torch.set_rng_state(tensors["random.cpu"])
        if "random.cuda" in tensors and self.accelerator.device.type == "cuda":
            torch.cuda.set_rng_state(tensors["random.cuda"], self.accelerator.device)
        self.step, self.worse, self.best = state["step"], state["worse"], state["best"]
        self.queues, self.stream.position = state["queues"], state["position"]
        self._forget_log_after(self.step)
        logger.info("going on after step %d", self.step)

    def _forget_log_after(self, step: int) -> None:
        """Lines of steps that will be done again."""
        path = self.run / "log.jsonl"
        if path.exists():
            lines = path.read_text().splitlines()
            path.write_text("".join(f"{x}\n" for x in lines if json.loads(x)["step"] <= step))

    def _log(self, event: str, **values: Any) -> None:
        if self.accelerator.is_main_process:
            with (self.run / "log.jsonl").open("a") as stream:
                stream.write(json.dumps({"event": event, "step": self.step, **values}) + "\n")

"""Fit the masked-LM head of a backbone that has lost its own, on plain text.

    python -m spade_pyserini.train --stage head --recipe mini --set corpus=TEXTS --output my-head
    python -m spade_pyserini.train --recipe mini --set init=my-head/best ... --output my-model

Some WordPieces of each document are hidden, and the expansion encoder learns to say which ones:
its head, and its transformer or adapters with the rate ``expansion_rate``, 0 to leave it alone.
"""

from __future__ import annotations

import math
from pathlib import Path

import torch
from torch import Tensor, nn
from tqdm import tqdm

from spade_pyserini.corpora import open_corpus
from spade_pyserini.errors import InputError, SpadeError
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.tensors import pad_batch
from spade_pyserini.train.checkpoint import (
    load_checkpoint,
    load_optimiser,
    load_weights,
    optimiser_tensors,
    save_checkpoint,
    weight_tensors,
)
from spade_pyserini.train.data import SampleStream
from spade_pyserini.train.log import RunLog
from spade_pyserini.train.optimizers import encoder_optimiser
from spade_pyserini.train.optimizers import step as optimise
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.run import (
    claim,
    run_stage,
    start_accelerator,
    start_model,
)

HIDDEN = 0.15  # of the WordPieces, BERT's share
MASKED, RANDOM = 0.8, 0.1  # of the hidden ones; the rest is left as it is
HELD_OUT = 256  # documents that the head is measured on, at most a tenth
SHORTEST = 8  # WordPieces; what is shorter says nothing about what was hidden


def fit_head(recipe: Recipe, output: str | Path, *, resume: bool = False) -> Path:
    """Train for ``recipe.steps``; returns the folder of a model to start from (``init``)."""
    return run_stage("head", lambda *given: HeadFitter(*given).train(), recipe, output, resume)


class HeadFitter:
    """One run on one process; the state that a checkpoint keeps."""

    def __init__(self, recipe: Recipe, run: Path) -> None:
        self.recipe, self.run = recipe, run
        self.accelerator = start_accelerator(recipe, alone=True)
        torch.manual_seed(recipe.seed)
        self.model = start_model(recipe).to(self.accelerator.device)
        self.documents = self._read()
        held_out = min(HELD_OUT, len(self.documents) // 10)
        self.held_out, self.documents = self.documents[:held_out], self.documents[held_out:]
        self.optimiser = encoder_optimiser(self.model, "expansion", recipe)
        self.stream = SampleStream([len(self.documents)], recipe.seed)
        self.step = 0
        self.log = RunLog(run)
        claim(run, "head", recipe, self.accelerator)

    def _read(self) -> list[list[int]]:
        """All documents as WordPieces, in an order that follows from the seed."""
        documents: list[list[int]] = []
        for source in dict.fromkeys(collection.corpus for collection in self.recipe.collections):
            texts = [document.contents for document in open_corpus(source)]
            found = self.model.wordpieces.document_ids(texts, self.recipe.max_length)
            documents += [ids for ids in found if len(ids) >= SHORTEST]
        if len(documents) < 20:
            message = f"only {len(documents)} documents have {SHORTEST} WordPieces or more"
            raise InputError(f"{message}; a head is fitted on at least 20", source)
        generator = torch.Generator().manual_seed(self.recipe.seed)
        order = torch.randperm(len(documents), generator=generator).tolist()
        return [documents[place] for place in order]

    def train(self) -> None:
        recipe = self.recipe
        self._restore()
        with tqdm(total=recipe.steps, initial=self.step, desc="masked LM", disable=None) as bar:
            while self.step < recipe.steps:
                self.model.train()
                places = self.stream.take(recipe.batch_size)
                loss = self._learn([self.documents[place] for place in places])
                if not math.isfinite(loss):
                    message = f"the loss is {loss} at step {self.step + 1}"
                    raise SpadeError(f"{message}; the last checkpoint is kept. Lower the rate")
                self.step += 1
                self.log.write("step", self.step, masked_lm=loss)
                bar.update()
                bar.set_postfix(loss=f"{loss:.3f}")
                if self.step % recipe.validate_every == 0 or self.step == recipe.steps:
                    self._validate()
                    self._checkpoint()
        self.model.eval().save_pretrained(self.run / "best")
        self.log.close()

    def _learn(self, documents: list[list[int]]) -> float:
        """One step on a batch, cut into micro-batches; the mean loss of a hidden WordPiece."""
        size = self.recipe.micro_batch
        documents = sorted(documents, key=len)
        parts = [documents[i : i + size] for i in range(0, len(documents), size)]
        hidden = [hide(*pad_batch(part, torch.device("cpu")), self.model) for part in parts]
        count = sum(int(chosen.sum()) for _, _, _, chosen in hidden)
        total = 0.0
        for inputs in hidden:
            with self.accelerator.autocast():
                loss = masked_lm_loss(self.model, *inputs) / max(count, 1)
            self.accelerator.backward(loss)
            total += loss.item()
        optimise(self.optimiser, self.recipe, self.step)
        return total

    @torch.no_grad()
    def _validate(self) -> None:
        """The same WordPieces are hidden each time."""
        self.model.eval()
        total = right = count = 0.0
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            for start in range(0, len(self.held_out), self.recipe.micro_batch):
                part = self.held_out[start : start + self.recipe.micro_batch]
                inputs = hide(*pad_batch(part, torch.device("cpu")), self.model)
                logits, wanted = masked_lm_logits(self.model, *inputs)
                total += nn.functional.cross_entropy(logits, wanted, reduction="sum").item()
                right += int((logits.argmax(dim=1) == wanted).sum())
                count += len(wanted)
        if count:
            figures = {"masked_lm": total / count, "accuracy": right / count}
            self.log.write("validation", self.step, **figures)

    def _checkpoint(self) -> None:
        tensors = weight_tensors(self.model) | optimiser_tensors(self.optimiser, "optimiser")
        tensors["random.cpu"] = torch.get_rng_state()
        save_checkpoint(self.run, {"step": self.step, "stream": self.stream.state}, tensors)

    def _restore(self) -> None:
        found = load_checkpoint(self.run)
        self.log.begin(found[0]["step"] if found else 0)
        if found is None:
            return
        state, tensors = found
        load_weights(self.model, tensors)
        load_optimiser(self.optimiser, tensors, "optimiser")
        torch.set_rng_state(tensors["random.cpu"])
        self.step, self.stream.state = state["step"], state["stream"]


def hide(
    input_ids: Tensor, mask: Tensor, model: SpadeModel
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(what is read, attention mask, what was there, where it was hidden), [batch, length] each."""
    wordpieces = model.wordpieces
    special = torch.tensor(sorted(wordpieces.special_ids))
    chosen = (torch.rand(input_ids.shape) < HIDDEN) & mask.bool()
    chosen &= ~torch.isin(input_ids, special)
    kind = torch.rand(input_ids.shape)
    others = torch.randint(wordpieces.vocabulary_size, input_ids.shape)
    read = input_ids.masked_fill(chosen & (kind < MASKED), wordpieces.mask_id)
    read = torch.where(chosen & (kind >= MASKED) & (kind < MASKED + RANDOM), others, read)
    device = model.kept.device
    return read.to(device), mask.to(device), input_ids.to(device), chosen.to(device)


def masked_lm_logits(
    model: SpadeModel, read: Tensor, mask: Tensor, wanted: Tensor, chosen: Tensor
) -> tuple[Tensor, Tensor]:
    """Logits of the hidden WordPieces alone [hidden, |V|], and which ones they are [hidden]."""
    states = model.expansion.backbone(input_ids=read, attention_mask=mask)[0]
    return model.expansion.logits(states[chosen]), wanted[chosen]


def masked_lm_loss(
    model: SpadeModel, read: Tensor, mask: Tensor, wanted: Tensor, chosen: Tensor
) -> Tensor:
    """The sum of the negative log likelihoods of the hidden WordPieces."""
    logits, ids = masked_lm_logits(model, read, mask, wanted, chosen)
    return nn.functional.cross_entropy(logits.float(), ids, reduction="sum")

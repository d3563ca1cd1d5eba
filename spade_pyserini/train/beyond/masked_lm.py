"""Fit a masked-LM head on plain text, for a backbone that has none.

    spade train --stage masked-lm --recipe mini --set corpus=TEXTS --output my-head
    spade train --recipe mini --set init=my-head/best ... --output my-model

Some WordPieces of each document are masked, and the expansion encoder is trained to predict them.
The head of this encoder is trained. The transformer or its adapters are trained with the learning
rate ``expansion_rate``; 0 freezes them.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from spade_pyserini.errors import InputError, SpadeError
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.tensors import pad_batch
from spade_pyserini.progress import counting_bar
from spade_pyserini.train.beyond.inflections import with_inflections
from spade_pyserini.train.checkpoint import TrainingState
from spade_pyserini.train.documents import corpus_source
from spade_pyserini.train.initial_model import start_model
from spade_pyserini.train.log import RunLog
from spade_pyserini.train.optimizers import encoder_optimizer
from spade_pyserini.train.optimizers import step as step_optimizer
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.run import Run, start_accelerator
from spade_pyserini.train.samples import DataDir
from spade_pyserini.train.stream import SampleStream

STAGE = "masked-lm"
PREDICTED = 0.15  # share of the WordPieces that are predicted, as in BERT
# Of the predicted WordPieces, the first share becomes [MASK], and the second becomes random terms.
MASKED, RANDOM = 0.8, 0.1
HELD_OUT = 256  # number of documents to validate on; at most a tenth of all documents
SHORTEST = 8  # minimum number of WordPieces; shorter documents give no context


class MaskedBatch(NamedTuple):
    """Documents with masked WordPieces, [batch, length] each.

    read: the WordPieces that the encoder reads. mask: the attention mask. original: the WordPieces
    before masking. predicted: True for the WordPieces that are predicted.
    """

    read: Tensor
    mask: Tensor
    original: Tensor
    predicted: Tensor


def fit_masked_lm(
    recipe: Recipe, output: str | Path, *, resume: bool = False, data_dir: DataDir = None
) -> Path:
    """Train for ``recipe.optimization.steps`` steps; returns a folder for the setting ``init``."""
    run = Run(STAGE, recipe, Path(output), data_dir)
    return run.execute(lambda run: MaskedLMTrainer(run).train(), resume=resume)


class MaskedLMTrainer:
    """A run of the stage ``masked-lm``, in a single process."""

    def __init__(self, run: Run) -> None:
        self.run, self.recipe = run, run.recipe
        settings = run.recipe.optimization
        self.accelerator = start_accelerator(run.recipe, single_process=True)
        torch.manual_seed(settings.seed)
        model = with_inflections(start_model(run.recipe), run.recipe.term_weights.forms)
        self.model = model.to(self.accelerator.device)
        documents = read_documents(run, self.model)
        held_out = min(HELD_OUT, len(documents) // 10)
        self.held_out, self.documents = documents[:held_out], documents[held_out:]
        self.optimizer = encoder_optimizer(self.model, "expansion", settings)
        self.stream = SampleStream([len(self.documents)], settings.seed)
        optimizers: dict[str, torch.optim.Optimizer] = {"expansion": self.optimizer}
        self.state = TrainingState(self.accelerator, self.model, optimizers)
        self.step = 0
        self.log = RunLog(run.folder)
        run.claim(self.accelerator)

    def train(self) -> None:
        """Train to the last step; continues after the last checkpoint, if there is one."""
        settings = self.recipe.optimization
        self._restore()
        with counting_bar("masked LM", "steps", settings.steps, self.step) as bar:
            while self.step < settings.steps:
                self.model.train()
                batch = self.stream.take(settings.batch_size)
                loss = self.train_step([self.documents[number] for number in batch])
                if not math.isfinite(loss):
                    message = f"the loss is {loss} at step {self.step + 1}"
                    advice = "the last checkpoint is intact. Lower the learning rate"
                    raise SpadeError(f"{message}; {advice}")
                self.step += 1
                self.log.write("step", self.step, masked_lm=loss)
                bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
                bar.update()
                validate_every = self.recipe.validation.validate_every
                if self.step % validate_every == 0 or self.step == settings.steps:
                    self._validate()
                    state = {"step": self.step, "stream": self.stream.state}
                    self.state.save(self.run.folder, state)
        self.model.eval().save_pretrained(self.run.folder / "best")
        self.log.close()

    def train_step(self, documents: list[list[int]]) -> float:
        """Train on a batch, in micro-batches; returns the mean loss of a predicted WordPiece."""
        settings = self.recipe.optimization
        size = settings.micro_batch
        documents = sorted(documents, key=len)
        parts = [documents[i : i + size] for i in range(0, len(documents), size)]
        batches = [mask_batch(*pad_batch(part, torch.device("cpu")), self.model) for part in parts]
        count = sum(int(batch.predicted.sum()) for batch in batches)
        total = 0.0
        for batch in batches:
            with self.accelerator.autocast():
                loss = masked_lm_loss(self.model, batch) / max(count, 1)
            self.accelerator.backward(loss)
            total += loss.item()
        step_optimizer(self.optimizer, settings, self.step)
        return total

    @torch.no_grad()
    def _validate(self) -> None:
        """Log the loss and the accuracy on held-out documents, always with the same masks."""
        self.model.eval()
        total = right = count = 0.0
        size = self.recipe.optimization.micro_batch
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            for start in range(0, len(self.held_out), size):
                part = self.held_out[start : start + size]
                batch = mask_batch(*pad_batch(part, torch.device("cpu")), self.model)
                logits, labels = masked_lm_logits(self.model, batch)
                total += nn.functional.cross_entropy(logits, labels, reduction="sum").item()
                right += int((logits.argmax(dim=1) == labels).sum())
                count += len(labels)
        if count:
            figures = {"masked_lm": total / count, "accuracy": right / count}
            self.log.write("validation", self.step, **figures)

    def _restore(self) -> None:
        state = self.state.restore(self.run.folder)
        self.log.begin(state["step"] if state else 0)
        if state is not None:
            self.step, self.stream.state = state["step"], state["stream"]


def read_documents(run: Run, model: SpadeModel) -> list[list[int]]:
    """Return all documents of the recipe as WordPiece ids, shuffled with the seed."""
    documents: list[list[int]] = []
    for source in dict.fromkeys(map(corpus_source, run.recipe.training_collections)):
        corpus = source.open(run.data_dir)
        texts = [document.contents for document in corpus]
        batch = model.wordpieces.document_ids(texts, run.recipe.model.max_length)
        documents += [ids for ids in batch if len(ids) >= SHORTEST]
    if len(documents) < 20:
        message = f"only {len(documents)} documents have {SHORTEST} WordPieces or more"
        raise InputError(f"{message}; a masked-LM head needs at least 20", source.corpus)
    generator = torch.Generator().manual_seed(run.recipe.optimization.seed)
    order = torch.randperm(len(documents), generator=generator).tolist()
    return [documents[number] for number in order]


def mask_batch(input_ids: Tensor, mask: Tensor, model: SpadeModel) -> MaskedBatch:
    """Choose WordPieces at random and mask them.

    ``input_ids`` and ``mask``, the attention mask, are [batch, length].
    """
    wordpieces = model.wordpieces
    special = torch.tensor(sorted(wordpieces.special_ids))
    predicted = (torch.rand(input_ids.shape) < PREDICTED) & mask.bool()
    predicted &= ~torch.isin(input_ids, special)
    kind = torch.rand(input_ids.shape)
    others = torch.randint(wordpieces.vocabulary_size, input_ids.shape)
    read = input_ids.masked_fill(predicted & (kind < MASKED), wordpieces.mask_id)
    read = torch.where(predicted & (kind >= MASKED) & (kind < MASKED + RANDOM), others, read)
    device = model.kept.device
    return MaskedBatch(*(x.to(device) for x in (read, mask, input_ids, predicted)))


def masked_lm_logits(model: SpadeModel, batch: MaskedBatch) -> tuple[Tensor, Tensor]:
    """Return logits [predicted, |V|] and the original ids [predicted] of predicted WordPieces."""
    states = model.expansion.backbone(input_ids=batch.read, attention_mask=batch.mask)[0]
    logits = model.expansion.logits(states[batch.predicted])
    return logits, batch.original[batch.predicted]


def masked_lm_loss(model: SpadeModel, batch: MaskedBatch) -> Tensor:
    """Return the sum of the negative log likelihoods of the predicted WordPieces."""
    logits, labels = masked_lm_logits(model, batch)
    return nn.functional.cross_entropy(logits.float(), labels, reduction="sum")

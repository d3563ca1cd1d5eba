"""What the words that people wrap around a query are worth, learned with everything else frozen.

    python -m spade_pyserini.train --stage requests --recipe spade-mini-final \
        --set init=my-model/best --output my-model-requests

"I am looking for papers about X" should find what "X" finds. Only the weights of the words in
`requests.AROUND` are learned, and those of their other forms with them; the encoders are as they
are, so every document is encoded once. A share of the queries (`requests`) have words around them
and are compared with what they find without; the others are compared with what they found before,
as a word that says nothing in one query may be what another is about.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from tqdm import tqdm

from spade_pyserini.encode.shard import BATCH_TOKENS, batches
from spade_pyserini.errors import UsageError
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.tensors import mix, pad_batch
from spade_pyserini.models.term_counts import count_terms
from spade_pyserini.train import losses
from spade_pyserini.train.data import TrainingData, load_training_data
from spade_pyserini.train.log import RunLog
from spade_pyserini.train.beyond.query_templates import AROUND, wrap_query
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.report import write_card
from spade_pyserini.train.run import claim, run_stage, start_accelerator
from spade_pyserini.train.validate import DevSet, as_shipped, validate

logger = logging.getLogger(__name__)
DOCUMENTS = 1000  # of a collection
QUERIES = 1000
BATCH = 96  # queries that are compared at one time
STEPS = 200
RATE = 0.05  # of the logarithms of weights, down to 0


def fit_request_weights(recipe: Recipe, output: str | Path, *, resume: bool = False) -> Path:
    """Learn them for the model ``init``; returns the folder of the model that has them."""
    recipe.require("init", "requests")
    return run_stage("requests", _fit_request_weights, recipe, output, resume)


def _fit_request_weights(recipe: Recipe, run: Path) -> None:
    accelerator = start_accelerator(recipe, alone=True)
    model = SpadeModel.from_pretrained(str(recipe.init), merge=False).to(accelerator.device)
    _check_settings(recipe, model)
    data = load_training_data(recipe)
    dev = [DevSet(one, model.wordpieces) for one in recipe.dev_collections]
    length = recipe.max_length
    collections = [
        _read(model, data, number, recipe.requests, length) for number in range(len(data.sizes))
    ]
    words = Words(model)
    claim(run, "requests", recipe, accelerator)
    log = RunLog(run)
    log.begin(0)
    _fit(words, collections, model.config.saturate, recipe.seed, log)
    model.query_weights.data.mul_(words.factors().detach().to(model.kept.device))
    model.save_pretrained(run / "best", half=recipe.half)
    if dev:
        found = validate(model, dev, (model.config.alpha,), recipe.precision)
        log.write("validation", STEPS, **found._asdict())
    log.close()
    write_card(run, recipe, {"step": STEPS} if dev else {})


def _check_settings(recipe: Recipe, model: SpadeModel) -> None:
    """Nothing else is changed here, so the recipe may not ask for it."""
    for name in ("saturate", "forms", "corpus_idf"):
        asked, found = getattr(recipe, name), getattr(model.config, name)
        if asked is not None and asked != found:
            message = f"recipe: {name} is {asked}, but {found} in {recipe.init}"
            raise UsageError(f"{message}; `--stage train` with steps=0 sets it")


class Sampled(NamedTuple):
    """Some documents of a collection and queries for them.

    terms: all that the queries have. weights [documents, terms]: of the documents, before they
    saturate. plain, asked: the terms of each query as places in ``terms``,
    by itself and with words around it.
    """

    terms: Tensor
    weights: Tensor
    plain: list[list[int]]
    asked: list[list[int]]


class Words(nn.Module):
    """A factor for each word of a request; forms of one word have the same."""

    def __init__(self, model: SpadeModel) -> None:
        super().__init__()
        around = " ".join(text.format("") for text in AROUND)
        terms = torch.tensor(model.wordpieces.query_ids(around), dtype=torch.long)
        numbers = torch.arange(1, len(model.kept) + 1).neg()  # a term is a word of its own
        if model.forms is not None:
            numbers = torch.where(model.forms.cpu() > 0, model.forms.cpu(), numbers)
        self.terms = torch.isin(numbers, numbers[terms]).nonzero().squeeze(1)
        found, self.words = torch.unique(numbers[self.terms], return_inverse=True)
        self.logarithms = nn.Parameter(torch.zeros(len(found)))
        self.size = len(model.kept)

    def factors(self) -> Tensor:
        """[|V|], 1 for all other terms."""
        ones = torch.ones(self.size)
        return ones.index_copy(0, self.terms, self.logarithms.exp()[self.words])


def _read(model: SpadeModel, data: TrainingData, number: int, share: float, length: int) -> Sampled:
    """Encode documents of a collection, the relevant ones of its first queries.

    They are cut to ``length`` WordPieces, and terms are as rare as they are among them.
    """
    first = sum(data.sizes[:number])
    samples = data.samples[first : first + data.sizes[number]]
    docids = list(dict.fromkeys(sample.positive for sample in samples))[:DOCUMENTS]
    there = set(docids)
    qids = list(dict.fromkeys(one.qid for one in samples if one.positive in there))[:QUERIES]
    words, size = model.wordpieces, len(model.kept)
    plain = [words.query_ids(data.queries[qid]) for qid in qids]
    asked = [words.query_ids(wrap_query(qid, data.queries[qid], share)) for qid in qids]
    terms = torch.tensor(sorted({one for bag in plain + asked for one in bag}), dtype=torch.long)
    column = {int(term): place for place, term in enumerate(terms)}
    texts = [data.documents[docid] for docid in docids]
    worth = model.weights_for(count_terms(words, texts, size, length)) * model.query_weights
    weights = torch.zeros(len(docids), len(terms))
    shipped = as_shipped(model)
    ids = words.document_ids(texts, length)
    with torch.inference_mode():
        for batch, rows in tqdm(batches(ids, BATCH_TOKENS), desc="encoding", disable=None):
            own, added = shipped(*pad_batch(batch, model.kept.device))
            both = mix(own[:, terms], added[:, terms], model.config.alpha)
            weights[rows] = (both * worth[terms]).cpu()
    logger.info("%d documents, %d queries", len(docids), len(qids))
    bags = ([[column[term] for term in bag] for bag in one] for one in (plain, asked))
    return Sampled(terms, weights, *bags)


def _fit(words: Words, collections: list[Sampled], saturate: bool, seed: int, log: RunLog) -> None:
    """Each step compares queries of one collection, one after the other."""
    random = torch.Generator().manual_seed(seed)
    encoded = torch.log1p if saturate else torch.clone
    optimiser = torch.optim.Adam(words.parameters(), lr=RATE)
    rates = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 - step / STEPS)
    for step in tqdm(range(STEPS), desc="words of requests", disable=None):
        sampled = collections[step % len(collections)]
        drawn = torch.randperm(len(sampled.plain), generator=random)[:BATCH].tolist()
        plain = _bags(sampled, [sampled.plain[one] for one in drawn])
        asked = _bags(sampled, [sampled.asked[one] for one in drawn])
        factors = words.factors()[sampled.terms]
        wanted = losses.scores(plain, encoded(sampled.weights))
        found = losses.scores(asked, encoded(sampled.weights * factors))
        loss = losses.kl_loss(found, wanted)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        rates.step()
        log.write("step", step + 1, distance=loss.item())


def _bags(sampled: Sampled, queries: list[list[int]]) -> Tensor:
    """Boolean vectors, [queries, terms]."""
    vectors = torch.zeros(len(queries), len(sampled.terms))
    for row, bag in enumerate(queries):
        vectors[row, bag] = 1
    return vectors

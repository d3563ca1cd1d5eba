"""Learn weights for the words of query templates, with all other weights frozen.

    spade train --stage templates --recipe spade-mini-v1-final --data-dir DIR \
        --set init=my-model/best --output my-model-templates

"I am looking for papers about X" should return the same documents as "X". Only the weights of the
words in `query_templates.TEMPLATES` and of their inflected forms are learned. The encoders do not
change, so every document is encoded once. A share of the queries (``template_share``) is put into a
template; such a query is trained to get the same scores as without the template. The scores of the
other queries are trained to stay the same, because a word of a template can be the topic of a
query.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from spade_pyserini.encode.batches import batches
from spade_pyserini.encode.options import BATCH_TOKENS
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.aggregation import mix
from spade_pyserini.models.extensions import corpus_weights
from spade_pyserini.models.tensors import pad_batch
from spade_pyserini.models.term_counts import count_terms
from spade_pyserini.progress import progress_bar
from spade_pyserini.train import losses
from spade_pyserini.train.beyond.losses import kl_loss
from spade_pyserini.train.beyond.query_templates import TEMPLATES, apply_template
from spade_pyserini.train.beyond.unlabelled import samples_from_run
from spade_pyserini.train.data import TrainingData, load_training_data
from spade_pyserini.train.dev_set import load_dev_sets
from spade_pyserini.train.initial_model import MODEL_ONLY, TERM_WEIGHTS, refuse_changes
from spade_pyserini.train.log import RunLog
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.report import write_card
from spade_pyserini.train.run import Run, start_accelerator
from spade_pyserini.train.samples import DataDir
from spade_pyserini.train.validate import as_shipped, validate

logger = logging.getLogger(__name__)
STAGE = "templates"
DOCUMENTS = 1000  # number of documents to use from each collection
QUERIES = 1000  # number of queries to use from each collection
BATCH = 96  # queries per step
STEPS = 200
RATE = 0.05  # learning rate of the logarithms of weights, decreasing to 0


def fit_template_weights(
    recipe: Recipe, output: str | Path, *, resume: bool = False, data_dir: DataDir = None
) -> Path:
    """Learn the weights for the model ``init``; returns the folder of the new model."""
    recipe.require("init", "template_share")
    return Run(STAGE, recipe, Path(output), data_dir).execute(_fit_model, resume=resume)


def _fit_model(run: Run) -> None:
    recipe = run.recipe
    accelerator = start_accelerator(recipe, single_process=True)
    model = SpadeModel.from_pretrained(str(recipe.model.init), merge=False)
    model = model.to(accelerator.device)
    refuse_changes(recipe, model, (*TERM_WEIGHTS, *MODEL_ONLY))
    data = load_training_data(recipe, run.data_dir, samples_from_run)
    dev = load_dev_sets(recipe, model.wordpieces, run.data_dir)
    collections = [_encode(model, data, number, recipe) for number in range(len(data.sizes))]
    factors = TemplateFactors(model)
    run.claim(accelerator)
    log = RunLog(run.folder)
    log.begin(0)
    _fit(factors, collections, model.config.saturate, recipe.optimization.seed, log)
    model.query_weights.data.mul_(factors().detach().to(model.kept.device))
    model.save_pretrained(run.folder / "best", half=recipe.model.half)
    if dev:
        figures = validate(model, dev, (model.config.alpha,), recipe.optimization.precision)
        log.write("validation", STEPS, **figures._asdict())
    log.close()
    write_card(run.folder, recipe, {"step": STEPS} if dev else {})


class EncodedCollection(NamedTuple):
    """Some documents of a collection and queries for them.

    terms [T]: the ids of all terms of the queries. weights [documents, T]: weights of these terms
    in the documents, before saturation. plain, templated: the terms of each query, as positions in
    ``terms``, without and with a template.
    """

    terms: Tensor
    weights: Tensor
    plain: list[list[int]]
    templated: list[list[int]]


class TemplateFactors(nn.Module):
    """A factor for each word of the templates; all inflected forms of a word have one factor."""

    def __init__(self, model: SpadeModel) -> None:
        super().__init__()
        templates = " ".join(text.format("") for text in TEMPLATES)
        terms = torch.tensor(model.wordpieces.query_ids(templates), dtype=torch.long)
        # Inflected forms of a word have the same positive number; each other term has a negative
        # number of its own.
        words = torch.arange(1, len(model.kept) + 1).neg()
        if model.forms is not None:
            words = torch.where(model.forms.cpu() > 0, model.forms.cpu(), words)
        self.terms = torch.isin(words, words[terms]).nonzero().squeeze(1)
        distinct, self.words = torch.unique(words[self.terms], return_inverse=True)
        self.logarithms = nn.Parameter(torch.zeros(len(distinct)))
        self.size = len(model.kept)

    def forward(self) -> Tensor:
        """Return the factor of each term, [|V|]; 1 for terms that are not in templates."""
        ones = torch.ones(self.size)
        return ones.index_copy(0, self.terms, self.logarithms.exp()[self.words])


def _encode(
    model: SpadeModel, data: TrainingData, number: int, recipe: Recipe
) -> EncodedCollection:
    """Encode the first relevant documents of a collection, and tokenize the queries for them.

    Documents are cut to ``max_length`` WordPieces. The idf of terms comes from these documents.
    """
    words, length = model.wordpieces, recipe.model.max_length
    share = recipe.term_weights.template_share
    docids, qids = _choose(data, number)
    plain = [words.query_ids(data.queries[qid]) for qid in qids]
    templated = [words.query_ids(apply_template(qid, data.queries[qid], share)) for qid in qids]
    terms = torch.tensor(sorted({x for bag in plain + templated for x in bag}), dtype=torch.long)
    column = {int(term_id): position for position, term_id in enumerate(terms)}
    texts = [data.documents[docid] for docid in docids]
    counts = count_terms(words, texts, len(model.kept), length)
    term_weights = corpus_weights(model, counts) * model.query_weights
    weights = torch.zeros(len(docids), len(terms))
    shipped = as_shipped(model)
    ids = words.document_ids(texts, length)
    with torch.inference_mode():
        for batch, rows in progress_bar(batches(ids, BATCH_TOKENS), "encoding", "batches"):
            own, added = shipped(*pad_batch(batch, model.kept.device))
            both = mix(own[:, terms], added[:, terms], model.config.alpha)
            weights[rows] = (both * term_weights[terms]).cpu()
    logger.info("%d documents, %d queries", len(docids), len(qids))
    bags = ([[column[term] for term in bag] for bag in queries] for queries in (plain, templated))
    return EncodedCollection(terms, weights, *bags)


def _choose(data: TrainingData, number: int) -> tuple[list[str], list[str]]:
    """Return the ids of a collection's first relevant documents, and the ids of their queries."""
    first = sum(data.sizes[:number])
    samples = data.samples[first : first + data.sizes[number]]
    docids = list(dict.fromkeys(sample.positive for sample in samples))[:DOCUMENTS]
    chosen = set(docids)
    qids = list(dict.fromkeys(x.qid for x in samples if x.positive in chosen))[:QUERIES]
    return docids, qids


def _fit(
    factors: TemplateFactors,
    collections: list[EncodedCollection],
    saturate: bool,
    seed: int,
    log: RunLog,
) -> None:
    """Fit the factors. Each step uses one collection; the collections take turns."""
    generator = torch.Generator().manual_seed(seed)
    saturated = torch.log1p if saturate else torch.clone
    optimizer = torch.optim.Adam(factors.parameters(), lr=RATE)
    rates = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / STEPS)
    for step in progress_bar(range(STEPS), "template weights", "steps", STEPS):
        collection = collections[step % len(collections)]
        drawn = torch.randperm(len(collection.plain), generator=generator)[:BATCH].tolist()
        plain = _bags(collection, [collection.plain[query] for query in drawn])
        templated = _bags(collection, [collection.templated[query] for query in drawn])
        changed = collection.weights * factors()[collection.terms]
        targets = losses.scores(plain, saturated(collection.weights))
        loss = kl_loss(losses.scores(templated, saturated(changed)), targets)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        rates.step()
        log.write("step", step + 1, distance=loss.item())


def _bags(collection: EncodedCollection, queries: list[list[int]]) -> Tensor:
    """Return queries as boolean vectors, [queries, terms]."""
    vectors = torch.zeros(len(queries), len(collection.terms))
    for row, bag in enumerate(queries):
        vectors[row, bag] = 1
    return vectors

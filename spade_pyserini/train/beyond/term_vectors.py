"""Start the expansion head of a dense bi-encoder's backbone from what the bi-encoder knows.

    python -m spade_pyserini.train --stage queries --recipe spade-mini-start --output my-start
    python -m spade_pyserini.train --recipe spade-mini --set init=my-start/best --output my-model

A bi-encoder scores a document by the inner product of two embeddings. A boolean query can only add
up what its terms bring, so each term gets a vector of its own, such that their sum points where
the bi-encoder's embedding of the query does. These vectors are the head's output weights, up to
a scale that becomes the term's weight in queries: from the first step on, the head adds the terms
of queries that the document would answer.

The vector of a term is w_t (M e_t + U_t V): a map of its input embedding e_t, plus a low-rank part
of its own (`decoder_rank`). In the head, M is the transform, U and V M^-1 are the difference from
the embeddings, and w_t is the weight of query terms, which starts as the term's idf.
"""

from __future__ import annotations

import logging
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional
from tqdm import tqdm

from spade_pyserini.corpora import open_corpus
from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.corpora.topics import read_topics
from spade_pyserini.errors import InputError, UsageError
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.bi_encoder import load_bi_encoder
from spade_pyserini.models.expansion import MaskedLMHead
from spade_pyserini.models.tensors import pad_batch
from spade_pyserini.models.term_counts import count_terms, counted_idf
from spade_pyserini.train.log import RunLog
from spade_pyserini.train.optimizers import rate_factor
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.run import (
    claim,
    run_stage,
    start_accelerator,
    start_model,
)

logger = logging.getLogger(__name__)
HELD_OUT = 2000  # texts that the fit is measured on, at most a tenth
BATCH = 256  # texts that the bi-encoder embeds at one time
SAMPLE = 64  # texts that the transform's scale is taken from
OFFSET = 8.0  # keeps GELU where it is linear; the layer norm takes it away again
GAIN = 0.1  # of the layer norm: the largest logits of a text are then about 2


def fit_query_head(recipe: Recipe, output: str | Path, *, resume: bool = False) -> Path:
    """Fit for ``recipe.steps``; returns the folder of a model to start from (``init``)."""
    recipe.require("dense_teacher", "decoder_rank")
    return run_stage("queries", _fit_query_head, recipe, output, resume)


def _fit_query_head(recipe: Recipe, run: Path) -> None:
    accelerator = start_accelerator(recipe, alone=True)
    torch.manual_seed(recipe.seed)
    model = start_model(recipe)
    texts = _texts(recipe)
    logger.info("%d queries and titles", len(texts))
    idf = _idf(model, recipe, texts)
    vectors = TermVectors(_embeddings(model), recipe.decoder_rank, idf)
    teacher = load_bi_encoder(recipe.dense_teacher or "")
    found, width = teacher.encode(texts[0]).shape[-1], vectors.embeddings.shape[1]
    if found != width:
        message = f"its embeddings have {found} dimensions, the backbone {width}"
        raise UsageError(f"recipe: dense_teacher {recipe.dense_teacher}: {message}")
    wanted = teacher.encode(
        texts, batch_size=BATCH, normalize_embeddings=True, convert_to_tensor=True
    ).cpu()
    bags = _bags(model, texts)
    claim(run, "queries", recipe, accelerator)
    _fit(vectors, bags, wanted.clone(), recipe, RunLog(run))
    install(vectors, model, texts[:SAMPLE])
    model.eval().save_pretrained(run / "best")


class TermVectors(nn.Module):
    """A vector for each term, whose sum over a query's terms should be the query's embedding."""

    def __init__(self, embeddings: Tensor, rank: int, weights: Tensor) -> None:
        super().__init__()
        size, width = embeddings.shape
        self.embeddings = embeddings - embeddings.mean(dim=0)
        self.transform = nn.Parameter(torch.eye(width))
        self.offset = nn.Parameter(torch.zeros(width))
        self.own = nn.Parameter(torch.zeros(size, rank))
        self.shared = nn.Parameter(torch.randn(rank, width) * 0.02)
        self.log_weights = nn.Parameter(weights.log())

    def forward(self, bags: list[Tensor]) -> Tensor:
        """The sums over the terms of each bag, [bags, m]."""
        lengths = torch.tensor([len(bag) for bag in bags])
        terms, places = torch.unique(torch.cat(bags), return_inverse=True)
        vectors = self.embeddings[terms] @ self.transform + self.offset
        vectors = vectors + self.own[terms] @ self.shared
        vectors = vectors * self.log_weights[terms].exp()[:, None]
        starts = lengths.cumsum(0) - lengths
        return functional.embedding_bag(places, vectors, starts, mode="sum")


def install(vectors: TermVectors, model: SpadeModel, texts: list[str]) -> None:
    """Set the head of the model such that its logits are inner products with these vectors."""
    head: MaskedLMHead = model.expansion.head
    with torch.no_grad():
        ids = model.wordpieces.document_ids(texts, model.config.max_length)
        inputs, mask = pad_batch(ids, model.kept.device)
        hidden = model.expansion.backbone(input_ids=inputs, attention_mask=mask)[0][mask.bool()]
        spread = (hidden @ vectors.transform.T).std()
        head.dense.weight.copy_(vectors.transform / spread)
        head.dense.bias.fill_(OFFSET)
        head.norm.weight.fill_(GAIN)
        head.own.copy_(vectors.own)
        head.shared.copy_(vectors.shared @ torch.linalg.inv(vectors.transform))
        model.query_weights.copy_(vectors.log_weights.exp())


def _fit(
    vectors: TermVectors, bags: list[Tensor], wanted: Tensor, recipe: Recipe, log: RunLog
) -> None:
    """Maximise the cosine of sum and embedding."""
    order = torch.randperm(len(bags), generator=torch.Generator().manual_seed(recipe.seed))
    held_out = min(HELD_OUT, len(bags) // 10)
    log.begin(0)
    optimiser = torch.optim.Adam(vectors.parameters(), lr=recipe.head_rate or 3e-3)
    rates = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda n: rate_factor(recipe, n))

    def distance(places: Tensor) -> Tensor:
        found = vectors([bags[place] for place in places.tolist()])
        return 1 - functional.cosine_similarity(found, wanted[places]).mean()

    random = torch.Generator().manual_seed(recipe.seed + 1)
    for number in tqdm(range(recipe.steps), desc="terms of queries", disable=None):
        drawn = torch.randint(held_out, len(bags), (recipe.batch_size,), generator=random)
        loss = distance(order[drawn])
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        rates.step()
        log.write("step", number + 1, distance=loss.item())
    with torch.no_grad():
        log.write("validation", recipe.steps, distance=distance(order[:held_out]).item())
    log.close()


def _texts(recipe: Recipe) -> list[str]:
    """The judged queries of all collections and the titles of their documents, each once."""
    found: dict[str, None] = {}
    for collection in recipe.collections:
        if collection.queries:
            judged = read_qrels(collection.qrels) if collection.qrels else None
            topics = read_topics(collection.queries)
            found |= {x.text: None for x in topics if judged is None or x.qid in judged}
        if collection.corpus:
            found |= {x.title: None for x in open_corpus(collection.corpus) if x.title}
    if len(found) < 20:
        message = f"only {len(found)} queries and titles; at least 20 are needed"
        raise InputError(message, recipe.collections[0].queries or recipe.collections[0].corpus)
    return list(found)


def _idf(model: SpadeModel, recipe: Recipe, queries: list[str]) -> Tensor:
    """Of every term, in all documents of the recipe; 1 without any."""
    documents = [
        document.contents
        for collection in recipe.collections
        if collection.corpus
        for document in open_corpus(collection.corpus)
    ]
    size = len(model.query_weights)
    if not documents:
        return torch.ones(size)
    counts = count_terms(model.wordpieces, documents, size, recipe.max_length)
    return counted_idf(model.wordpieces, counts, queries)


def _bags(model: SpadeModel, texts: list[str]) -> list[Tensor]:
    special = model.wordpieces.special_ids
    ids = model.wordpieces.document_ids(texts, model.config.max_length)
    return [torch.tensor(sorted(set(one) - special) or [0]) for one in ids]


def _embeddings(model: SpadeModel) -> Tensor:
    weight = model.expansion.backbone.get_input_embeddings().get_parameter("weight")
    return weight.detach().cpu().clone()

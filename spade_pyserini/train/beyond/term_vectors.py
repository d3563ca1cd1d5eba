"""Initialize the expansion head from a dense bi-encoder on the same backbone.

    spade train --stage term-vectors --recipe spade-mini-2-start --data-dir DIR --output my-start
    spade train --recipe spade-mini-2 --set init=my-start/best --data-dir DIR --output my-model

A bi-encoder scores a document by the inner product of its embedding and the query's embedding.
SpaDE scores a document by the sum of the weights of the query's terms. So each term gets a vector,
such that the sum of the vectors of a query's terms has the direction of the query's embedding. The
vectors become the output weights of the head, up to a scale, which becomes the weight of the query
term. From the first step on, the head then expands a document with the terms of the queries for
which the document is relevant.

The vector of a term is w_t (M e_t + b + U_t V): a map of its centred input embedding e_t, an offset
b that all terms share, and a low-rank part of its own (``decoder_rank``). In the head, M is the
transform, and the product of U and V M^-1 is the difference between the output weights and the
embeddings. w_t is the weight of the query term; it starts as the term's idf. The head neither
centres the embeddings nor has b, because both would shift all logits of a token equally.
"""

from __future__ import annotations

import logging
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.corpora.topics import read_topics
from spade_pyserini.errors import InputError, UsageError
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.bi_encoder import load_bi_encoder
from spade_pyserini.models.masked_lm_head import MaskedLMHead
from spade_pyserini.models.tensors import pad_batch
from spade_pyserini.models.term_counts import count_terms, counted_idf
from spade_pyserini.progress import progress_bar
from spade_pyserini.train.beyond.inflections import with_inflections
from spade_pyserini.train.documents import open_documents
from spade_pyserini.train.initial_model import start_model
from spade_pyserini.train.log import RunLog
from spade_pyserini.train.optimizers import rate_factor
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.run import Run, start_accelerator
from spade_pyserini.train.samples import DataDir
from spade_pyserini.train.settings import OptimizationSettings

logger = logging.getLogger(__name__)
STAGE = "term-vectors"
HELD_OUT = 2000  # number of texts to validate on; at most a tenth of all texts
BATCH = 256  # texts that the bi-encoder embeds at once
SAMPLE = 64  # texts from which the scale of the transform is computed
OFFSET = 8.0  # keeps GELU in its linear range; the layer norm removes this offset again
GAIN = 0.1  # gain of the layer norm: the largest logits of a text are then about 2


def fit_term_vectors(
    recipe: Recipe, output: str | Path, *, resume: bool = False, data_dir: DataDir = None
) -> Path:
    """Fit the vectors in ``recipe.optimization.steps`` steps; return a folder for ``init``."""
    recipe.require("dense_teacher", "decoder_rank")
    return Run(STAGE, recipe, Path(output), data_dir).execute(_fit_model, resume=resume)


def _fit_model(run: Run) -> None:
    recipe = run.recipe
    accelerator = start_accelerator(recipe, single_process=True)
    torch.manual_seed(recipe.optimization.seed)
    model = with_inflections(start_model(recipe), recipe.term_weights.forms)
    texts = _queries_and_titles(run)
    logger.info("%d queries and titles", len(texts))
    vectors = TermVectors(_embeddings(model), recipe.model.decoder_rank, _idf(model, run, texts))
    targets = _teacher_embeddings(recipe, texts, vectors.embeddings.shape[1])
    bags = _bags(model, texts)
    run.claim(accelerator)
    _fit(vectors, bags, targets, recipe.optimization, RunLog(run.folder))
    install(vectors, model, texts[:SAMPLE])
    model.eval().save_pretrained(run.folder / "best")


class TermVectors(nn.Module):
    """A vector for each term; the sum over a query's terms approximates the query's embedding."""

    def __init__(self, embeddings: Tensor, rank: int, weights: Tensor) -> None:
        """embeddings [|V|, m]: the backbone's input embeddings. weights [|V|]: initial w_t."""
        super().__init__()
        size, width = embeddings.shape
        self.embeddings = embeddings - embeddings.mean(dim=0)
        self.transform = nn.Parameter(torch.eye(width))
        self.offset = nn.Parameter(torch.zeros(width))
        self.own = nn.Parameter(torch.zeros(size, rank))
        self.shared = nn.Parameter(torch.randn(rank, width) * 0.02)
        self.log_weights = nn.Parameter(weights.log())

    def forward(self, bags: list[Tensor]) -> Tensor:
        """Return, for each bag of term ids, the sum of the term vectors, [bags, m]."""
        lengths = torch.tensor([len(bag) for bag in bags])
        terms, positions = torch.unique(torch.cat(bags), return_inverse=True)
        vectors = self.embeddings[terms] @ self.transform + self.offset
        vectors = vectors + self.own[terms] @ self.shared
        vectors = vectors * self.log_weights[terms].exp()[:, None]
        starts = lengths.cumsum(0) - lengths
        return functional.embedding_bag(positions, vectors, starts, mode="sum")


def install(vectors: TermVectors, model: SpadeModel, texts: list[str]) -> None:
    """Write the term vectors into the expansion head and the query term weights of the model.

    The logits of a token then rank the terms by the inner products of the token's hidden state and
    the term vectors without the factor w_t, which becomes the weight of the query term. ``texts``
    are used to normalize the transform.
    """
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
    vectors: TermVectors,
    bags: list[Tensor],
    targets: Tensor,
    settings: OptimizationSettings,
    log: RunLog,
) -> None:
    """Maximize the cosine between the sum of vectors of each bag and the target of the bag.

    targets [bags, m]: the embedding of the bag's text.
    """
    order = torch.randperm(len(bags), generator=torch.Generator().manual_seed(settings.seed))
    held_out = min(HELD_OUT, len(bags) // 10)
    log.begin(0)
    optimizer = torch.optim.Adam(vectors.parameters(), lr=settings.head_rate or 3e-3)
    rates = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: rate_factor(settings, n))

    def distance(numbers: Tensor) -> Tensor:
        sums = vectors([bags[number] for number in numbers.tolist()])
        return 1 - functional.cosine_similarity(sums, targets[numbers]).mean()

    generator = torch.Generator().manual_seed(settings.seed + 1)
    for step in progress_bar(range(settings.steps), "term vectors", "steps", settings.steps):
        drawn = torch.randint(held_out, len(bags), (settings.batch_size,), generator=generator)
        loss = distance(order[drawn])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        rates.step()
        log.write("step", step + 1, distance=loss.item())
    with torch.no_grad():
        log.write("validation", settings.steps, distance=distance(order[:held_out]).item())
    log.close()


def _teacher_embeddings(recipe: Recipe, texts: list[str], width: int) -> Tensor:
    """Return the bi-encoder's embeddings of the texts, [texts, width]."""
    name = recipe.distillation.dense_teacher or ""
    teacher = load_bi_encoder(name)
    dimensions = teacher.encode(texts[0]).shape[-1]
    if dimensions != width:
        message = (
            f"its embeddings must have {width} dimensions, like the backbone, not {dimensions}"
        )
        raise UsageError(f"recipe: dense_teacher {name}: {message}")
    embeddings = teacher.encode(
        texts, batch_size=BATCH, normalize_embeddings=True, convert_to_tensor=True
    )
    return embeddings.cpu().clone()


def _queries_and_titles(run: Run) -> list[str]:
    """Return the queries of all collections and the titles of their documents, each text once.

    If a collection has qrels, only its judged queries are used.
    """
    texts: dict[str, None] = {}
    collections = run.recipe.training_collections
    for collection in collections:
        if collection.queries:
            topics = read_topics(collection.queries, data_dir=run.data_dir)
            if collection.qrels:
                judged = read_qrels(collection.qrels, data_dir=run.data_dir)
                topics = [topic for topic in topics if topic.qid in judged]
            texts |= {topic.text: None for topic in topics}
        if collection.corpus:
            corpus = open_documents(collection, run.data_dir)
            texts |= {document.title: None for document in corpus if document.title}
    if len(texts) < 20:
        message = f"only {len(texts)} queries and titles; at least 20 are needed"
        raise InputError(message, collections[0].queries or collections[0].corpus)
    return list(texts)


def _idf(model: SpadeModel, run: Run, queries: list[str]) -> Tensor:
    """Return the idf of each term in all documents of the recipe, [|V|]; 1 without documents."""
    documents = [
        document.contents
        for collection in run.recipe.training_collections
        if collection.corpus
        for document in open_documents(collection, run.data_dir)
    ]
    size = len(model.query_weights)
    if not documents:
        return torch.ones(size)
    counts = count_terms(model.wordpieces, documents, size, run.recipe.model.max_length)
    return counted_idf(model.wordpieces, counts, queries)


def _bags(model: SpadeModel, texts: list[str]) -> list[Tensor]:
    """Return the sorted term ids of each text, without special tokens."""
    special = model.wordpieces.special_ids
    batch = model.wordpieces.document_ids(texts, model.config.max_length)
    return [torch.tensor(sorted(set(ids) - special) or [0]) for ids in batch]


def _embeddings(model: SpadeModel) -> Tensor:
    weight = model.expansion.backbone.get_input_embeddings().get_parameter("weight")
    return weight.detach().cpu().clone()

"""The sections of a recipe that hold the data and the settings of the paper.

The defaults are the paper's settings. The paper's symbols are given in parentheses. All names of
settings except ``collections`` are unique, so a setting can be given with or without its section.
`spade_pyserini.train.extension_settings` has the other sections.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from spade_pyserini.errors import UsageError

PAPER_GAMMAS = (0.90, 0.85, 0.80, 0.75, 0.70, 0.70)
SYSTEMS = ("deepct", "deepimpact", "sparterm", "splade", "tilde", "tildev2", "unicoil")
STRATEGIES = ("cotrain", "apart", "joint", "weighting", "expansion")


@dataclass(frozen=True)
class ModelSettings:
    """The model that is trained.

    system: the name of a system other than SpaDE, see `spade_pyserini.train.systems`; empty for
        SpaDE.
    backbone: name or folder of the transformer.
    init: folder or name of a model to start from, instead of the backbone with new heads.
    max_length: WordPieces of a document that training reads.
    encode_length: WordPieces of a document that the trained model reads; 0 means max_length.
        Training on the beginnings of long documents is cheaper.
    pooling: how occurrences of a term are combined (Eq. 6), ``max`` or ``first``.
    k: terms kept for each token in fine-tuning (k, Eq. 8).
    dropout: dropout probability of the transformers and the weighting head.

    Beyond the paper:

    adapter_rank, adapter_layers, decoder_rank: as in `SpadeConfig`.
    expansion_terms: documents can be expanded with this many terms, which are the most frequent
        terms of the training documents. 0 means the terms of ``init`` or, without ``init``, all
        terms.
    weighting_bias: approximate weight that a new weighting head gives to every term. The paper uses
        0; with some seeds, the last ReLU then sets most weights to 0.
    start_terms: for models with a masked-LM head. A new head gives a positive weight to half of the
        vocabulary, so the bias of its output layer is lowered before training such that a document
        has about this many terms. 0 does not change the bias. Systems other than SpaDE ignore this
        setting if ``init`` is a trained model of the system.
    half: save the weights in 16 bits.
    calibration_sample: number of training documents from which the scale of quantization is
        computed each time that a model is saved.
    """

    system: str = ""
    backbone: str = "bert-base-uncased"
    init: str | None = None
    max_length: int = 256
    encode_length: int = 0
    pooling: str = "max"
    k: int = 10
    dropout: float = 0.1
    adapter_rank: int = 0
    adapter_layers: int = 0
    decoder_rank: int = 0
    expansion_terms: int = 0
    weighting_bias: float = 0.0
    start_terms: int = 0
    half: bool = False
    calibration_sample: int = 1000

    def __post_init__(self) -> None:
        known = self.system in ("", *SYSTEMS)
        check(f"system must be empty for SpaDE, or one of {', '.join(SYSTEMS)}", known)
        check("dropout must be from 0 to below 1", 0 <= self.dropout < 1)
        check_positive(self, ("calibration_sample",))
        names = ("adapter_rank", "adapter_layers", "decoder_rank", "expansion_terms")
        check_not_negative(self, (*names, "encode_length", "start_terms"))


@dataclass(frozen=True)
class TrainingCollection:
    """One collection to train on: a table ``[[data.collections]]``.

    corpus, queries, qrels, triples, negatives, expansions: as in `DataSettings`.
    id_field, title_field, text_fields: as in `DataSettings`.
    teacher: as in `DistillationSettings`.
    share: relative share of the batches that come from this collection.
    sample: number of queries to use, spread evenly over the file; 0 means all.
    least_score: for queries without judgements, the lowest score of a first hit that counts as
        relevant, see `spade_pyserini.train.beyond.unlabelled`.
    """

    corpus: str = ""
    queries: str = ""
    qrels: str | None = None
    triples: str | None = None
    negatives: str | None = None
    expansions: str | None = None
    id_field: str | None = None
    title_field: str | None = None
    text_fields: tuple[str, ...] = ()
    teacher: str | None = None
    least_score: float = 0.0
    share: float = 1.0
    sample: int = 0

    def __post_init__(self) -> None:
        check("share must be above 0", 0 < self.share < math.inf)
        check_not_negative(self, ("sample",))


@dataclass(frozen=True)
class DataSettings:
    """The samples to train on (R, the pairs of a query and a relevant document).

    corpus, queries, qrels: names or paths of documents, topics and relevance judgements.
    triples: instead of qrels, a file with lines ``qid <tab> positive <tab> negative``.
    negatives: a TREC run from which hard negatives are drawn (N(q)). The other documents of the
        batch are negatives, too.
    hard_negatives: number of hard negatives for each query.
    choose_negatives: how hard negatives are chosen from the run's documents that are not relevant:
        ``first`` takes the first documents, and ``spread`` takes documents spread evenly over the
        ranking. In a run of a teacher, many of the first documents are relevant but not judged, so
        prefer ``spread``.
    expansions: file with text to append to documents, see `spade_pyserini.corpora.expansions`.
    id_field, title_field, text_fields: columns of the corpus, as in `open_corpus`. By default they
        are guessed.
    collections: several collections, instead of all settings above except hard_negatives and
        choose_negatives. All samples of a batch, or of a block in co-training, come from one
        collection.
    """

    corpus: str = ""
    queries: str = ""
    qrels: str | None = None
    triples: str | None = None
    negatives: str | None = None
    hard_negatives: int = 1
    choose_negatives: str = "first"
    expansions: str | None = None
    id_field: str | None = None
    title_field: str | None = None
    text_fields: tuple[str, ...] = ()
    collections: tuple[TrainingCollection, ...] = ()

    def __post_init__(self) -> None:
        check_not_negative(self, ("hard_negatives",))
        known = self.choose_negatives in ("first", "spread")
        check("choose_negatives must be first or spread", known)


@dataclass(frozen=True)
class OptimizationSettings:
    """How long and how fast to train.

    warmup_steps: number of steps of the warm-up stage.
    steps: number of steps of both stages together. With 0 steps, the model ``init`` is saved with
        the settings of this recipe.
    batch_size: number of queries in a batch, over all micro-batches and processes together.
    micro_batch: number of documents in one forward pass.
    weighting_rate, expansion_rate: learning rates of the two encoders.
    head_rate: learning rate of both heads; None means the rate of their encoder.
    expansion_head_rate: learning rate of the expansion head; None means head_rate.
    schedule: ``constant`` (the paper's), or ``linear``: the rates rise during rate_warmup steps,
        then fall to 0.
    max_grad_norm: gradients are clipped to this norm; 0 turns clipping off.
    precision: ``no`` or ``bf16``, accelerate's mixed precision.
    seed: seed of new heads, dropout and the order of the samples.
    """

    warmup_steps: int = 32_000
    steps: int = 64_000
    batch_size: int = 32
    micro_batch: int = 8
    weighting_rate: float = 1e-5
    expansion_rate: float = 5e-6
    head_rate: float | None = None
    expansion_head_rate: float | None = None
    schedule: str = "constant"
    rate_warmup: int = 0
    max_grad_norm: float = 0.0
    precision: str = "no"
    seed: int = 0

    def __post_init__(self) -> None:
        check("steps must be warmup_steps or more", self.steps >= self.warmup_steps >= 0)
        check("precision must be 'no' or 'bf16'", self.precision in ("no", "bf16"))
        check("schedule must be constant or linear", self.schedule in ("constant", "linear"))
        check("seed must be from 0 to 2**32 - 1", 0 <= self.seed < 2**32)
        check_positive(self, ("batch_size", "micro_batch"))
        names = ("rate_warmup", "max_grad_norm", "weighting_rate", "expansion_rate")
        check_not_negative(self, (*names, "head_rate", "expansion_head_rate"))


@dataclass(frozen=True)
class LossSettings:
    """Weights of the parts of the loss.

    ranking_weight: weight of the ranking loss (Eq. 11, first term of Eq. 12). The paper uses 1;
        other values are useful with a teacher.
    lambda_: weight of the point-wise loss (lambda, Eq. 12). For SparTerm, it is the weight of the
        loss of the gates.
    flops, l1: beyond the paper, weights of two regularizers of the expansion encoder, in
        fine-tuning; ``flops`` is also for SPLADE. FLOPS lowers mainly the weights of frequent
        terms, and L1 lowers the weights of all terms.
    query_flops: weight of the FLOPS regularizer of query vectors, for systems that encode queries.
    """

    ranking_weight: float = 1.0
    lambda_: float = 1.0
    flops: float = 0.0
    l1: float = 0.0
    query_flops: float = 0.0

    def __post_init__(self) -> None:
        names = ("ranking_weight", "lambda_", "flops", "l1", "query_flops")
        check_not_negative(self, names)


@dataclass(frozen=True)
class CotrainingSettings:
    """Which encoders are trained, and on which samples.

    strategy: ``cotrain`` (the paper's), or one of its ablations: ``apart`` (both encoders, each on
        all samples, pruning from the start), ``joint`` (one loss of the aggregated vector), or
        only the ``weighting`` or the ``expansion`` encoder.
    joint_alpha: alpha of the aggregated vector in joint training (alpha, Eq. 10).
    tau: an encoder is trained on this percentage of the samples of a block (tau). These samples
        have the largest losses of the other encoder.
    block: number of samples in a block.
    """

    strategy: str = "cotrain"
    joint_alpha: float = 0.3
    tau: float = 30.0
    block: int = 1024

    def __post_init__(self) -> None:
        check(f"strategy must be one of {', '.join(STRATEGIES)}", self.strategy in STRATEGIES)
        check("joint_alpha must be from 0 to 1", 0 <= self.joint_alpha <= 1)
        check("tau must be a percentage above 0, up to 100", 0 < self.tau <= 100)
        check_positive(self, ("block",))


@dataclass(frozen=True)
class PruningSettings:
    """Corpus-level pruning.

    gammas: share of documents above which a term is removed, for each period (gamma); the last
        value is used for all later periods. An empty tuple turns pruning off.
    period: number of steps in a period.
    """

    gammas: tuple[float, ...] = PAPER_GAMMAS
    period: int = 3200

    def __post_init__(self) -> None:
        check("gammas must be from 0 to 1", all(0 <= gamma <= 1 for gamma in self.gammas))
        check_positive(self, ("period",))


@dataclass(frozen=True)
class DevCollection:
    """One collection to validate on: a table ``[[validation.collections]]``.

    corpus: documents; if empty, the training corpus. queries, qrels: topics and judgements.
    pool: a TREC run; only its documents and the judged documents are searched.
    depth: number of documents that are taken from ``pool`` for each query; 0 means all.
    sample: number of queries to use, spread evenly over the file; 0 means all.
    expansions: as in `DataSettings`.
    id_field, title_field, text_fields: columns of ``corpus``, as in `DataSettings`. If ``corpus``
        is the training corpus, the default is the columns of the training corpus.
    """

    corpus: str = ""
    queries: str = ""
    qrels: str = ""
    pool: str | None = None
    depth: int = 0
    sample: int = 0
    expansions: str | None = None
    id_field: str | None = None
    title_field: str | None = None
    text_fields: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_not_negative(self, ("depth", "sample"))


@dataclass(frozen=True)
class ValidationSettings:
    """When to validate, on what, and when to stop.

    dev_corpus, dev_queries, dev_qrels, dev_pool, dev_depth, dev_sample: as in `DevCollection`.
        Without queries and qrels there is no validation.
    collections: several collections, instead of the ``dev_`` settings. The figures of a validation
        are means over all collections.
    validate_every: number of steps between validations.
    patience: training stops after this many validations without an improvement.
    alphas: values of alpha to choose from (alpha, Eq. 10); the paper's 0, 0.1, ... 1 if empty.
    prune_ratios, tolerance: beyond the paper, for the stage ``settings``, see
        `spade_pyserini.train.beyond.encoding_settings`.
    """

    dev_corpus: str | None = None
    dev_queries: str | None = None
    dev_qrels: str | None = None
    dev_pool: str | None = None
    dev_depth: int = 0
    dev_sample: int = 0
    collections: tuple[DevCollection, ...] = ()
    validate_every: int = 1600
    patience: int = 5
    alphas: tuple[float, ...] = ()
    prune_ratios: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3)
    tolerance: float = 0.005

    def __post_init__(self) -> None:
        check("alphas must be from 0 to 1", all(0 <= alpha <= 1 for alpha in self.alphas))
        ratios = self.prune_ratios
        check("prune_ratios must be from 0 to below 1", all(0 <= ratio < 1 for ratio in ratios))
        check("prune_ratios must not be empty", bool(ratios))
        check("tolerance must be from 0 to 1", 0 <= self.tolerance <= 1)
        check_not_negative(self, ("dev_depth", "dev_sample"))
        check_positive(self, ("validate_every", "patience"))


def check(message: str, holds: bool) -> None:
    """Raise `UsageError` with the message unless the condition holds."""
    if not holds:
        raise UsageError(f"recipe: {message}")


def check_not_negative(section: object, names: Iterable[str]) -> None:
    """Raise `UsageError` unless these settings are finite and 0 or more; None is allowed."""
    for name in names:
        check(f"{name} must be 0 or more", 0 <= (getattr(section, name) or 0) < math.inf)


def check_positive(section: object, names: Iterable[str]) -> None:
    """Raise `UsageError` unless these settings are 1 or more."""
    for name in names:
        check(f"{name} must be 1 or more", getattr(section, name) >= 1)

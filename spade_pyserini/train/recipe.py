"""A recipe: every setting of a training run, as one flat TOML file.

    # recipes/mini.toml
    backbone = "minilm"
    k = 10
    tau = 30

Paths in a recipe are relative to the folder the command runs in. ``--set key=value`` changes one.
``base = "mini"`` begins with the settings of that recipe.
Several collections are tables of their own, and then stand instead of the flat settings::

    [[data]]
    corpus = "one/"
    queries = "one/queries.jsonl"
    qrels = "one/qrels/train.tsv"

    [[dev]]
    corpus = "two/"
    queries = "two/queries.jsonl"
    qrels = "two/qrels/dev.tsv"
"""

from __future__ import annotations

import difflib
import math
import tomllib
import types
import typing
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from spade_pyserini.errors import InputError, NotFoundError, UsageError
from spade_pyserini.train.pruning import PAPER_GAMMAS

RECIPES = Path(__file__).with_name("recipes")
NOT_NEGATIVE = (
    *("adapter_rank", "adapter_layers", "decoder_rank", "expansion_terms", "encode_length"),
    *("hard_negatives", "dev_depth", "dev_sample", "rate_warmup", "max_grad_norm"),
    *("weighting_rate", "expansion_rate", "head_rate", "expansion_head_rate", "idf_rate"),
    *("ranking_weight", "lambda_", "distillation_weight", "teacher_bm25", "flops"),
)
STRATEGIES = ("cotrain", "apart", "joint", "weighting", "expansion")


@dataclass(frozen=True)
class TrainingCollection:
    """What is trained on: see `Recipe`. ``share`` is its part of the batches, beside the others.

    Without qrels and triples, queries are unlabelled: in the run ``negatives``, the first hit
    stands for a relevant document where it scores ``least_score`` or more, the last ones for those
    that are not. What is true between them, a teacher has to say.
    """

    corpus: str = ""
    queries: str = ""
    qrels: str | None = None
    triples: str | None = None
    negatives: str | None = None
    expansions: str | None = None
    teacher: str | None = None
    least_score: float = 0.0
    share: float = 1.0


@dataclass(frozen=True)
class DevCollection:
    """What is validated on: see `Recipe`."""

    corpus: str = ""
    queries: str = ""
    qrels: str = ""
    pool: str | None = None
    depth: int = 0
    sample: int = 0
    expansions: str | None = None


@dataclass(frozen=True)
class Recipe:
    """The paper's settings are the defaults; its symbols keep their names.

    What is trained
        backbone, max_length, pooling, adapter_rank, adapter_layers, decoder_rank: as in
            `SpadeConfig`.
        expansion_terms: only so many terms, those that most training documents have, may be
            added to documents; 0 for as many as ``init`` has, or all.
        weighting_bias: what a fresh weighting head gives to every term, about. 0 is the paper's,
            and leaves most terms below the ReLU with some seeds.
        dropout: of the transformers and the weighting head.
        init: a model to start from instead of the backbone with fresh heads.
        encode_length: WordPieces of a document that the trained model reads, max_length if 0;
            training on the beginnings of long documents is cheaper.
        half: the weights of the model's file are rounded to 16 bits (adapters only).
        k: terms kept per token in fine-tuning (Eq. 8).
        strategy: ``cotrain`` (the paper's); and its ablations: ``apart`` (both encoders, each on
            all samples, pruning from the start), ``joint`` (one loss on the sum of both, at
            ``joint_alpha``), ``weighting`` or ``expansion`` alone.
    On what
        corpus, queries, qrels: documents, topics and judgements, by name or path.
        triples: instead of qrels, a file of ``qid <tab> positive <tab> negative``.
        negatives: a TREC run that hard negatives are drawn from; none means in-batch only.
        hard_negatives: how many of them for each query.
        expansions: text that is appended to the documents, see `spade_pyserini.corpora.expansions`.
        data: several collections instead of one; a batch comes from one of them, or in
            co-training, from as many as there are blocks behind it.
    How long
        warmup_steps, steps: of warm-up, and in all; 0 only gives the start other settings.
        batch_size: queries of an effective batch, whatever micro_batch and processes are.
        micro_batch: documents of one forward pass.
    How
        weighting_rate, expansion_rate, head_rate: learning rates of the two encoders, and of
            both heads where it is given. expansion_head_rate: of the expansion head alone, which
            may know something already (``init``).
        schedule: ``constant`` (the paper's), or ``linear``: up over rate_warmup steps, then down
            to 0. max_grad_norm: gradients are cut to this length, 0 for never.
        lambda_: weight of the point-wise loss (Eq. 12).
        tau: percent of a block that an encoder hands to the other, by loss.
        block: samples of a block.
        gammas, period: corpus-level pruning, see `PruningSettings`; no gammas turns it off.
        ranking_weight: weight of the ranking loss (Eq. 11, 12), beside a teacher's.
        teacher: a TREC run of a stronger model's scores for every query's own documents.
        dense_teacher: instead, a sentence-transformers model (or ``minilm``) that scores every
            query with every document of its batch; teacher_scale times the cosine.
        teacher_bm25: plus this times the BM25 score, 0 for none.
        distillation: ``kl`` or ``margin_mse``, how they are learned from; distillation_weight.
        idf: weights of query terms, ``none``, ``counted`` in the documents of the samples, or
            ``learned`` from there on with the rate idf_rate.
        requests: share of the queries that have words around them ("find papers about ..."), which
            a dense teacher does not see; also for ``--stage requests``.
        corpus_idf, saturate: as in `SpadeConfig`; where they are not given, as ``init`` has them.
            Every collection has its own idf. Each encoder learns with its own weights saturated;
            what is encoded is the logarithm of their sum.
        forms: as in `SpadeConfig`, or as ``init`` has it; the words are English.
        flops: weight of the FLOPS regularizer on expansion, from fine-tuning on.
        precision: accelerate's ``no`` or ``bf16``.
    Validation
        dev_corpus, dev_queries, dev_qrels: the corpus is the training one where none is given;
            without queries and qrels there is no validation.
        dev_pool: a TREC run; only its documents and the judged ones are searched, or only the
            first dev_depth of each query, 0 for all.
        dev_sample: only so many queries, 0 for all.
        dev: several collections instead of one; the figures are means over them.
        validate_every, patience: steps, and validations without a better one before the end.
    """

    backbone: str = "bert-base-uncased"
    init: str | None = None
    adapter_rank: int = 0
    adapter_layers: int = 0
    decoder_rank: int = 0
    expansion_terms: int = 0
    weighting_bias: float = 0.0
    max_length: int = 256
    encode_length: int = 0
    half: bool = False
    pooling: str = "max"
    dropout: float = 0.1
    k: int = 10
    strategy: str = "cotrain"
    joint_alpha: float = 0.3

    corpus: str = ""
    queries: str = ""
    qrels: str | None = None
    triples: str | None = None
    negatives: str | None = None
    hard_negatives: int = 1
    expansions: str | None = None
    data: tuple[TrainingCollection, ...] = ()

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
    ranking_weight: float = 1.0
    lambda_: float = 1.0
    tau: float = 30.0
    block: int = 1024
    gammas: tuple[float, ...] = PAPER_GAMMAS
    period: int = 3200
    teacher: str | None = None
    dense_teacher: str | None = None
    teacher_scale: float = 20.0
    teacher_bm25: float = 0.0
    distillation: str = "kl"
    distillation_weight: float = 1.0
    idf: str = "none"
    idf_rate: float = 1e-3
    requests: float = 0.0
    corpus_idf: float | None = None
    saturate: bool | None = None
    forms: float | None = None
    flops: float = 0.0
    precision: str = "no"

    dev_corpus: str | None = None
    dev_queries: str | None = None
    dev_qrels: str | None = None
    dev_pool: str | None = None
    dev_depth: int = 0
    dev_sample: int = 0
    dev: tuple[DevCollection, ...] = ()
    validate_every: int = 1600
    patience: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        checks = {
            f"strategy is one of {', '.join(STRATEGIES)}": self.strategy in STRATEGIES,
            "tau is a percentage above 0, up to 100": 0 < self.tau <= 100,
            "steps is not below warmup_steps": self.steps >= self.warmup_steps >= 0,
            "gammas are shares from 0 to 1": all(0 <= gamma <= 1 for gamma in self.gammas),
            "precision is no or bf16": self.precision in ("no", "bf16"),
            "dropout is a share from 0 to below 1": 0 <= self.dropout < 1,
            "requests is a share from 0 to 1": 0 <= self.requests <= 1,
            "distillation is kl or margin_mse": self.distillation in ("kl", "margin_mse"),
            "idf is none, counted or learned": self.idf in ("none", "counted", "learned"),
            "schedule is constant or linear": self.schedule in ("constant", "linear"),
            "shares are above 0": all(0 < one.share < math.inf for one in self.data),
            "joint_alpha is a share from 0 to 1": 0 <= self.joint_alpha <= 1,
            "seed is from 0 to below 2 to the 32nd": 0 <= self.seed < 2**32,
            "one teacher is enough": not (
                self.dense_teacher and any((self.teacher, *(one.teacher for one in self.data)))
            ),
            "teacher_bm25 is added to a dense_teacher": bool(
                self.dense_teacher or not self.teacher_bm25
            ),
        }
        for name in ("batch_size", "micro_batch", "block", "period", "validate_every", "patience"):
            checks[f"{name} is 1 or more"] = getattr(self, name) >= 1
        for name in NOT_NEGATIVE:
            checks[f"{name} is 0 or more"] = 0 <= (getattr(self, name) or 0) < math.inf
        for name in ("depth", "sample"):
            checks[f"{name} is 0 or more"] = all(getattr(one, name) >= 0 for one in self.dev)
        for message, holds in checks.items():
            if not holds:
                raise UsageError(f"recipe: {message}")

    def with_settings(self, settings: list[str]) -> Recipe:
        """Change settings given as ``key=value``, values as TOML has them or plain text."""
        return _change(self, dict(_parse(setting) for setting in settings), "--set")

    def require(self, *names: str) -> None:
        """Raise `UsageError` where a setting that is needed now was not given."""
        for name in names:
            if not getattr(self, name):
                raise UsageError(f"the recipe names no {name}; add --set {name}=...")

    @property
    def collections(self) -> tuple[TrainingCollection, ...]:
        """What is trained on: the tables, or the one collection of the flat settings."""
        if self.data:
            return self.data
        self.require("corpus")
        return (
            TrainingCollection(**{name: getattr(self, name) for name in flat_settings("data")}),
        )

    @property
    def dev_collections(self) -> tuple[DevCollection, ...]:
        """What is validated on, if anything."""
        for one in self.dev:
            if not (one.queries and one.qrels):
                raise UsageError("recipe: a table of dev needs queries and qrels")
        if self.dev:
            return tuple(replace(one, corpus=one.corpus or self.corpus) for one in self.dev)
        if not (self.dev_queries or self.dev_qrels):
            return ()
        self.require("dev_queries", "dev_qrels")
        corpus = self.dev_corpus or self.corpus
        one = DevCollection(
            corpus=corpus,
            queries=self.dev_queries or "",
            qrels=self.dev_qrels or "",
            pool=self.dev_pool,
            depth=self.dev_depth,
            sample=self.dev_sample,
            expansions=self.expansions,
        )
        return (one,)

    def as_json(self) -> dict[str, Any]:
        """For ``recipe.json`` in the run's folder."""
        return asdict(self)


def load_recipe(name: str | Path, *, above: tuple[Path, ...] = ()) -> Recipe:
    """A recipe by its name in the package, or a file; ``above`` are those that are based on it."""
    path = Path(name)
    if not path.is_file() and (RECIPES / f"{path.name}.toml").is_file() and path.name == str(name):
        path = RECIPES / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(sorted(found.stem for found in RECIPES.glob("*.toml")))
        raise NotFoundError(f"no recipe is called {str(name)!r}; known names: {known}")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not a TOML file ({error})", path) from None
    base = values.pop("base", None)
    if base is None:
        return _change(Recipe(), values, str(path))
    if not isinstance(base, str):
        raise UsageError(f"{path}: base is {base!r}, which is not a recipe's name")
    if path in above:
        raise UsageError(f"{path}: base is {base!r}, which leads back here")
    return _change(load_recipe(base, above=(*above, path)), values, str(path))


T = TypeVar("T", Recipe, TrainingCollection, DevCollection)


def _parse(setting: str) -> tuple[str, Any]:
    key, equals, value = setting.partition("=")
    if not equals:
        raise UsageError(f"--set takes key=value, not {setting!r}")
    try:
        return key.strip(), tomllib.loads(f"x = {value}")["x"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value


def _change(recipe: T, values: dict[str, Any], source: str) -> T:
    hints = typing.get_type_hints(type(recipe))
    changes = {}
    for key, value in values.items():
        if key not in hints:
            kind = type(recipe).__name__
            near = "".join(difflib.get_close_matches(key, hints, 1))
            hint = f"; did you mean {near}?" if near else ""
            raise UsageError(f"{source}: a {kind} has no setting {key!r}{hint}")
        changes[key] = _converted(value, hints[key], f"{source}: {key}")
    for table in ("data", "dev"):
        unused = [key for key in changes if key in flat_settings(table)]
        if unused and changes.get(table, getattr(recipe, table, ())):
            message = f"{unused[0]} says nothing beside the tables [[{table}]] of the recipe"
            raise UsageError(f"{source}: {message}; name the collection in a table, too")
    try:
        return replace(recipe, **changes)
    except UsageError as error:
        raise UsageError(f"{source}: {error}") from None


def flat_settings(table: str) -> set[str]:
    """The settings of a recipe that tables of this name stand instead of."""
    known = {field.name for field in fields(Recipe)}
    if table == "data":
        return known & {field.name for field in fields(TrainingCollection)}
    return known & {f"dev_{field.name}" for field in fields(DevCollection)}


def _converted(value: Any, hint: Any, place: str) -> Any:
    """TOML's value as the type the field has: lists are tuples, whole numbers may be floats."""
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if isinstance(value, list):
        (kind, *_) = typing.get_args(hint) or (float,)
        if kind in (TrainingCollection, DevCollection):
            if not all(isinstance(one, dict) for one in value):
                raise UsageError(f"{place} is a list of tables")
            value = tuple(_change(kind(), one, place) for one in value)
        elif all(isinstance(one, int | float) for one in value):
            value = tuple(float(one) for one in value)
    if float in kinds and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    plain = tuple(tuple if typing.get_origin(kind) is tuple else kind for kind in kinds)
    if not isinstance(value, plain) or isinstance(value, bool) != (bool in kinds):
        raise UsageError(f"{place} is {value!r}, which is not of the right kind")
    return value

"""A recipe: every setting of a training run, as one flat TOML file.

    # recipes/mini.toml
    backbone = "minilm"
    k = 10
    tau = 30

Paths in a recipe are relative to the folder the command runs in. ``--set key=value`` changes one.
"""

from __future__ import annotations

import tomllib
import types
import typing
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from spade_pyserini.errors import InputError, NotFoundError, UsageError
from spade_pyserini.train.pruning import PAPER_GAMMAS

RECIPES = Path(__file__).with_name("recipes")
STRATEGIES = ("cotrain", "apart", "joint", "weighting", "expansion")


@dataclass(frozen=True)
class Recipe:
    """The paper's settings are the defaults; its symbols keep their names.

    What is trained
        backbone, max_length, pooling: as in `SpadeConfig`.
        k: terms kept per token in fine-tuning (Eq. 8).
        strategy: ``cotrain`` (the paper's); and its ablations: ``apart`` (both encoders, each on
            all samples, pruning from the start), ``joint`` (one loss on the sum of both, at
            ``joint_alpha``), ``weighting`` or ``expansion`` alone.
    On what
        corpus, queries, qrels: documents, topics and judgements, by name or path.
        triples: instead of qrels, a file of ``qid <tab> positive <tab> negative``.
        negatives: a TREC run that hard negatives are drawn from; none means in-batch only.
        hard_negatives: how many of them for each query.
        expansions: a TSV of ``docid <tab> text`` that is appended to the documents.
    How long
        warmup_steps, steps: of warm-up, and in all.
        batch_size: queries of an effective batch, whatever micro_batch and processes are.
        micro_batch: documents of one forward pass.
    How
        weighting_rate, expansion_rate, head_rate: learning rates of the two encoders, and of
            both heads where it is given.
        lambda_: weight of the point-wise loss (Eq. 12).
        tau: percent of a block that an encoder hands to the other, by loss.
        block: samples of a block.
        gammas, period: corpus-level pruning, see `PruningSettings`; no gammas turns it off.
        teacher: a TREC run of a stronger model's scores for every query's own documents.
        distillation: ``kl`` or ``margin_mse``, how they are learned from; distillation_weight.
        flops: weight of the FLOPS regularizer on expansion.
        precision: accelerate's ``no`` or ``bf16``.
    Validation
        dev_corpus, dev_queries, dev_qrels: none means the training ones, without validation.
        validate_every, patience: steps, and validations without a better one before the end.
    """

    backbone: str = "bert-base-uncased"
    max_length: int = 256
    pooling: str = "max"
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

    warmup_steps: int = 32_000
    steps: int = 64_000
    batch_size: int = 32
    micro_batch: int = 8

    weighting_rate: float = 1e-5
    expansion_rate: float = 5e-6
    head_rate: float | None = None
    lambda_: float = 1.0
    tau: float = 30.0
    block: int = 1024
    gammas: tuple[float, ...] = PAPER_GAMMAS
    period: int = 3200
    teacher: str | None = None
    distillation: str = "kl"
    distillation_weight: float = 1.0
    flops: float = 0.0
    precision: str = "no"

    dev_corpus: str | None = None
    dev_queries: str | None = None
    dev_qrels: str | None = None
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
            "hard_negatives is 0 or more": self.hard_negatives >= 0,
            "distillation is kl or margin_mse": self.distillation in ("kl", "margin_mse"),
        }
        for name in ("batch_size", "micro_batch", "block", "period", "validate_every", "patience"):
            checks[f"{name} is 1 or more"] = getattr(self, name) >= 1
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

    def as_json(self) -> dict[str, Any]:
        """For ``recipe.json`` in the run's folder."""
        return asdict(self)


def load_recipe(name: str | Path) -> Recipe:
    """A recipe by its name in the package, or a file."""
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
    return _change(Recipe(), values, str(path))


def _parse(setting: str) -> tuple[str, Any]:
    key, equals, value = setting.partition("=")
    if not equals:
        raise UsageError(f"--set takes key=value, not {setting!r}")
    try:
        return key.strip(), tomllib.loads(f"x = {value}")["x"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value


def _change(recipe: Recipe, values: dict[str, Any], source: str) -> Recipe:
    hints = typing.get_type_hints(Recipe)
    known = {field.name for field in fields(Recipe)}
    changes = {}
    for key, value in values.items():
        if key not in known:
            raise UsageError(f"{source}: a recipe has no setting {key!r}")
        changes[key] = _converted(value, hints[key], f"{source}: {key}")
    try:
        return replace(recipe, **changes)
    except UsageError as error:
        raise UsageError(f"{source}: {error}") from None


def _converted(value: Any, hint: Any, place: str) -> Any:
    """TOML's value as the type the field has: lists are tuples, whole numbers may be floats."""
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if isinstance(value, list):
        value = tuple(float(one) for one in value)
    if float in kinds and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    plain = tuple(tuple if typing.get_origin(kind) is tuple else kind for kind in kinds)
    if not isinstance(value, plain) or isinstance(value, bool):
        raise UsageError(f"{place} is {value!r}, which is not of the right kind")
    return value

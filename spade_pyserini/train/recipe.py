"""A recipe: the settings of a training run, in sections, as a TOML file or from Python.

    # my.toml
    base = "mini"           # start with the settings of this recipe

    [cotraining]
    tau = 30

    [[data.collections]]    # several collections instead of corpus, queries, ... of [data]
    corpus = "nfcorpus"
    queries = "nfcorpus/train"
    qrels = "nfcorpus/train"

`spade_pyserini.train.settings` and `spade_pyserini.train.extension_settings` describe the sections.
Names of collections are looked up below the data directory; paths are relative to the current
folder. All names of settings except ``collections`` are unique, so their sections can be left out,
in files and in Python::

    load_recipe("my.toml").with_settings(["tau=50", "cotraining.block=64"])
    make_recipe(backbone="minilm", corpus="pydoc", steps=100)
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from spade_pyserini.errors import InputError, NotFoundError, UsageError
from spade_pyserini.train.conversion import change_section
from spade_pyserini.train.extension_settings import (
    DistillationSettings,
    TeachingSettings,
    TermWeightSettings,
)
from spade_pyserini.train.settings import (
    CotrainingSettings,
    DataSettings,
    DevCollection,
    LossSettings,
    ModelSettings,
    OptimizationSettings,
    PruningSettings,
    TrainingCollection,
    ValidationSettings,
)

RECIPES = Path(__file__).with_name("recipes")


@dataclass(frozen=True)
class Recipe:
    """All settings of a run. The defaults are the paper's settings."""

    model: ModelSettings = field(default_factory=ModelSettings)
    data: DataSettings = field(default_factory=DataSettings)
    optimization: OptimizationSettings = field(default_factory=OptimizationSettings)
    losses: LossSettings = field(default_factory=LossSettings)
    cotraining: CotrainingSettings = field(default_factory=CotrainingSettings)
    pruning: PruningSettings = field(default_factory=PruningSettings)
    validation: ValidationSettings = field(default_factory=ValidationSettings)
    teaching: TeachingSettings = field(default_factory=TeachingSettings)
    distillation: DistillationSettings = field(default_factory=DistillationSettings)
    term_weights: TermWeightSettings = field(default_factory=TermWeightSettings)

    def change(self, **settings: Any) -> Recipe:
        """Return a copy with changed settings, such as ``change(tau=50)``."""
        return _change(self, settings, "recipe")

    def with_settings(self, settings: list[str]) -> Recipe:
        """Return a copy with settings given as ``name=value``; a value is TOML or plain text."""
        return _change(self, dict(_parse(setting) for setting in settings), "recipe")

    def require(self, *names: str) -> None:
        """Raise `UsageError` if one of these settings is not given."""
        for name in names:
            section, key = _locate(name, "recipe")
            if not getattr(getattr(self, section), key):
                raise UsageError(f"the recipe names no {name}; add {name}=VALUE")

    @property
    def training_collections(self) -> tuple[TrainingCollection, ...]:
        """The tables ``[[data.collections]]``; if there are none, the collection of ``[data]``."""
        if self.data.collections:
            return self.data.collections
        self.require("corpus")
        names = _names(DataSettings) & _names(TrainingCollection)
        values = {name: getattr(self.data, name) for name in names}
        return (TrainingCollection(**values, teacher=self.distillation.teacher),)

    @property
    def dev_collections(self) -> tuple[DevCollection, ...]:
        """The collections to validate on; empty if there is no validation."""
        settings = self.validation
        for collection in settings.collections:
            if not (collection.queries and collection.qrels):
                message = "a table [[validation.collections]] needs queries and qrels"
                raise UsageError(f"recipe: {message}")
        if settings.collections:
            return tuple(map(self._with_corpus, settings.collections))
        if not (settings.dev_queries or settings.dev_qrels):
            return ()
        self.require("dev_queries", "dev_qrels")
        collection = DevCollection(
            corpus=settings.dev_corpus or "",
            queries=settings.dev_queries or "",
            qrels=settings.dev_qrels or "",
            pool=settings.dev_pool,
            depth=settings.dev_depth,
            sample=settings.dev_sample,
            expansions=self.data.expansions,
        )
        return (self._with_corpus(collection),)

    def _with_corpus(self, collection: DevCollection) -> DevCollection:
        """Set the training corpus and its columns, unless the collection has another corpus."""
        data = self.data
        if collection.corpus not in ("", data.corpus):
            return collection
        return replace(
            collection,
            corpus=data.corpus,
            id_field=collection.id_field or data.id_field,
            title_field=data.title_field
            if collection.title_field is None
            else collection.title_field,
            text_fields=collection.text_fields or data.text_fields,
        )

    def as_json(self) -> dict[str, dict[str, Any]]:
        """Return the settings by section and name, for ``recipe.json`` in the run's folder."""
        return asdict(self)

    def flat(self) -> dict[str, Any]:
        """Return the settings by full name, ``{"cotraining.tau": 30.0, ...}``."""
        return recorded_settings(self.as_json())


def make_recipe(**settings: Any) -> Recipe:
    """Return a recipe with these settings; all other settings are the paper's.

    For example::

        make_recipe(backbone="minilm", corpus="pydoc", queries="pydoc-dev", qrels="pydoc-dev")
    """
    return Recipe().change(**settings)


def load_recipe(name: str | Path) -> Recipe:
    """Load a recipe from a TOML file, or a recipe of the package by its name."""
    return _load(name, ())


def recorded_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a ``recipe.json`` by full name, such as ``cotraining.tau``.

    Older versions wrote the file without sections.
    """
    settings: dict[str, Any] = {}
    for key, value in values.items():
        if key in SECTIONS and isinstance(value, dict):
            settings |= {f"{key}.{name}": setting for name, setting in value.items()}
        else:
            section, name = FLAT_NAMES.get(key, ("", key))
            settings[f"{section}.{name}"] = value
    return settings


def _names(section: type[Any]) -> set[str]:
    return {field.name for field in fields(section)}


SECTIONS: dict[str, type[Any]] = {
    section.name: section.default_factory  # type: ignore[misc]
    for section in fields(Recipe)
}
FLAT_NAMES: dict[str, tuple[str, str]] = {
    name: (section, name)
    for section, settings in SECTIONS.items()
    for name in sorted(_names(settings) - {"collections"})
}
# In recipes without sections, these settings have other names.
FLAT_NAMES |= {
    "data": ("data", "collections"),
    "dev": ("validation", "collections"),
    "distillation": ("distillation", "loss"),
    "requests": ("term_weights", "template_share"),
}
# Settings of a single collection. They may not be combined with tables of collections.
SINGLE: dict[str, set[tuple[str, str]]] = {
    "data": {("data", name) for name in _names(DataSettings) & _names(TrainingCollection)}
    | {("distillation", "teacher")},
    "validation": {
        ("validation", name) for name in _names(ValidationSettings) if name.startswith("dev_")
    },
}


def _load(name: str | Path, derived: tuple[Path, ...]) -> Recipe:
    """Load a recipe. ``derived``: the recipes that are based on it, to detect a cycle."""
    path = Path(name)
    if not path.is_file() and (RECIPES / f"{path.name}.toml").is_file() and path.name == str(name):
        path = RECIPES / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in RECIPES.glob("*.toml")))
        raise NotFoundError(f"no recipe is called {str(name)!r}; known names: {known}")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not a TOML file ({error})", path) from None
    except RecursionError:
        raise InputError("TOML nested too deeply", path) from None
    base = values.pop("base", None)
    if base is None:
        return _change(Recipe(), values, str(path))
    if not isinstance(base, str):
        raise UsageError(f"{path}: base is {base!r}, which is not the name of a recipe")
    if path in derived:
        raise UsageError(f"{path}: base is {base!r}, which is based on this recipe")
    return _change(_load(base, (*derived, path)), values, str(path))


def _parse(setting: str) -> tuple[str, Any]:
    key, equals, value = setting.partition("=")
    if not equals:
        raise UsageError(f"recipe: {setting!r} is not a setting; write name=value")
    try:
        return key.strip(), tomllib.loads(f"x = {value}")["x"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return key.strip(), value


def _change(recipe: Recipe, values: Mapping[str, Any], source: str) -> Recipe:
    """Change settings, given by section or by name. Error messages begin with ``source``."""
    changes: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        if key in SECTIONS and isinstance(value, dict):
            changes.setdefault(key, {}).update(value)
        else:
            section, name = _locate(key, source)
            changes.setdefault(section, {})[name] = value
    try:
        sections = {
            section: change_section(getattr(recipe, section), values, f"{source}: ")
            for section, values in changes.items()
        }
        for tables, single in SINGLE.items():
            collections = sections.get(tables, getattr(recipe, tables)).collections
            given = (name for section, name in sorted(single) if changes.get(section, {}).get(name))
            ignored = next(given, None)
            if collections and ignored:
                message = f"{ignored} is ignored when [[{tables}.collections]] is present"
                raise UsageError(f"{source}: {message}; move it into these tables")
        return replace(recipe, **sections)
    except UsageError as error:
        if str(error).startswith(source):
            raise
        raise UsageError(f"{source}: {error}") from None


def _locate(key: str, source: str) -> tuple[str, str]:
    """Return the section and name of a setting given as ``name`` or ``section.name``."""
    section, dot, name = key.partition(".")
    if dot and section in SECTIONS and name in _names(SECTIONS[section]):
        return section, name
    if key in FLAT_NAMES:
        return FLAT_NAMES[key]
    known = [*FLAT_NAMES, *(f"{section}.{name}" for section, name in FLAT_NAMES.values())]
    near = "".join(difflib.get_close_matches(key, known, 1))
    hint = f"; did you mean {near}?" if near else ""
    raise UsageError(f"{source}: a recipe has no setting {key!r}{hint}")

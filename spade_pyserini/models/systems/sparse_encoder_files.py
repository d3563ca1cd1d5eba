"""The layout of a ``SparseEncoder`` of sentence-transformers. Does not load torch.

::

    modules.json                          the modules in their order, each with its folder
    config_sentence_transformers.json     the kind of model, prompts
    sentence_bert_config.json             the maximum length of the transformer
    1_SpladePooling/config.json           ``max`` or ``sum``, and the activation
    router_config.json                    the modules for queries and those for documents
    query_0_SparseStaticEmbedding/        the weights of query terms

The files are read here, and the library itself is not used: it would import any class that
``modules.json`` names, and it loads pickled weights.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from spade_pyserini.errors import InputError
from spade_pyserini.formats.json_files import read_json_file
from spade_pyserini.models.systems.checkpoint import MOST_BYTES

MODULES = "modules.json"
SETTINGS = "config_sentence_transformers.json"
TRANSFORMERS = ("Transformer", "MLMTransformer")
POOLING, STATIC, ROUTER = "SpladePooling", "SparseStaticEmbedding", "Router"
DENSE = ("Pooling", "Normalize", "Dense", "StaticEmbedding", "WordEmbeddings")
DOCUMENT_PROMPTS = ("document", "passage", "corpus")  # the first name that exists is used
ACTIVATIONS = ("relu", "log1p_relu")


class SpladeFiles(NamedTuple):
    """A masked-LM transformer with SPLADE pooling.

    folder: the folder of the transformer. sum_pooling: add the weights of tokens instead of taking
    the maximum. twice: apply log(1 + x) twice (``log1p_relu``). max_length: None if the tokenizer
    decides.
    """

    folder: Path
    sum_pooling: bool
    twice: bool
    max_length: int | None


class StaticWeights(NamedTuple):
    """The folder with the table of query term weights."""

    folder: Path


class SparseEncoderFiles(NamedTuple):
    """The parts of a ``SparseEncoder``.

    query: None if the document encoder also encodes queries.
    document_prompt, query_prompt: the text before every document and before every query.
    """

    document: SpladeFiles
    query: SpladeFiles | StaticWeights | None
    document_prompt: str
    query_prompt: str


def read_sparse_encoder(folder: Path) -> SparseEncoderFiles:
    """Read the files of a model. Raises `InputError` if it gives no sparse vectors of terms."""
    modules = _modules(folder)
    settings = _optional(folder / SETTINGS)
    if settings.get("model_type") in ("SentenceTransformer", "CrossEncoder"):
        _refuse(folder, f"a {settings['model_type']}")
    document_prompt, query_prompt = _prompts(settings, folder)
    kinds = [kind for kind, _ in modules]
    if kinds == [ROUTER]:
        routes = _routes(modules[0][1])
        document = _part(routes["document"], folder)
        query: SpladeFiles | StaticWeights | None = _part(routes["query"], folder)
    else:
        document, query = _part(modules, folder), None
    if not isinstance(document, SpladeFiles):
        message = "documents are encoded with a table of weights, which is not supported"
        raise InputError(f"{message}; use another model", folder)
    return SparseEncoderFiles(document, query, document_prompt, query_prompt)


def _modules(folder: Path) -> list[tuple[str, Path]]:
    """Read the modules of a model: the class name and the folder of each."""
    path = folder / MODULES
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"larger than {MOST_BYTES:,} bytes")
        rows = json.loads(path.read_bytes())
        return [(_class(row["type"]), _inside(folder, row["path"])) for row in rows]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"not a list of modules of sentence-transformers ({error})", path
        ) from None


def _routes(folder: Path) -> dict[str, list[tuple[str, Path]]]:
    """Read the modules of a router for each of its routes, ``query`` and ``document``."""
    path = folder / "router_config.json"
    values = read_json_file(path, MOST_BYTES)
    try:
        types, structure = values["types"], values["structure"]
        return {
            route: [(_class(types[name]), _inside(folder, name)) for name in structure[route]]
            for route in ("query", "document")
        }
    except (KeyError, TypeError) as error:
        message = f"the router must have modules for `query` and for `document` ({error})"
        raise InputError(message, path) from None


def _part(modules: list[tuple[str, Path]], folder: Path) -> SpladeFiles | StaticWeights:
    """Read a transformer with SPLADE pooling, or a table of weights."""
    kinds = [kind for kind, _ in modules]
    if kinds == [STATIC]:
        return StaticWeights(modules[0][1])
    if len(kinds) == 2 and kinds[0] in TRANSFORMERS and kinds[1] == POOLING:
        return _splade(modules[0][1], modules[1][1])
    if "SparseAutoEncoder" in kinds:
        message = (
            "this is a SparseAutoEncoder (CSR), whose dimensions are not terms of a vocabulary"
        )
        raise InputError(f"{message}; use a model with SPLADE pooling", folder)
    if set(kinds) & set(DENSE):
        _refuse(folder, f"a dense model ({', '.join(kinds)})")
    shown = ", ".join(kinds) or "none"
    expected = f"{TRANSFORMERS[0]}, {POOLING}; {STATIC}; or a {ROUTER} of these"
    raise InputError(
        f"unknown modules of sentence-transformers: {shown}; expected {expected}", folder
    )


def _splade(transformer: Path, pooling: Path) -> SpladeFiles:
    settings = read_json_file(pooling / "config.json", MOST_BYTES)
    strategy = settings.get("pooling_strategy", "max")
    activation = settings.get("activation_function", "relu")
    if strategy not in ("max", "sum") or activation not in ACTIVATIONS:
        shown = f"{strategy} with {activation}"
        known = f"expected max or sum, with {' or '.join(ACTIVATIONS)}"
        raise InputError(f"unknown SPLADE pooling: {shown}; {known}", pooling / "config.json")
    bert = _optional(transformer / "sentence_bert_config.json")
    task = bert.get("transformer_task", "fill-mask")
    if task != "fill-mask":
        message = f"the task of the transformer is {task}; SPLADE pooling needs fill-mask"
        raise InputError(message, transformer / "sentence_bert_config.json")
    length = bert.get("max_seq_length")
    return SpladeFiles(
        transformer,
        sum_pooling=strategy == "sum",
        twice=activation == "log1p_relu",
        max_length=length if isinstance(length, int) else None,
    )


def _prompts(settings: dict[str, Any], folder: Path) -> tuple[str, str]:
    """Return the prompts: the text before every document, and the text before every query."""
    prompts = settings.get("prompts") or {}
    if not isinstance(prompts, dict) or not all(isinstance(x, str) for x in prompts.values()):
        raise InputError("`prompts` must map names to texts", folder / SETTINGS)
    default: str = prompts.get(settings.get("default_prompt_name") or "", "")
    document = next((prompts[name] for name in DOCUMENT_PROMPTS if name in prompts), default)
    query: str = prompts.get("query", default)
    return document, query


def _optional(path: Path) -> dict[str, Any]:
    return read_json_file(path, MOST_BYTES) if path.is_file() else {}


def _class(name: str) -> str:
    """Return the class of a module: ``sentence_transformers....Router`` gives ``Router``."""
    if not isinstance(name, str):
        raise TypeError(f"{name!r} is not the name of a class")
    if not name.startswith("sentence_transformers."):
        raise ValueError(f"{name} is a class of the model's own code, which is never run")
    return name.rpartition(".")[2]


def _inside(folder: Path, name: str) -> Path:
    """Return the folder of a module; it must be inside the folder of the model."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{name!r} is outside the folder of the model")
    return path


def _refuse(folder: Path, kind: str) -> None:
    message = f"this is {kind} of sentence-transformers, which gives no sparse vectors"
    raise InputError(f"{message}; `spade dense` and `spade rerank` use such models", folder)

"""From the name of a model to its encoder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from spade_pyserini.errors import InputError, UsageError
from spade_pyserini.formats.query_side import (
    NEURAL,
    check_weight,
    quantize_weights,
    read_term_weights,
)
from spade_pyserini.models.devices import move
from spade_pyserini.models.encoder import SpadeEncoder
from spade_pyserini.models.hub import UNTRAINED, resolve_model
from spade_pyserini.models.protocols import DocumentEncoder
from spade_pyserini.models.queries import (
    BooleanQueries,
    QueryEncoder,
    TableQueries,
    WordQueries,
    check_vocabulary,
)
from spade_pyserini.models.systems import deepct, splade, unicoil
from spade_pyserini.models.systems import recognise as names
from spade_pyserini.models.systems.checkpoint import Checkpoint
from spade_pyserini.models.systems.deepct import DeepCT
from spade_pyserini.models.systems.deepimpact import DeepImpact
from spade_pyserini.models.systems.encoder import SystemConfig, SystemEncoder
from spade_pyserini.models.systems.neural_queries import NeuralQueries
from spade_pyserini.models.systems.recognise import recognise
from spade_pyserini.models.systems.sparse_encoder_files import (
    Splade as SpladeFiles,
)
from spade_pyserini.models.systems.sparse_encoder_files import (
    StaticWeights,
    read_sparse_encoder,
)
from spade_pyserini.models.systems.splade import Splade
from spade_pyserini.models.systems.tildev2 import TildeV2
from spade_pyserini.models.systems.transformer import (
    linear,
    load_masked_lm,
    load_transformer,
    load_wordpieces,
    max_length,
)
from spade_pyserini.models.systems.unicoil import UniCoil
from spade_pyserini.models.tensor_files import read_tensors
from spade_pyserini.models.wordpieces import WordPieces

IDF = "idf.json"  # the weights of query terms of OpenSearch's models
BOOLEAN = "boolean"  # as the name of a query encoder: queries have no weights


def load_encoder(
    name: str | Path, *, device: str = "cpu", query: str | None = None, fold: bool = True
) -> DocumentEncoder:
    """Load the document encoder of a model by its folder, or by its name.

    The name is that of a shipped model or on the Hugging Face hub. What kind of model it is, is
    recognised by its files.

    query: the name of another model that encodes queries, or ``boolean``. By default, the model
        itself says how its queries are encoded.
    fold: multiply document vectors by the weights of query terms, if the model has a table of
        them. Queries are then boolean, and scores are the same inner products before rounding.
    """
    if str(name) == UNTRAINED:
        return _spade(name, device, query)
    folder = resolve_model(name)
    system = recognise(folder)
    if system == names.SPADE:
        return _spade(name, device, query)
    encoder = LOADERS[system](folder, Path(name).name, fold and query is None)
    if query is not None:
        encoder = replace(encoder, queries=_other_queries(encoder, query))
    if encoder.queries.side.kind != NEURAL:  # such queries never contain special tokens
        wordpieces = encoder.wordpieces
        encoder.model.drop(wordpieces.special_ids | wordpieces.unused_ids)
    return replace(encoder, model=move(encoder.model, device))


def load_queries(name: str | Path) -> QueryEncoder:
    """Load the query encoder of a model by its folder or its name."""
    return load_encoder(name, fold=False).queries


def _spade(name: str | Path, device: str, query: str | None) -> SpadeEncoder:
    if query not in (None, BOOLEAN):
        raise UsageError(f"SpaDE has boolean queries, not those of {query!r}; leave out query=NAME")
    return SpadeEncoder.from_pretrained(name, device=device)


def _other_queries(encoder: SystemEncoder, query: str) -> QueryEncoder:
    """The queries that a user names instead of those of the model."""
    if query == BOOLEAN:
        kind = WordQueries if encoder.model.terms_are_words else BooleanQueries
        return kind(encoder.wordpieces)
    if encoder.model.terms_are_words:
        message = f"the terms of {encoder.system} are words, which query encoders do not have"
        raise UsageError(f"{message}; leave out query=NAME")
    queries = load_queries(query)
    check_vocabulary(queries, encoder.wordpieces, "the document encoder")
    return queries


def _load_splade(folder: Path, name: str, fold: bool) -> SystemEncoder:
    """A masked-LM checkpoint: documents and queries have the same model.

    A folder with `IDF` is a document encoder, whose queries have these weights.
    """
    system = _splade(SpladeFiles(folder, sum_pooling=False, twice=False, max_length=None))
    longest = max_length(folder, system.masked_lm.config)
    if (folder / IDF).is_file():
        weights = _named_weights(folder / IDF, system.wordpieces)
        config = SystemConfig(longest, scale=splade.SCALE)
        return _with_table(system, config, weights, fold, (name, ""))
    queries = NeuralQueries(system, name, min(splade.QUERY_LENGTH, longest), splade.SCALE)
    return SystemEncoder(system, SystemConfig(longest, scale=splade.SCALE), queries, longest)


def _load_sparse_encoder(folder: Path, name: str, fold: bool) -> SystemEncoder:
    """A ``SparseEncoder`` of sentence-transformers."""
    files = read_sparse_encoder(folder)
    system = _splade(files.document)
    longest = max_length(files.document.folder, system.masked_lm.config, files.document.max_length)
    config = SystemConfig(longest, scale=splade.SCALE, prompt=files.document_prompt)
    if isinstance(files.query, StaticWeights):
        weights = _static_weights(files.query.folder, system.wordpieces)
        return _with_table(system, config, weights, fold, (name, files.query_prompt))
    other = None if files.query is None else _splade(files.query)
    if other is not None and other.wordpieces.fingerprint != system.wordpieces.fingerprint:
        raise InputError("queries and documents have different vocabularies", folder)
    source = files.document if files.query is None else files.query
    reader = other or system
    length = max_length(source.folder, reader.masked_lm.config, source.max_length)
    queries = NeuralQueries(reader, name, length, splade.SCALE, files.query_prompt)
    return SystemEncoder(system, config, queries, longest)


def _splade(files: SpladeFiles) -> Splade:
    masked_lm = load_masked_lm(files.folder)
    wordpieces = load_wordpieces(files.folder, masked_lm.config.vocab_size)
    return Splade(masked_lm, wordpieces, sum_pooling=files.sum_pooling, twice=files.twice)


def _named_weights(path: Path, wordpieces: WordPieces) -> Tensor:
    """The weights of query terms, [|V|], of a file of terms and weights; 0 for other terms."""
    weights = torch.zeros(wordpieces.vocabulary_size)
    for term, weight in read_term_weights(path).items():
        if term not in wordpieces.term_ids:
            raise InputError(f"the term {term!r} is not in the vocabulary of the tokenizer", path)
        weights[wordpieces.term_ids[term]] = weight
    return weights


def _static_weights(folder: Path, wordpieces: WordPieces) -> Tensor:
    """The weights of query terms, [|V|], of a ``SparseStaticEmbedding``."""
    checkpoint = Checkpoint(folder)
    checkpoint.require(["weight"])
    weights = read_tensors(checkpoint.files[0])["weight"].float()
    theirs = load_wordpieces(folder, len(weights))
    if theirs.fingerprint != wordpieces.fingerprint:
        raise InputError("queries have another vocabulary than the documents", folder)
    for term, weight in zip(theirs.terms, weights.tolist(), strict=False):
        check_weight(term, weight, folder)
    return weights


def _with_table(
    system: Splade, config: SystemConfig, weights: Tensor, fold: bool, names: tuple[str, str]
) -> SystemEncoder:
    """An encoder whose queries have weights, folded into the document vectors or in a table.

    ``names`` are the name of the model and the prompt of queries.
    """
    wordpieces, (name, prompt) = system.wordpieces, names
    positive = [term for term in range(len(wordpieces.terms)) if term not in wordpieces.special_ids]
    if (weights[positive] == 1).all():  # SPLADE-doc: nothing to multiply
        return SystemEncoder(system, config, BooleanQueries(wordpieces, prompt), config.max_length)
    if fold:
        padded = torch.zeros(len(system.kept))
        padded[: len(weights)] = weights
        system.query_weights = padded
        folded = replace(config, scale=None)  # the weights have another range now
        return SystemEncoder(system, folded, BooleanQueries(wordpieces, prompt), config.max_length)
    table = {wordpieces.terms[term]: weights[term].item() for term in positive}
    queries = TableQueries(wordpieces, quantize_weights(table), name, prompt)
    return SystemEncoder(system, config, queries, config.max_length)


def _load_unicoil(folder: Path, name: str, fold: bool) -> SystemEncoder:
    system, longest = _token_weights(UniCoil, folder)
    system.drop(frozenset(system.wordpieces.term_ids[token] for token in ("[CLS]", "[PAD]")))
    queries = NeuralQueries(system, name, min(unicoil.QUERY_LENGTH, longest), unicoil.SCALE)
    return SystemEncoder(system, SystemConfig(longest, scale=unicoil.SCALE), queries, longest)


def _load_tildev2(folder: Path, name: str, fold: bool) -> SystemEncoder:
    system, longest = _token_weights(TildeV2, folder)
    return SystemEncoder(system, SystemConfig(longest), BooleanQueries(system.wordpieces), longest)


def _token_weights(kind: type[UniCoil], folder: Path) -> tuple[UniCoil, int]:
    checkpoint = Checkpoint(folder)
    transformer, tensors = load_transformer(checkpoint)
    projection = linear(tensors, "tok_proj", folder)
    wordpieces = load_wordpieces(folder, transformer.config.vocab_size)
    return kind(transformer, projection, wordpieces), max_length(folder, transformer.config)


def _load_deepimpact(folder: Path, name: str, fold: bool) -> SystemEncoder:
    transformer, tensors = load_transformer(Checkpoint(folder))
    prefix = "impact_score_encoder."
    numbers = sorted({int(key.split(".")[1]) for key in tensors if key.startswith(prefix)})
    layers: list[nn.Module] = []
    for number in numbers:  # a ReLU follows each layer; that of the last is in `forward`
        layers += [linear(tensors, f"{prefix}{number}", folder), nn.ReLU()]
    wordpieces = load_wordpieces(folder, transformer.config.vocab_size)
    system = DeepImpact(transformer, nn.Sequential(*layers), wordpieces)
    longest = max_length(folder, transformer.config)
    return SystemEncoder(system, SystemConfig(longest), WordQueries(wordpieces), longest)


def _load_deepct(folder: Path, name: str, fold: bool) -> SystemEncoder:
    transformer, tensors = load_transformer(Checkpoint(folder))
    wordpieces = load_wordpieces(folder, transformer.config.vocab_size)
    system = DeepCT(transformer, linear(tensors, "classifier", folder), wordpieces)
    longest = max_length(folder, transformer.config)
    config = SystemConfig(longest, scale=deepct.SCALE)
    return SystemEncoder(system, config, WordQueries(wordpieces), longest)


LOADERS: dict[str, Callable[[Path, str, bool], SystemEncoder]] = {
    names.SPARSE_ENCODER: _load_sparse_encoder,
    names.SPLADE: _load_splade,
    names.UNICOIL: _load_unicoil,
    names.TILDEV2: _load_tildev2,
    names.DEEPIMPACT: _load_deepimpact,
    names.DEEPCT: _load_deepct,
}

"""Tables of query term weights, which multiply document vectors or are used to encode queries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from spade_pyserini.errors import InputError
from spade_pyserini.formats.query_side import check_weight, quantize_weights, read_term_weights
from spade_pyserini.models.queries import BooleanQueries, TableQueries
from spade_pyserini.models.systems.checkpoint import Checkpoint
from spade_pyserini.models.systems.encoder import SystemConfig, SystemEncoder
from spade_pyserini.models.systems.source import Source
from spade_pyserini.models.systems.system import System
from spade_pyserini.models.systems.transformer import load_wordpieces
from spade_pyserini.models.tensor_files import read_tensors
from spade_pyserini.models.wordpieces import WordPieces


def named_weights(path: Path, wordpieces: WordPieces) -> Tensor:
    """Read the weights of query terms, [|V|], from a JSON file; 0 for terms not in the file."""
    weights = torch.zeros(wordpieces.vocabulary_size)
    for term, weight in read_term_weights(path).items():
        if term not in wordpieces.term_ids:
            raise InputError(f"the term {term!r} is not in the vocabulary of the tokenizer", path)
        weights[wordpieces.term_ids[term]] = weight
    return weights


def static_weights(folder: Path, wordpieces: WordPieces) -> Tensor:
    """Read the weights of query terms, [|V|], from the folder of a ``SparseStaticEmbedding``."""
    checkpoint = Checkpoint(folder)
    checkpoint.require(["weight"])
    weights = read_tensors(checkpoint.files[0])["weight"].float()
    theirs = load_wordpieces(folder, len(weights))
    if theirs.fingerprint != wordpieces.fingerprint:
        message = "queries and documents have different vocabularies"
        raise InputError(f"{message}, which is not supported; use another model", folder)
    for term, weight in zip(theirs.terms, weights.tolist(), strict=False):
        check_weight(term, weight, folder)
    return weights


def with_table(
    system: System, config: SystemConfig, weights: Tensor, source: Source, prompt: str = ""
) -> SystemEncoder:
    """Return the document encoder of a model that has a table of query term weights.

    ``weights`` [|V|] is the table. If ``source.fold`` is set, document vectors are multiplied by
    the weights, and queries are boolean. Queries are also boolean if all weights are 1. In all
    other cases, the query encoder uses the weights. ``prompt`` is the text before every query.
    """
    wordpieces, longest = system.wordpieces, config.max_length
    boolean = BooleanQueries(wordpieces, prompt)
    ordinary = [term for term in range(len(wordpieces.terms)) if term not in wordpieces.special_ids]
    if (weights[ordinary] == 1).all():  # as in SPLADE-doc, whose queries are boolean
        return SystemEncoder(system, config, boolean, longest)
    if source.fold:
        padded = torch.zeros(len(system.kept))
        padded[: len(weights)] = weights
        system.query_weights = padded
        # The products of document and query weights have another range than the document weights,
        # so the scale must be calibrated.
        return SystemEncoder(system, replace(config, scale=None), boolean, longest)
    table = {wordpieces.terms[term]: weights[term].item() for term in ordinary}
    queries = TableQueries(wordpieces, quantize_weights(table), source.name, prompt)
    return SystemEncoder(system, config, queries, longest)

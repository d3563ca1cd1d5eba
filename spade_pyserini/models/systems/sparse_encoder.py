"""Load a ``SparseEncoder`` of sentence-transformers, see `sparse_encoder_files`."""

from __future__ import annotations

from spade_pyserini.errors import InputError
from spade_pyserini.models.systems.encoder import SystemConfig, SystemEncoder
from spade_pyserini.models.systems.neural_queries import NeuralQueries
from spade_pyserini.models.systems.query_table import static_weights, with_table
from spade_pyserini.models.systems.source import Source
from spade_pyserini.models.systems.sparse_encoder_files import (
    SpladeFiles,
    StaticWeights,
    read_sparse_encoder,
)
from spade_pyserini.models.systems.splade import SCALE, Splade, load_masked_lm_system
from spade_pyserini.models.systems.transformer import max_length


def load_sparse_encoder(source: Source) -> SystemEncoder:
    """Load the document encoder, which has SPLADE pooling, and the query encoder.

    The files decide whether queries are encoded by the same model, by another model with SPLADE
    pooling, or with a table of weights.
    """
    files = read_sparse_encoder(source.folder)
    system, longest = _load(files.document)
    config = SystemConfig(longest, scale=SCALE, prompt=files.document_prompt)
    if isinstance(files.query, StaticWeights):
        weights = static_weights(files.query.folder, system.wordpieces)
        return with_table(system, config, weights, source, files.query_prompt)
    reader, length = (system, longest) if files.query is None else _load(files.query)
    if reader.wordpieces.fingerprint != system.wordpieces.fingerprint:
        message = "queries and documents have different vocabularies"
        raise InputError(f"{message}, which is not supported; use another model", source.folder)
    queries = NeuralQueries(reader, source.name, length, SCALE, files.query_prompt)
    return SystemEncoder(system, config, queries, longest)


def _load(files: SpladeFiles) -> tuple[Splade, int]:
    """Load a model with SPLADE pooling; return the system and its maximum number of tokens."""
    system = load_masked_lm_system(files.folder, sum_pooling=files.sum_pooling, twice=files.twice)
    return system, max_length(files.folder, system.masked_lm.config, files.max_length)

"""Load the document encoder or the query encoder of a model by its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from spade_pyserini.errors import InputError, SpadeError, UsageError
from spade_pyserini.formats.query_side import NEURAL
from spade_pyserini.models.devices import move
from spade_pyserini.models.encoder import SpadeEncoder
from spade_pyserini.models.hub import UNTRAINED, resolve_model
from spade_pyserini.models.protocols import DocumentEncoder
from spade_pyserini.models.queries import (
    BooleanQueries,
    QueryEncoder,
    WordQueries,
    check_vocabulary,
)
from spade_pyserini.models.systems import recognise as names
from spade_pyserini.models.systems.deepct import load_deepct
from spade_pyserini.models.systems.deepimpact import load_deepimpact
from spade_pyserini.models.systems.encoder import SystemEncoder
from spade_pyserini.models.systems.recognise import recognise
from spade_pyserini.models.systems.source import Source
from spade_pyserini.models.systems.sparse_encoder import load_sparse_encoder
from spade_pyserini.models.systems.sparterm import load_sparterm
from spade_pyserini.models.systems.splade import load_splade
from spade_pyserini.models.systems.tilde import load_tilde
from spade_pyserini.models.systems.tildev2 import load_tildev2
from spade_pyserini.models.systems.unicoil import load_unicoil

BOOLEAN = "boolean"  # the value of ``query_encoder`` for queries without weights
LOADERS: dict[str, Callable[[Source], SystemEncoder]] = {
    names.SPARSE_ENCODER: load_sparse_encoder,
    names.SPLADE: load_splade,
    names.UNICOIL: load_unicoil,
    names.TILDEV2: load_tildev2,
    names.DEEPIMPACT: load_deepimpact,
    names.DEEPCT: load_deepct,
    names.TILDE: load_tilde,
    names.SPARTERM: load_sparterm,
}


def load_encoder(
    name: str | Path, *, device: str = "cpu", query_encoder: str | None = None, fold: bool = True
) -> DocumentEncoder:
    """Load the document encoder of a model.

    name: a shipped model, a folder, or a name on the Hugging Face hub. The files of the model
        decide which system it belongs to.
    query_encoder: the name of another model that encodes queries, or ``boolean``. By default, the
        files of the model decide how queries are encoded.
    fold: multiply document vectors by the weights of query terms, if the model has a table of
        such weights. Queries are then boolean. Except for rounding, scores are the same as with
        weighted queries.
    """
    if str(name) == UNTRAINED:
        return _spade(name, device, query_encoder)
    folder = resolve_model(name)
    system = recognise(folder)
    if system == names.SPADE:
        return _spade(name, device, query_encoder)
    source = Source(folder, Path(name).name, fold and query_encoder is None)
    encoder = LOADERS[system](source)
    if query_encoder is not None:
        encoder = replace(encoder, queries=_other_queries(encoder, query_encoder))
    if encoder.queries.side.kind != NEURAL:  # only neural queries contain special tokens
        wordpieces = encoder.wordpieces
        encoder.model.drop(wordpieces.special_ids | wordpieces.unused_ids)
    encoder = replace(encoder, model=move(encoder.model, device))
    _try_to_encode(encoder, folder)
    return encoder


def _try_to_encode(encoder: SystemEncoder, folder: Path) -> None:
    """Raise `InputError` if the model was built from its settings, but cannot encode a text."""
    try:
        for text in ("a", "a b"):
            encoder.weigh([encoder.cut_documents([text])[0].ids])
    except SpadeError:
        raise
    except Exception as error:  # transformers raises exceptions of many kinds
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        message = f"the model cannot encode texts with the settings in config.json ({reason})"
        raise InputError(f"{message}; copy or download the model again", folder) from None


def load_queries(name: str | Path) -> QueryEncoder:
    """Load the query encoder of a model by its folder or its name."""
    return load_encoder(name, fold=False).queries


def _spade(name: str | Path, device: str, query: str | None) -> SpadeEncoder:
    if query not in (None, BOOLEAN):
        message = f"the queries of SpaDE are boolean; the query encoder {query!r} cannot be used"
        raise UsageError(f"{message}; leave out query_encoder=NAME")
    return SpadeEncoder.from_pretrained(name, device=device)


def _other_queries(encoder: SystemEncoder, query: str) -> QueryEncoder:
    """Return the query encoder ``query``, to be used instead of the model's own query encoder."""
    if query == BOOLEAN:
        kind = WordQueries if encoder.model.terms_are_words else BooleanQueries
        return kind(encoder.wordpieces)
    if encoder.model.terms_are_words:
        message = f"the terms of {encoder.system} are words, but query encoders return WordPieces"
        raise UsageError(f"{message}; leave out query_encoder=NAME")
    queries = load_queries(query)
    check_vocabulary(queries, encoder.wordpieces, "the document encoder")
    return queries

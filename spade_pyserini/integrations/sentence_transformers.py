"""Use a SpaDE model as a `SparseEncoder` of sentence-transformers.

    from spade_pyserini.integrations.sentence_transformers import sparse_encoder

    model = sparse_encoder("spade-mini")
    documents = model.encode_document(["Recursively delete a directory tree."])
    model.similarity(model.encode_query("remove folders"), documents)
    model.save_pretrained("my-encoder")

Documents are encoded by the SpaDE model. Queries are encoded by a `SparseStaticEmbedding`: each
distinct WordPiece of the query has weight 1. Document vectors are not quantized; for an index,
their weights are multiplied by the model's scale and rounded.

After an import of this module, ``SparseEncoder("my-encoder")`` loads a saved encoder from a folder
or the hub, without ``trust_remote_code``; see `auto_model`.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sparse_encoder import SparseEncoder, SparseEncoderModelCardData
from sentence_transformers.sparse_encoder.modules import Router, SparseStaticEmbedding

from spade_pyserini.encode.counts_file import check_counts_file, fit_encoder
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.paths import location
from spade_pyserini.integrations.auto_model import OUTPUT, SpadeTokenizer
from spade_pyserini.models.card import card_licence, origin_folder
from spade_pyserini.models.encoder import SpadeEncoder
from spade_pyserini.models.hub import DEFAULT, UNTRAINED, resolve_model
from spade_pyserini.models.spade import SpadeModel
from spade_pyserini.models.systems.recognise import SPADE, recognise

# Queries are not truncated, but sentence-transformers needs a maximum length.
LONGEST_QUERY = 1_000_000
TAGS = ["sparse-encoder", "sparse", "spade", "learned-sparse", "inference-free"]


def sparse_encoder(
    model: str | Path | SpadeModel = DEFAULT, *, counts: str | Path | None = None
) -> SparseEncoder:
    """Return a `SparseEncoder` that encodes documents with a SpaDE model.

    model: the name or folder of a model, or a loaded model.
    counts: the document frequencies of a corpus, ``X.counts.json`` next to its vectors, for a model
        that uses them. Without this file, the model uses those of its training documents.
    """
    spade = model if isinstance(model, SpadeModel) else _load(model)
    encoder = SpadeEncoder(spade)
    if counts is not None:
        path = location(counts)
        check_counts_file(path, encoder)
        encoder = fit_encoder(encoder, path)
    router = Router.for_query_document([_queries(spade)], [_documents(encoder)])
    return SparseEncoder(
        modules=[router], similarity_fn_name="dot", model_card_data=_card_data(spade)
    )


def _load(name: str | Path) -> SpadeModel:
    if str(name) != UNTRAINED and recognise(folder := resolve_model(name)) != SPADE:
        message = f"{folder} is not a SpaDE model"
        raise UsageError(f"{message}; use SparseEncoder of sentence-transformers for it")
    return SpadeModel.from_pretrained(name)


def _queries(model: SpadeModel) -> SparseStaticEmbedding:
    """Return the query encoder: weight 1 for each distinct WordPiece, 0 for special tokens."""
    weights = torch.ones(len(model.kept), device=model.kept.device)
    weights[list(model.wordpieces.special_ids)] = 0
    tokenizer: Any = SpadeTokenizer.of(model.wordpieces, LONGEST_QUERY)
    return SparseStaticEmbedding(tokenizer, weights, frozen=True)


def _documents(encoder: SpadeEncoder) -> Transformer:
    """Return the document encoder, for inference.

    `Transformer` reads the model type and the tokenizer from files, which are therefore written
    to a temporary folder. The weights are those of ``encoder``.
    """
    with TemporaryDirectory() as folder:
        encoder.config.save(Path(folder))
        length = encoder.config.max_length
        SpadeTokenizer.of(encoder.wordpieces, length).save_pretrained(folder)
        documents: Transformer = Transformer(
            folder,
            model_kwargs={"encoder": encoder},
            modality_config={"text": {"method": "forward", "method_output_name": OUTPUT}},
            module_output_name=OUTPUT,
        )
    return documents


def _card_data(model: SpadeModel) -> SparseEncoderModelCardData:
    """Return the licence and the tags for the model card of a saved encoder."""
    folder = origin_folder(model.origin)
    licence = card_licence(folder) if folder else None
    name = licence.partition(" (")[0] if licence else None
    return SparseEncoderModelCardData(license=name, tags=["sentence-transformers", *TAGS])

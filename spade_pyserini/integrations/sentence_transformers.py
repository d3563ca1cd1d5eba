"""SpaDE as a `SparseEncoder` of sentence-transformers.

    from spade_pyserini.integrations.sentence_transformers import sparse_encoder

    model = sparse_encoder("spade-mini")
    documents = model.encode_document(["Recursively delete a directory tree."])
    model.similarity(model.encode_query("remove folders"), documents)

Documents are encoded by our model, queries by a `SparseStaticEmbedding`: the distinct WordPieces of
the query, each with weight 1. Vectors are weights before quantization; an index multiplies them by
the model's scale and rounds them.

Such an encoder cannot be saved: sentence-transformers would load it only with permission to run
code that comes with models. Save the SpaDE model, and call `sparse_encoder` with its folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from sentence_transformers.base.modules import InputModule
from sentence_transformers.sparse_encoder import SparseEncoder
from sentence_transformers.sparse_encoder.modules import Router, SparseStaticEmbedding
from tokenizers import Tokenizer
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from spade_pyserini.encode.counts_file import check_counts_file, fit_encoder
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.paths import location
from spade_pyserini.models.encoder import SpadeEncoder
from spade_pyserini.models.hub import DEFAULT, UNTRAINED, resolve_model
from spade_pyserini.models.spade import SpadeModel
from spade_pyserini.models.systems.recognise import SPADE, recognise
from spade_pyserini.models.tensors import pad_batch
from spade_pyserini.models.wordpieces import WordPieces

# Our queries are not cut; sentence-transformers needs a number.
LONGEST_QUERY = 1_000_000
NAMES = {f"{name.lower()}_token": f"[{name}]" for name in ("PAD", "UNK", "CLS", "SEP", "MASK")}


def sparse_encoder(
    model: str | Path | SpadeModel = DEFAULT, *, counts: str | Path | None = None
) -> SparseEncoder:
    """Return a `SparseEncoder` with the vectors of a SpaDE model.

    model: the name or folder of a model, or a loaded one.
    counts: the term counts of a corpus, ``X.counts.json`` next to its vectors, for a model that
        uses document frequencies. Without them, those of the training documents are used.
    """
    spade = model if isinstance(model, SpadeModel) else _load(model)
    documents = SpadeDocuments(spade)
    if counts is not None:
        path = location(counts)
        check_counts_file(path, documents.encoder)
        documents.encoder = fit_encoder(documents.encoder, path)
    router = Router.for_query_document([_queries(spade)], [documents])
    return SparseEncoder(modules=[router], similarity_fn_name="dot")


def _load(name: str | Path) -> SpadeModel:
    if str(name) != UNTRAINED and recognise(folder := resolve_model(name)) != SPADE:
        message = f"{folder} is not a SpaDE model"
        raise UsageError(f"{message}; use SparseEncoder of sentence-transformers for it")
    return SpadeModel.from_pretrained(name)


def _queries(model: SpadeModel) -> SparseStaticEmbedding:
    """Queries: the weight 1 for each distinct WordPiece, 0 for special tokens."""
    weights = torch.ones(len(model.kept), device=model.kept.device)
    weights[list(model.wordpieces.special_ids)] = 0
    tokenizer: Any = _tokenizer(model.wordpieces)
    return SparseStaticEmbedding(tokenizer, weights, frozen=True)


def _tokenizer(wordpieces: WordPieces) -> PreTrainedTokenizerFast:
    names = {key: token for key, token in NAMES.items() if token in wordpieces.special_tokens}
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=Tokenizer.from_str(wordpieces.definition),
        model_max_length=LONGEST_QUERY,
        **names,
    )


class SpadeDocuments(InputModule):
    """The document side: texts to the vectors of a SpaDE model, for inference."""

    save_in_root = False

    def __init__(self, model: SpadeModel) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.model = model
        self.encoder = SpadeEncoder(model)
        self.tokenizer = _tokenizer(model.wordpieces)
        self.max_seq_length = model.config.max_length

    def preprocess(self, inputs: Any, prompt: str | None = None, **_: Any) -> dict[str, Tensor]:
        """Return the WordPiece ids of texts, cut to the model's length, and their mask."""
        texts = [f"{prompt or ''}{text}" for text in inputs]
        ids = [document.ids for document in self.encoder.cut_documents(texts)]
        input_ids, mask = pad_batch(ids, torch.device("cpu"))
        return {"input_ids": input_ids, "attention_mask": mask}

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Add the vectors, [batch, |V|]."""
        rows = zip(features["input_ids"], features["attention_mask"], strict=True)
        batch = [ids[mask.bool()].tolist() for ids, mask in rows]
        # The weights may have been moved to another device since the last call.
        encoder = self.encoder.for_corpus(self.encoder.counts, self.encoder.removed)
        return {**features, "sentence_embedding": encoder.weigh(batch)}

    def get_embedding_dimension(self) -> int:
        """Return the size of the vocabulary."""
        return len(self.model.kept)

    def save(self, output_path: str, *_: Any, **__: Any) -> None:
        """Raise `UsageError`: sentence-transformers could not load what was saved."""
        message = "an encoder of sparse_encoder() cannot be saved"
        raise UsageError(f"{message}; save its SpadeModel with save_pretrained({output_path!r})")

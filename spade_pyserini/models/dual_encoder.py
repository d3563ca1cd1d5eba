"""SpaDE: the two encoders side by side, their sum, and the folder a model is kept in."""

from __future__ import annotations

import hashlib
import math
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_model, save_file, save_model
from torch import Tensor, nn
from transformers import PreTrainedModel

from spade_pyserini.errors import ArtifactError, InputError, UsageError
from spade_pyserini.formats.files import chosen
from spade_pyserini.models.adapters import (
    is_frozen,
    merged,
    weights_fingerprint,
    with_adapters,
)
from spade_pyserini.models.backbone import Backbone, empty_backbone, load_backbone
from spade_pyserini.models.config import SpadeConfig
from spade_pyserini.models.expansion import TermExpansionEncoder
from spade_pyserini.models.hub import UNTRAINED, WEIGHTS, resolve_model
from spade_pyserini.models.inflections import with_forms
from spade_pyserini.models.shared_layers import Halves, split
from spade_pyserini.models.precision import autocast, check_precision
from spade_pyserini.models.quantize import calibrate, quantize
from spade_pyserini.models.tensors import SparseVector, mix, pad_batch, sparse
from spade_pyserini.models.term_counts import TermCounts, corpus_weights, empty_counts
from spade_pyserini.models.explanation import Expansion, TermWeight, term_weights
from spade_pyserini.models.weighting import TermWeightingEncoder
from spade_pyserini.models.wordpieces import WordPieces


class SpadeModel(nn.Module):
    """The dual document encoder.

        model = SpadeModel.from_pretrained("spade-mini")
        model.encode(["Recursively delete a directory tree."])   # [{"delete": 87, ...}]

    ``kept`` is the corpus-level pruning mask over the vocabulary: a term that is False there
    never appears in a document vector. Special tokens, and those that no text has, are never kept.

    ``query_weights`` is what a term of a query counts, 1 unless trained otherwise. A query's weight
    is the same for all documents, so it is multiplied into their vectors once, when they are
    encoded, and queries stay boolean.

    ``corpus_weights`` says the same of the corpus, which no encoder can see from one document: how
    rare the term is there. `read_corpus` sets it; until then it is as rare as it was in training.

    ``forms`` says which terms are forms of one word, see `with_forms`.
    """

    kept: Tensor
    document_frequency: Tensor | None
    corpus_weights: Tensor
    forms: Tensor | None

    def __init__(
        self,
        config: SpadeConfig,
        weighting: TermWeightingEncoder,
        expansion: TermExpansionEncoder,
        wordpieces: WordPieces,
    ) -> None:
        super().__init__()
        self.config = config
        self.precision = "fp32"
        self.weighting = weighting
        self.expansion = expansion
        self.wordpieces = wordpieces
        size = expansion.backbone.config.vocab_size
        kept = torch.ones(size, dtype=torch.bool)
        kept[wordpieces.vocabulary_size :] = False  # rows that only round the matrix up
        kept[sorted(wordpieces.special_ids | wordpieces.unused_ids)] = False
        self.register_buffer("kept", kept)
        self.query_weights = nn.Parameter(torch.ones(size), requires_grad=False)
        self.register_buffer("corpus_weights", torch.ones(size), persistent=False)
        usual = torch.zeros(size) if config.corpus_idf else None
        self.register_buffer("document_frequency", usual)  # the share of training documents
        forms = torch.zeros(size, dtype=torch.int32) if config.forms else None
        self.register_buffer("forms", forms)
        self._halves: tuple[Halves, Halves] | None = None  # where both have layers in common

    # Making, loading and saving

    @classmethod
    def from_backbone(
        cls, name: str | Path, config: SpadeConfig | None = None, seed: int = 0
    ) -> SpadeModel:
        """A model with fresh heads: the start of training."""
        backbone = load_backbone(name)
        settings = config or SpadeConfig(shared_backbone=True)
        settings = replace(settings, backbone=backbone.transformer.config.to_diff_dict())
        if settings.adapter_rank:
            known = weights_fingerprint(backbone.transformer)
            settings = replace(settings, base=str(name), base_fingerprint=known)
        with torch.random.fork_rng(devices=[]):
            model = cls._build(settings, backbone)
            torch.manual_seed(seed)  # after adapters, so that they change no head
            model.weighting.initialise()
            model.expansion.initialise()
            if backbone.head is not None:
                model.expansion.head.load_state_dict(backbone.head, strict=False)
        return model.eval()

    @classmethod
    def _build(cls, config: SpadeConfig, backbone: Backbone) -> SpadeModel:
        """Both encoders on this backbone: on itself, on copies, or on adapters of their own."""
        first = second = backbone.transformer
        if not config.shared_backbone:
            second = empty_backbone(config.backbone or {})
            frozen = config.adapter_rank > 0  # then both can hold the very same weights
            second.load_state_dict(first.state_dict(), assign=frozen)
        if config.adapter_rank:
            rank, layers = config.adapter_rank, config.adapter_layers
            first, second = (with_adapters(one, rank, layers) for one in (first, second))
        weighting = TermWeightingEncoder(first, config.pooling)
        expansion = TermExpansionEncoder(second, config.k, config.decoder_rank)
        return cls(config, weighting, expansion, backbone.wordpieces)

    @classmethod
    def from_pretrained(cls, name: str | Path, *, merge: bool = True) -> SpadeModel:
        """Load a model by its folder, its Hugging Face name, or a name of ours.

        Adapters are merged into the weights unless they are to be trained further.
        """
        if name == UNTRAINED:
            return cls.from_backbone("minilm")
        folder = resolve_model(name)
        config = SpadeConfig.load(folder)
        wordpieces = WordPieces.load(folder)
        try:
            if config.adapter_rank:
                transformer = _base(config, folder)
            else:
                transformer = empty_backbone(config.backbone or {})
            model = cls._build(config, Backbone(transformer, wordpieces))
            model.check_length()
        except (UsageError, KeyError, ValueError, TypeError, RuntimeError) as error:
            message = f"not the configuration of a model that can be built ({error})"
            raise InputError(message, folder / "config.json") from None
        path = folder / WEIGHTS
        try:
            missing, unexpected = load_model(model, path, strict=not config.adapter_rank)
        except (SafetensorError, RuntimeError, OSError) as error:
            reason = str(error).strip().splitlines()[0]
            raise ArtifactError(f"{path}: not the weights of this model ({reason})") from None
        if unexpected or not all(is_frozen(tensor_name) for tensor_name in missing):
            raise ArtifactError(f"{path}: not the weights of this model")
        for tensor_name, tensor in model.state_dict().items():
            if not torch.isfinite(tensor).all():
                raise ArtifactError(f"{path}: {tensor_name} holds NaN or infinite weights")
        if config.adapter_rank and merge:
            model.merge_adapters()
        model.read_corpus(None)
        return model.eval()

    def merge_adapters(self) -> None:
        """From two sets of adapters on one backbone to two transformers of the usual kind."""
        for encoder in (self.weighting, self.expansion):
            encoder.backbone = merged(encoder.backbone)
        if layers := self.config.adapter_layers:  # the others are the same in both
            halves = (split(one.backbone, layers) for one in (self.weighting, self.expansion))
            own, added = halves
            self._halves = (own, added) if own and added else None
        self.config = replace(
            self.config, adapter_rank=0, adapter_layers=0, base=None, base_fingerprint=None
        )

    def save_pretrained(self, folder: str | Path, *, half: bool = False) -> None:
        """Write ``config.json``, ``model.safetensors`` and ``tokenizer.json``.

        Of a model with adapters, what is frozen is not written: ``base`` has it. ``half`` rounds
        its weights to 16 bits, for a file of half the size.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f".{WEIGHTS}.tmp"
        if self.config.adapter_rank:
            kept = {name: x for name, x in self.state_dict().items() if not is_frozen(name)}
            if half:
                kept = {name: x.half() if x.is_floating_point() else x for name, x in kept.items()}
            save_file(kept, unfinished)
        else:
            save_model(self, str(unfinished))
        unfinished.replace(folder / WEIGHTS)
        self.wordpieces.save(folder / "tokenizer.json")
        self.config.save(folder)

    @property
    def fingerprint(self) -> str:
        """The same for two models exactly when they have the same settings and weights."""
        digest = hashlib.sha256(repr(chosen(self.config)).encode())
        digest.update(self.wordpieces.fingerprint.encode())
        digest.update(weights_fingerprint(self).encode())
        return digest.hexdigest()

    def reconfigure(self, **changes: Any) -> None:
        """Change settings that need no other weights: alpha, k, max_length, pooling, scale."""
        self.config = replace(self.config, **changes)
        self.expansion.k = self.config.k
        self.weighting.pooling = self.config.pooling
        self.check_length()

    def use_corpus_idf(self, power: float, seen: TermCounts) -> None:
        """From now on, the corpus says how rare a term is, or with a power of 0, it does not.

        ``seen`` are the training documents.
        """
        self.reconfigure(corpus_idf=power)
        usual = (seen.df / max(1, seen.documents)).to(self.kept.device)
        self.document_frequency = usual if power else None
        self.read_corpus(None)

    def read_corpus(self, counts: TermCounts | None) -> None:
        """Fit the weights to the corpus that was counted; without one, to the training text."""
        self.corpus_weights = self.weights_for(counts)

    def weights_for(self, counts: TermCounts | None) -> Tensor:
        """What a term is worth in a corpus, [|V|], beside what it is worth in a query."""
        if self.document_frequency is None:
            return torch.ones_like(self.query_weights)
        counts = counts or empty_counts(len(self.kept))
        return corpus_weights(counts, self.document_frequency, self.config.corpus_idf)

    def use_forms(self, share: float, forms: Tensor | None) -> None:
        """From now on, documents have the other forms of their words, or with a share of 0 not."""
        if share and forms is None:
            raise UsageError("a share of forms needs to know which terms are forms of one word")
        self.reconfigure(forms=share)
        self.forms = forms.to(self.kept.device) if share and forms is not None else None

    def use_precision(self, precision: str) -> None:
        """Encode in ``fp32``, ``bf16`` or ``fp16``, whatever pays on the device that it is on."""
        check_precision(precision, self.kept.device)
        self.precision = precision

    def check_length(self) -> None:
        """Raise `UsageError` where ``max_length`` is more than the backbone can read."""
        positions = (self.config.backbone or {}).get("max_position_embeddings", math.inf)
        if self.config.max_length > positions:
            message = f"max_length is {self.config.max_length}, the backbone reads {positions}"
            raise UsageError(f"{message} WordPieces at most")

    # Encoding

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """The two vectors of each document, weighting and expansion, [batch, |V|] each."""
        own, added = self._states(input_ids, attention_mask)
        weighting = self.weighting_vectors(input_ids, attention_mask, own)
        return weighting, self.expansion_vectors(input_ids, attention_mask, added)

    def _states(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Both transformers' last hidden states; what they have in common is computed once."""
        if self._halves is not None and not self.training:
            (first, own), (_, added) = self._halves
            between = _hidden(first, input_ids, attention_mask)
            options = {"inputs_embeds": between, "attention_mask": attention_mask}
            return own(**options)[0], added(**options)[0]
        hidden = _hidden(self.weighting.backbone, input_ids, attention_mask)
        if self.config.shared_backbone:
            return hidden, hidden
        return hidden, _hidden(self.expansion.backbone, input_ids, attention_mask)

    def weighting_vectors(
        self, input_ids: Tensor, attention_mask: Tensor, hidden: Tensor | None = None
    ) -> Tensor:
        """The weighting encoder's vectors alone, [batch, |V|]."""
        if hidden is None:
            hidden = _hidden(self.weighting.backbone, input_ids, attention_mask)
        is_term = attention_mask.bool() & self.kept[input_ids]
        vectors: Tensor = self.weighting(hidden, input_ids, is_term)
        if self.forms is not None:
            vectors = with_forms(vectors, self.forms, self.config.forms) * self.kept
        return vectors

    def expansion_vectors(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        hidden: Tensor | None = None,
        top_k: bool = True,
    ) -> Tensor:
        """The expansion encoder's vectors alone, [batch, |V|]; warm-up keeps more than k terms."""
        if hidden is None:
            hidden = _hidden(self.expansion.backbone, input_ids, attention_mask)
        vectors: Tensor = self.expansion(hidden, attention_mask.bool(), self.kept, top_k)
        return vectors

    def fixed(self) -> AbstractContextManager[None]:
        """For many batches with a model that nobody changes: what they share is computed once."""
        return self.expansion.fixed(self.kept)

    def aggregate(self, weighting: Tensor, expansion: Tensor) -> Tensor:
        """Eq. 10: the weighted sum of both vectors, saturated where the model is."""
        return mix(weighting, expansion, self.config.alpha, self.config.saturate)

    @torch.inference_mode()
    def components(self, batch: list[list[int]]) -> tuple[Tensor, Tensor]:
        """Both vectors of documents given as WordPiece ids, times the weights of terms.

        A document without a single known WordPiece is empty: what the expansion encoder makes of
        [CLS] and [SEP] alone says nothing about it.
        """
        with autocast(self.precision, self.kept.device):
            weighting, expansion = self(*pad_batch(batch, self.kept.device))
        return self._finished(weighting, batch), self._finished(expansion, batch)

    def _finished(self, vectors: Tensor, batch: list[list[int]]) -> Tensor:
        """An encoder's vectors, changed in place: times the weights of terms, and checked."""
        vectors = vectors.float().mul_(self.query_weights * self.corpus_weights)
        if not torch.isfinite(vectors).all():
            raise ArtifactError("the model gave NaN or infinite weights; it cannot be used")
        special = self.wordpieces.special_ids
        vectors[[place for place, ids in enumerate(batch) if special.issuperset(ids)]] = 0
        return vectors

    @torch.inference_mode()
    def weigh(self, batch: list[list[int]]) -> Tensor:
        """Float vectors [batch, |V|] of documents given as WordPiece ids.

        With an alpha of 0 or 1 only one of the encoders has anything to say: the other rests.
        """
        only = {0.0: self.weighting_vectors, 1.0: self.expansion_vectors}.get(self.config.alpha)
        if only is None:
            return self.aggregate(*self.components(batch))
        with autocast(self.precision, self.kept.device):
            vectors = only(*pad_batch(batch, self.kept.device))
        finished = self._finished(vectors, batch)
        return finished.log1p_() if self.config.saturate else finished

    def impacts(self, weights: Tensor, scale: float) -> list[dict[str, int]]:
        """Quantize float vectors; terms in the order of the vocabulary, zeros left out."""
        return self.by_term(quantize(weights, scale, self.config.bits))

    def by_term(self, vectors: Tensor) -> list[dict[str, Any]]:
        """Vectors [batch, |V|] by WordPiece, in the order of the vocabulary, zeros left out."""
        return [self.named(vector) for vector in sparse(vectors)]

    def named(self, vector: SparseVector) -> dict[str, Any]:
        """By WordPiece instead of its number."""
        terms = self.wordpieces.terms
        numbers, values = vector.terms.tolist(), vector.values.tolist()
        return {terms[number]: value for number, value in zip(numbers, values, strict=True)}

    def encode(self, texts: list[str], batch_size: int = 32) -> list[dict[str, int]]:
        """Impact vectors of texts. An uncalibrated model takes its scale from these texts."""
        ids = self.wordpieces.document_ids(texts, self.config.max_length)
        parts = [self.weigh(ids[i : i + batch_size]) for i in range(0, len(ids), batch_size)]
        scale = self.config.scale
        if scale is None and parts:
            scale = calibrate(max(part.max().item() for part in parts), self.config.bits)
        return [vector for part in parts for vector in self.impacts(part, scale or 1.0)]

    def explain(self, text: str) -> list[TermWeight]:
        """The terms of a text's vector, largest impact first, and what each encoder gave to them.

        An uncalibrated model takes its scale from this text.
        """
        return term_weights(self, text)

    def expand(self, text: str) -> Expansion:
        """Which terms were added to a text and which were raised, as in the paper's Table 7.

        print(model.expand("Recursively delete a directory tree."))
        """
        return Expansion.of(self.explain(text))


def _base(config: SpadeConfig, folder: Path) -> PreTrainedModel:
    """The frozen backbone that a model's adapters were trained on."""
    transformer = load_backbone(config.base or "").transformer
    if weights_fingerprint(transformer) != config.base_fingerprint:
        message = f"its adapters were trained on another {config.base!r} than the one here"
        raise ArtifactError(f"{folder}: {message}; the weights differ")
    return transformer


def _hidden(backbone: nn.Module, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
    """Eq. 2 and 3: the transformer's last layer, [batch, length, m]."""
    hidden: Tensor = backbone(input_ids=input_ids, attention_mask=attention_mask)[0]
    return hidden

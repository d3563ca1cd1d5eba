"""The dual document encoder of SpaDE: two vectors per document and their sum (Eq. 2-10).

The equations of the paper, in order:

    Eq. 1        relevance of a document     `train.losses.scores`
    Eq. 2, 3     embeddings, hidden states   `DualEncoder.forward`, here
    Eq. 4-6      term weighting              `weighting.TermWeightingEncoder`
    Eq. 7-9      term expansion              `expansion.TermExpansionEncoder`
    Eq. 10       aggregation                 `aggregation.mix`
    Eq. 11, 12   losses                      `train.losses`
"""

from __future__ import annotations

import copy
import hashlib
from dataclasses import replace
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from spade_pyserini.formats.digests import non_default_fields
from spade_pyserini.models.aggregation import mix
from spade_pyserini.models.config import SpadeConfig
from spade_pyserini.models.expansion import TermExpansionEncoder
from spade_pyserini.models.fingerprint import weights_fingerprint
from spade_pyserini.models.inflections import add_forms, is_whole_word
from spade_pyserini.models.pruning import drop_small_weights
from spade_pyserini.models.shared_layers import SharedLayers
from spade_pyserini.models.weighting import TermWeightingEncoder
from spade_pyserini.models.wordpieces import WordPieces


class Adapters(NamedTuple):
    """The settings and tensors of merged adapters, kept so that the adapters can be saved again.

    settings: the fields of `SpadeConfig` about adapters. tensors: the tensors of the adapters by
    their names in the model before merging.
    """

    settings: dict[str, Any]
    tensors: dict[str, Tensor]


class DualEncoder(nn.Module):
    """The term weighting encoder and the term expansion encoder, as one module.

    These tensors are saved with the weights, under the same names:

    kept [|V|]: True for the terms that document vectors may contain. False for special tokens, for
        unused vocabulary entries and for the terms that corpus-level pruning removed.
    query_weights [|V|]: the weight of each term in a query, 1 unless trained. Queries stay boolean
        at search time, because `SpadeEncoder` multiplies document vectors by these weights.
    document_frequency [|V|], or None without ``config.corpus_idf``: the fraction of the training
        documents that contain the term, see `extensions.corpus_weights`.
    forms [|V|], or None without ``config.forms``: a number for each term. Terms with the same
        number above 0 are inflected forms of one word, see `inflections`.

    ``continues`` [|V|] is not saved. It is True for WordPieces inside words, such as "##ing".

    `merge_adapters` sets ``shared_layers`` if both transformers have the same first layers, and
    ``adapters`` to the adapters that it has merged. ``origin`` is the name or folder that
    the model was loaded from.
    """

    kept: Tensor
    continues: Tensor
    document_frequency: Tensor | None
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
        self.weighting = weighting
        self.expansion = expansion
        self.wordpieces = wordpieces
        self.shared_layers: SharedLayers | None = None
        self.adapters: Adapters | None = None
        self.origin: str | None = None
        size = expansion.backbone.config.vocab_size
        kept = torch.ones(size, dtype=torch.bool)
        kept[wordpieces.vocabulary_size :] = False  # rows that only pad the embedding matrix
        kept[sorted(wordpieces.special_ids | wordpieces.unused_ids)] = False
        self.register_buffer("kept", kept)
        continues = torch.zeros(size, dtype=torch.bool)
        continues[sorted(term for term in wordpieces.continuation_ids if term < size)] = True
        self.register_buffer("continues", continues, persistent=False)
        self.query_weights = nn.Parameter(torch.ones(size), requires_grad=False)
        frequency = torch.zeros(size) if config.corpus_idf else None
        self.register_buffer("document_frequency", frequency)
        forms = torch.zeros(size, dtype=torch.int32) if config.forms else None
        self.register_buffer("forms", forms)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Encode documents.

        ``input_ids`` and ``attention_mask`` are [batch, length]. Returns the weighting vectors and
        the expansion vectors, [batch, |V|] each.
        """
        # Eq. 2: embeddings of tokens and positions. Eq. 3: hidden states of both transformers.
        hidden_w, hidden_e = self._hidden_states(input_ids, attention_mask)
        weighting = self.weighting_vectors(input_ids, attention_mask, hidden_w)  # Eq. 4-6
        expansion = self.expansion_vectors(input_ids, attention_mask, hidden_e)  # Eq. 7-9
        return weighting, expansion

    def weighting_vectors(
        self, input_ids: Tensor, attention_mask: Tensor, hidden: Tensor | None = None
    ) -> Tensor:
        """Compute the vectors of the weighting encoder alone (Eq. 4-6), [batch, |V|].

        hidden [batch, length, m]: the hidden states of the encoder's transformer. If None, they are
        computed.
        """
        if hidden is None:
            hidden = _last_hidden_state(self.weighting.backbone, input_ids, attention_mask)
        is_term = attention_mask.bool() & self.kept[input_ids]
        scores, pooling = self.weighting.scores(hidden), self.config.pooling
        vectors = self.weighting.pool(scores, input_ids, is_term, pooling)
        if self.forms is None:
            return vectors
        sources = None
        if self.config.whole_word_forms:
            whole = is_term & is_whole_word(input_ids, self.continues)
            sources = self.weighting.pool(scores, input_ids, whole, pooling)
        return add_forms(vectors, self.forms, self.config.forms, sources) * self.kept

    def expansion_vectors(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        hidden: Tensor | None = None,
        top_k: bool = True,
    ) -> Tensor:
        """Compute the vectors of the expansion encoder alone (Eq. 7-9), [batch, |V|].

        hidden [batch, length, m]: the hidden states of the encoder's transformer. If None, they are
        computed. Without ``top_k``, each token keeps all terms (Eq. 8 is left out), as the warm-up
        stage of training does.
        """
        if hidden is None:
            hidden = _last_hidden_state(self.expansion.backbone, input_ids, attention_mask)
        k = (self.config.k or None) if top_k else None
        vectors: Tensor = self.expansion(hidden, attention_mask.bool(), self.kept, k)
        return vectors

    def aggregate(self, weighting: Tensor, expansion: Tensor) -> Tensor:
        """Combine both vectors of each document with ``config.alpha`` (Eq. 10), [batch, |V|].

        Beyond the paper, ``config.prune_ratio`` then drops small weights.
        """
        mixed = mix(weighting, expansion, self.config.alpha, self.config.saturate)
        return drop_small_weights(mixed, self.config.prune_ratio)

    def with_settings(self, **changes: Any) -> Self:
        """Return a model with other settings. Both models use the same weights and buffers.

        ``changes`` may contain the settings that need no change of the weights: ``alpha``, ``k``,
        ``max_length``, ``pooling``, ``bits``, ``scale``, ``saturate``, ``whole_word_forms``,
        ``prune_ratio``, ``corpus_gamma``, ``corpus_few`` and ``trained``.
        """
        config = replace(self.config, **changes)
        config.check_length()
        other = copy.copy(self)
        other.config = config
        return other

    @property
    def fingerprint(self) -> str:
        """A digest of settings, tokenizer and weights: equal only if all of them are equal."""
        digest = hashlib.sha256(repr(non_default_fields(self.config)).encode())
        digest.update(self.wordpieces.fingerprint.encode())
        digest.update(weights_fingerprint(self).encode())
        return digest.hexdigest()

    def _hidden_states(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the hidden states of both transformers (Eq. 2, 3), [batch, length, m] each.

        Layers that are the same in both transformers are computed once.
        """
        if self.shared_layers is not None and not self.training:
            return self.shared_layers.hidden_states(input_ids, attention_mask)
        hidden = _last_hidden_state(self.weighting.backbone, input_ids, attention_mask)
        if self.config.shared_backbone:
            return hidden, hidden
        return hidden, _last_hidden_state(self.expansion.backbone, input_ids, attention_mask)


def _last_hidden_state(backbone: nn.Module, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
    """Return the output of the last layer, [batch, length, m]."""
    hidden: Tensor = backbone(input_ids=input_ids, attention_mask=attention_mask)[0]
    return hidden

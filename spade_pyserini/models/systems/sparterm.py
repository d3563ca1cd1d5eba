"""SparTerm: the importance of each term, multiplied by a gate that is open (1) or closed (0).

    w_j = c * g_j * sum_i ReLU(logit_ij)
    g_j = 1 if j is a term of the text or max_i gate_ij > 0, otherwise 0

for the term j of the vocabulary and the tokens i. The constant c, which is not in the paper, keeps
scores small: without it, a sum over all tokens gives scores in the thousands. The values logit_ij
and gate_ij come from two masked-LM models: the importance predictor and the gating controller.
Queries are encoded in the same way by the same model. The paper does not say how gate_ij is pooled
over the tokens; here it is the maximum, so a gate opens if sigmoid(gate_ij) is above 0.5 for at
least one token.

No checkpoint was published. In the layout here, config.json describes a masked-LM model, with the
architecture SparTerm and with c as ``importance_scale``. The weights are the tensors of two
masked-LM models, with the prefixes ``importance.`` and ``gate.``.

- Bai et al.: SparTerm, learning term-based sparse representation for fast text retrieval, 2020,
  https://arxiv.org/abs/2010.00768
"""

from __future__ import annotations

from typing import Any, Self

import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForMaskedLM, PreTrainedModel

from spade_pyserini.errors import InputError
from spade_pyserini.formats.numbers import is_finite
from spade_pyserini.models.backbone import Backbone
from spade_pyserini.models.logits import BLOCK, max_logits
from spade_pyserini.models.systems.checkpoint import CONFIG, Checkpoint
from spade_pyserini.models.systems.encoder import SystemConfig, SystemEncoder
from spade_pyserini.models.systems.masked_lm_system import MaskedLMSystem, build_masked_lm
from spade_pyserini.models.systems.neural_queries import NeuralQueries
from spade_pyserini.models.systems.source import Source
from spade_pyserini.models.systems.system import Part, Published
from spade_pyserini.models.systems.transformer import (
    EMBEDDINGS,
    check_finite,
    load_wordpieces,
    max_length,
    refuse_missing,
)
from spade_pyserini.models.tensor_files import read_tensors
from spade_pyserini.models.wordpieces import WordPieces

SCALE = 256 / 5  # factor of query weights before rounding, as for SPLADE
QUERY_LENGTH = 256  # maximum number of tokens that are read from a query
IMPORTANCE, GATE = "importance.", "gate."
FACTOR = "importance_scale"  # the name of c in config.json
LARGEST = 3.0  # the largest weight in a text's vector before training, as in SPLADE


class SparTerm(MaskedLMSystem):
    """The importance predictor; its attribute ``gate`` is the gating controller.

    factor: c of the equation, a buffer of one number. It is not trained.
    """

    name = "sparterm"
    architecture = "SparTerm"

    def __init__(
        self, importance: PreTrainedModel, gate: PreTrainedModel, wordpieces: WordPieces
    ) -> None:
        super().__init__(importance, wordpieces)
        self.gate = MaskedLMSystem(gate, wordpieces)
        self.factor: Tensor
        self.register_buffer("factor", torch.ones(1))

    @classmethod
    def from_backbone(cls, backbone: Backbone) -> Self:
        """Build an untrained system: both parts start with the same weights."""
        both = build_masked_lm(backbone), build_masked_lm(backbone)
        return cls(*both, backbone.wordpieces)

    @property
    def transformers(self) -> list[Part]:
        return [*super().transformers, *self.gate.transformers]

    def published(self) -> Published:
        config, importance = super().published()
        tensors = {IMPORTANCE + name: tensor for name, tensor in importance.items()}
        gate = self.gate.published()
        tensors |= {GATE + name: tensor for name, tensor in gate.tensors.items()}
        return Published({**config, FACTOR: self.factor.item()}, tensors)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Encode texts, [batch, length] to [batch, |V|]."""
        opened = self.gate_logits(input_ids, attention_mask) > 0
        return self.gated(input_ids, attention_mask, opened)

    def gated(self, input_ids: Tensor, attention_mask: Tensor, opened: Tensor) -> Tensor:
        """Return the importance of the terms that have an open gate or are in the text, else 0.

        opened [batch, |V|]: True for an open gate. Returns [batch, |V|].
        """
        opened = opened.scatter(1, input_ids, True)  # padding is a special token, which is left out
        return self.importance(input_ids, attention_mask) * opened * self.kept

    def activations(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return `gate_logits`. The gates of the text's own terms are open whatever their value."""
        return self.gate_logits(input_ids, attention_mask)

    def lower(self, amount: float) -> None:
        """Lower the bias of all gates by ``amount``, in place, so that fewer gates open."""
        self.gate.bias.data -= amount

    @torch.no_grad()
    def normalise(self, input_ids: Tensor, attention_mask: Tensor) -> None:
        """Set ``factor`` such that the largest weight of a text is about `LARGEST`."""
        largest = self(input_ids, attention_mask).amax(dim=1).mean()
        self.factor *= LARGEST / largest.clamp(min=1e-6)

    def gate_logits(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the largest logit of each gate over the tokens, [batch, |V|]."""
        hidden = self.gate.hidden(input_ids, attention_mask)
        return max_logits(hidden, *self.gate.output_layer(hidden.dtype), attention_mask.bool())

    def importance(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return c times the sum of each term's positive logits over the tokens, [batch, |V|]."""
        hidden = self.hidden(input_ids, attention_mask)
        decoder, bias = self.output_layer(hidden.dtype)
        parts = []
        for start in range(0, len(bias), BLOCK):
            block = slice(start, start + BLOCK)
            logits = hidden @ decoder[block].T + bias[block]
            parts.append((logits.relu() * attention_mask[:, :, None]).sum(dim=1))
        return torch.cat(parts, dim=1) * self.factor.to(hidden.dtype)


def load_sparterm(source: Source) -> SystemEncoder:
    """Load a SparTerm model, which encodes documents and queries."""
    checkpoint = Checkpoint(source.folder)
    tensors = {name: x for path in checkpoint.files for name, x in read_tensors(path).items()}
    both = [_masked_lm(checkpoint, tensors, prefix) for prefix in (IMPORTANCE, GATE)]
    wordpieces = load_wordpieces(source.folder, both[0].config.vocab_size)
    system = SparTerm(both[0], both[1], wordpieces)
    system.factor.fill_(_factor(checkpoint))
    system.drop(system.left_out)
    longest = max_length(source.folder, both[0].config)
    queries = NeuralQueries(system, source.name, min(QUERY_LENGTH, longest), SCALE)
    return SystemEncoder(system, SystemConfig(longest), queries, longest)


def _factor(checkpoint: Checkpoint) -> float:
    """Return the constant c of a checkpoint."""
    value = checkpoint.config.get(FACTOR, 1.0)
    if not is_finite(value) or value <= 0:
        message = f"{FACTOR} must be a positive number, not {value!r}"
        raise InputError(f"{message}; copy or download the model again", checkpoint.folder / CONFIG)
    return float(value)


def _masked_lm(checkpoint: Checkpoint, tensors: dict[str, Tensor], prefix: str) -> PreTrainedModel:
    """Build the masked-LM model whose tensors start with ``prefix``."""
    folder, values = checkpoint.folder, dict(checkpoint.config)
    _check_sizes(checkpoint, prefix)
    try:
        config = AutoConfig.for_model(str(values.pop("model_type", "")), **values)
        model: Any = AutoModelForMaskedLM.from_config(config)  # type: ignore[no-untyped-call]
        own = {x.removeprefix(prefix): y for x, y in tensors.items() if x.startswith(prefix)}
        missing, _ = model.load_state_dict(own, strict=False)
    except Exception as error:  # transformers raises exceptions of many kinds
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        message = f"no masked-LM model can be built from this configuration ({reason})"
        raise InputError(f"{message}; copy or download the model again", folder / CONFIG) from None
    tied = {"cls.predictions.decoder.weight"} if config.tie_word_embeddings else set()
    refuse_missing(folder, {prefix + name for name in set(missing) - tied})
    check_finite(model, folder)
    model.eval()
    masked_lm: PreTrainedModel = model
    return masked_lm


def _check_sizes(checkpoint: Checkpoint, prefix: str) -> None:
    """Raise `InputError` unless the weights have the sizes that config.json states.

    Without this check, a configuration of a few bytes could demand any amount of memory.
    """
    settings, shapes = checkpoint.config, checkpoint.shapes
    sizes = [settings.get(name) for name in ("vocab_size", "hidden_size", "num_hidden_layers")]
    layers = sizes[2] if isinstance(sizes[2], int) else 0
    last = f"{prefix}bert.encoder.layer.{layers - 1}."
    fits = shapes.get(f"{prefix}bert.{EMBEDDINGS}") == sizes[:2]
    if not (fits and any(name.startswith(last) for name in shapes)):
        message = "vocab_size, hidden_size or num_hidden_layers does not fit the weights"
        cure = "copy or download the model again"
        raise InputError(f"{message}; {cure}", checkpoint.folder / CONFIG)

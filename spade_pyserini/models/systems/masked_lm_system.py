"""Systems with a masked-LM head: SPLADE, TILDE, SparTerm."""

from __future__ import annotations

import copy
from typing import Any, Self

import torch
from torch import Tensor, nn
from transformers import AutoModelForMaskedLM, PretrainedConfig, PreTrainedModel

from spade_pyserini.errors import UsageError
from spade_pyserini.models.backbone import BERT_HEAD, Backbone
from spade_pyserini.models.systems.system import Part, Published, System
from spade_pyserini.models.wordpieces import WordPieces

HEAD = "cls.predictions"  # the masked-LM head of BERT


class MaskedLMSystem(System):
    """A masked-LM model of the transformers library without its output layer.

    The output layer is kept separately, so that logits can be computed for a few thousand terms at
    a time.
    """

    def __init__(self, masked_lm: PreTrainedModel, wordpieces: WordPieces) -> None:
        output: Any = masked_lm.get_output_embeddings()  # type: ignore[no-untyped-call]
        super().__init__(wordpieces, output.weight.shape[0])
        self.decoder = nn.Parameter(output.weight.detach(), requires_grad=False)
        bias = output.bias if output.bias is not None else torch.zeros(len(self.kept))
        self.bias = nn.Parameter(bias.detach(), requires_grad=False)
        self._output = next(name for name, x in masked_lm.named_modules() if x is output)
        parent, _, name = self._output.rpartition(".")
        setattr(masked_lm.get_submodule(parent), name, nn.Identity())
        # Without the output layer, the attribute ``logits`` of a result is the input of that layer.
        self.masked_lm = masked_lm

    @classmethod
    def from_backbone(cls, backbone: Backbone) -> Self:
        """Build an untrained system on the transformer and the masked-LM head of a backbone."""
        return cls(build_masked_lm(backbone), backbone.wordpieces)

    def hidden(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the input of the output layer, [batch, length, m]."""
        states: Tensor = self.masked_lm(input_ids=input_ids, attention_mask=attention_mask).logits
        return states

    def output_layer(self, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Return the weights [|V|, m] and the bias [|V|] of the output layer."""
        return self.decoder.to(dtype), self.bias.to(dtype)

    def activations(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return values [batch, |V|]; a document vector contains the terms with a value above 0.

        Adding x to the bias adds x to these values, see `lower`.
        """
        raise NotImplementedError

    def lower(self, amount: float) -> None:
        """Lower the bias of all terms by ``amount``, in place, so that vectors have fewer terms."""
        self.bias.data -= amount

    def normalise(self, input_ids: Tensor, attention_mask: Tensor) -> None:
        """Scale a new head, so that the weights of terms in these texts are not too large.

        By default, nothing is changed, because weights that are logarithms are small.
        """

    @property
    def transformers(self) -> list[Part]:
        return [Part(self.masked_lm, self.masked_lm.base_model_prefix)]

    def published(self) -> Published:
        """Return the settings and tensors of the masked-LM model, with its output layer."""
        config = self.masked_lm.config.to_dict()
        tensors = self.masked_lm.state_dict()
        embeddings: Any = self.masked_lm.get_input_embeddings()
        tied = torch.equal(self.decoder, embeddings.weight)
        tensors[f"{self._output}.bias"] = self.bias
        shared = f"{self._output.rpartition('.')[0]}.bias"  # BERT has the same bias under two names
        if shared in tensors:
            tensors[shared] = self.bias
        if not tied:
            tensors[f"{self._output}.weight"] = self.decoder
        return Published({**config, "tie_word_embeddings": tied}, tensors)


def build_masked_lm(backbone: Backbone) -> PreTrainedModel:
    """Build a masked-LM model from the transformer and the head of a backbone.

    If the backbone has no head, the new head is untrained, and its linear layer is the identity. If
    the head has the tensor ``decoder``, its output weights are not tied to the input embeddings.
    """
    head = dict(backbone.head or {})
    decoder = head.pop("decoder", None)
    config: PretrainedConfig = copy.deepcopy(backbone.transformer.config)
    config.tie_word_embeddings = decoder is None
    model: Any = AutoModelForMaskedLM.from_config(config)  # type: ignore[no-untyped-call]
    body = getattr(model, model.base_model_prefix)
    if not hasattr(body, "encoder") or not hasattr(getattr(model, "cls", None), "predictions"):
        message = f"the backbone is of type {config.model_type}, but masked-LM heads are built for"
        raise UsageError(f"{message} bert only; name a BERT model as backbone")
    body.load_state_dict(backbone.transformer.state_dict())
    predictions = model.get_submodule(HEAD)
    with torch.no_grad():
        for name, theirs in BERT_HEAD.items():
            tensor = predictions.get_parameter(theirs)
            tensor.copy_(head[name] if head else _untrained(name, tensor))
        predictions.decoder.bias.copy_(predictions.bias)
        if decoder is not None:
            predictions.decoder.weight.copy_(decoder)
    model.eval()
    masked_lm: PreTrainedModel = model
    return masked_lm


def _untrained(name: str, tensor: Tensor) -> Tensor:
    """Return the initial value of a tensor of the head, as in `MaskedLMHead.initialise`."""
    if name == "dense.weight":
        return torch.eye(len(tensor))
    return torch.ones_like(tensor) if name == "norm.weight" else torch.zeros_like(tensor)

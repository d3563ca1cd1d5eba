"""SPLADE: the masked-LM logits of all tokens, saturated and pooled over the document.

    w_j = max_i log(1 + ReLU(logit_ij))          SPLADE-max and later models
    w_j = sum_i log(1 + ReLU(logit_ij))          the first SPLADE

for the term j of the vocabulary and the tokens i of a text, [CLS] and [SEP] included. OpenSearch's
third generation applies log(1 + x) twice. In SPLADE, the same model encodes queries in the same
way. In SPLADE-doc, queries are boolean. In OpenSearch's models, a table has the weights of query
terms (idf).

- Formal, Piwowarski, Clinchant: SPLADE, SIGIR 2021, https://doi.org/10.1145/3404835.3463098
- Formal et al.: SPLADE v2, 2021, https://arxiv.org/abs/2109.10086
- Lassance et al.: SPLADE-v3, 2024, https://arxiv.org/abs/2403.06789
- Geng et al.: inference-free retrieval of OpenSearch, 2024, https://arxiv.org/abs/2411.04403
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor
from transformers import PreTrainedModel

from spade_pyserini.models.logits import BLOCK, max_logits
from spade_pyserini.models.systems.encoder import SystemConfig, SystemEncoder
from spade_pyserini.models.systems.masked_lm_system import MaskedLMSystem
from spade_pyserini.models.systems.neural_queries import NeuralQueries
from spade_pyserini.models.systems.query_table import named_weights, with_table
from spade_pyserini.models.systems.source import Source
from spade_pyserini.models.systems.transformer import (
    load_masked_lm,
    load_wordpieces,
    max_length,
)
from spade_pyserini.models.wordpieces import WordPieces

SCALE = 256 / 5  # Pyserini's quantization: weights from 0 to 5 become 8 bits
IDF = "idf.json"  # the file of OpenSearch's models with the weights of query terms
QUERY_LENGTH = 256  # maximum number of tokens that are read from a query, as in Pyserini


class Splade(MaskedLMSystem):
    """SPLADE on a masked-LM model of the transformers library.

    sum_pooling: add the weights over the tokens instead of taking the maximum. twice: apply
    log(1 + x) twice. The logits are computed for a few thousand terms at a time: a tensor of
    batch x length x |V| never exists.
    """

    name = "splade"
    architecture = "BertForMaskedLM"

    def __init__(
        self,
        masked_lm: PreTrainedModel,
        wordpieces: WordPieces,
        *,
        sum_pooling: bool = False,
        twice: bool = False,
    ) -> None:
        super().__init__(masked_lm, wordpieces)
        self.sum_pooling, self.twice = sum_pooling, twice

    @property
    def left_out(self) -> frozenset[int]:
        """No ids: the same model encodes queries, and query vectors contain special tokens."""
        return frozenset()

    @property
    def settings(self) -> dict[str, object]:
        """How logits are pooled and saturated."""
        return {"sum_pooling": self.sum_pooling, "twice": self.twice}

    def activations(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the largest logit of each term over the tokens, [batch, |V|]."""
        hidden = self.hidden(input_ids, attention_mask)
        return max_logits(hidden, *self.output_layer(hidden.dtype), attention_mask.bool())

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Encode texts, [batch, length] to [batch, |V|]."""
        hidden = self.hidden(input_ids, attention_mask)
        decoder, bias = self.output_layer(hidden.dtype)
        attended = attention_mask.bool()
        if self.sum_pooling:
            vectors = self._sum(hidden, decoder, bias, attended)
        else:  # the logarithm does not change which token has the maximum
            vectors = self._saturate(max_logits(hidden, decoder, bias, attended))
        return vectors * self.kept

    def _saturate(self, logits: Tensor) -> Tensor:
        """Apply log(1 + ReLU(x)) and, with ``twice``, log(1 + x) again."""
        weights = logits.relu().log1p()
        return weights.log1p() if self.twice else weights

    def _sum(self, hidden: Tensor, decoder: Tensor, bias: Tensor, attended: Tensor) -> Tensor:
        """Add the saturated logits of all tokens, [batch, |V|]."""
        parts = []
        for start in range(0, len(bias), BLOCK):
            block = slice(start, start + BLOCK)
            logits = hidden @ decoder[block].T + bias[block]
            parts.append((self._saturate(logits) * attended[:, :, None]).sum(dim=1))
        return torch.cat(parts, dim=1)


def load_masked_lm_system(
    folder: Path, *, sum_pooling: bool = False, twice: bool = False
) -> Splade:
    """Load a masked-LM model and its tokenizer as SPLADE; see `Splade` for the options."""
    masked_lm = load_masked_lm(folder)
    wordpieces = load_wordpieces(folder, masked_lm.config.vocab_size)
    return Splade(masked_lm, wordpieces, sum_pooling=sum_pooling, twice=twice)


def load_splade(source: Source) -> SystemEncoder:
    """Load a masked-LM checkpoint.

    If the folder has the file `IDF`, query terms have the weights in that file. If it has no
    such file, the model encodes documents and queries.
    """
    folder = source.folder
    system = load_masked_lm_system(folder)
    longest = max_length(folder, system.masked_lm.config)
    config = SystemConfig(longest, scale=SCALE)
    if (folder / IDF).is_file():
        return with_table(system, config, named_weights(folder / IDF, system.wordpieces), source)
    queries = NeuralQueries(system, source.name, min(QUERY_LENGTH, longest), SCALE)
    return SystemEncoder(system, config, queries, longest)

"""TILDE: the likelihood of each term of the vocabulary, given the document.

    P(j | d) = sigmoid(logit_j),   the masked-LM logit of the term j at the token [CLS]
    score(q, d) = sum_{j in q} log P(j | d)

TILDE stores the logarithm of every likelihood, |V| numbers for each document. Impacts are positive,
and an index should be small. Here, a likelihood below `LEAST` counts as `LEAST`, and a constant is
added to the logarithms:

    w_j = ReLU(log P(j | d) - log(LEAST))

Except for this lower limit, the ranking is the same as in TILDE: for each query term, the scores of
all documents grow by the same number, -log(LEAST). Queries are boolean. TILDE also predicts the
terms with which documents are expanded for TILDEv2 (`spade expand`).

- Zhuang, Zuccon: TILDE, term independent likelihood model for passage re-ranking, SIGIR 2021,
  https://doi.org/10.1145/3404835.3462922
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from spade_pyserini.models.queries import BooleanQueries
from spade_pyserini.models.systems.encoder import SystemConfig, SystemEncoder
from spade_pyserini.models.systems.masked_lm_system import MaskedLMSystem
from spade_pyserini.models.systems.source import Source
from spade_pyserini.models.systems.transformer import (
    load_masked_lm,
    load_wordpieces,
    max_length,
)
from spade_pyserini.models.tensors import pad_batch

LEAST = 0.01  # lower likelihoods count as this value


class Tilde(MaskedLMSystem):
    """The masked-LM logits of the token [CLS]."""

    name = "tilde"
    architecture = "BertLMHeadModel"

    def logits(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the logit of each term, [batch, length] to [batch, |V|]."""
        first = self.hidden(input_ids, attention_mask)[:, 0]
        decoder, bias = self.output_layer(first.dtype)
        return torch.addmm(bias, first, decoder.T)

    def activations(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return each logit minus the logit of the likelihood `LEAST`, [batch, |V|]."""
        return self.logits(input_ids, attention_mask) - math.log(LEAST / (1 - LEAST))

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Encode documents, [batch, length] to [batch, |V|]."""
        likelihoods = functional.logsigmoid(self.logits(input_ids, attention_mask).float())
        return (likelihoods - math.log(LEAST)).relu() * self.kept

    @torch.inference_mode()
    def predict(self, texts: list[str], number: int, length: int) -> list[list[str]]:
        """Return the ``number`` likeliest terms of each text, except terms that are in the text.

        WordPieces inside words, such as "##ing", are left out: they cannot be appended to a text.
        ``length``: the number of tokens of a text that are read.
        """
        ids = self.wordpieces.document_ids(texts, length)
        logits = self.logits(*pad_batch(ids, self.kept.device))
        words = self.kept.clone()
        wordpieces = self.wordpieces
        parts = wordpieces.special_ids | wordpieces.unused_ids | wordpieces.continuation_ids
        words[sorted(parts)] = False
        best = logits.masked_fill(~words, -math.inf).topk(min(number, int(words.sum()))).indices
        return [
            [wordpieces.terms[term] for term in row if term not in own]
            for row, own in zip(best.tolist(), map(set, ids), strict=True)
        ]


def load_tilde(source: Source) -> SystemEncoder:
    """Load a TILDE checkpoint; queries are boolean."""
    masked_lm = load_masked_lm(source.folder)
    system = Tilde(masked_lm, load_wordpieces(source.folder, masked_lm.config.vocab_size))
    longest = max_length(source.folder, masked_lm.config)
    return SystemEncoder(system, SystemConfig(longest), BooleanQueries(system.wordpieces), longest)

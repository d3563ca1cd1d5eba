"""Sequence-to-sequence models, which predict queries for documents."""

from __future__ import annotations

from typing import Any, NamedTuple

from spade_pyserini.models.hub import load_hugging_face


class Seq2Seq(NamedTuple):
    """A model of transformers and its tokenizer."""

    model: Any
    tokenizer: Any


def load_seq2seq(name: str) -> Seq2Seq:
    """Load a sequence-to-sequence model by folder or Hugging Face name.

    It is loaded to a GPU if there is one.
    """
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    def load(source: str, options: dict[str, Any]) -> Seq2Seq:
        model = AutoModelForSeq2SeqLM.from_pretrained(source, **options)
        return Seq2Seq(model, AutoTokenizer.from_pretrained(source))

    model, tokenizer = load_hugging_face("seq2seq model", name, load)
    return Seq2Seq(model.to("cuda" if torch.cuda.is_available() else "cpu").eval(), tokenizer)

"""Sequence-to-sequence models, which predict queries for documents."""

from __future__ import annotations

from typing import Any, NamedTuple

from spade_pyserini.models.hub import load_hugging_face


class Seq2Seq(NamedTuple):
    """A model of the transformers library and its tokenizer."""

    model: Any
    tokenizer: Any


def load_seq2seq(name: str) -> Seq2Seq:
    """Load a sequence-to-sequence model by folder or Hugging Face name.

    The model is moved to a GPU if there is one.
    """
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    def load(source: str, options: dict[str, Any]) -> Seq2Seq:
        model = AutoModelForSeq2SeqLM.from_pretrained(source, **options)
        tokenizer = AutoTokenizer.from_pretrained(source)
        texts = ["a", "a text of several words"]  # two lengths, to test the padding
        longest = min(8, tokenizer.model_max_length)
        batch = tokenizer(
            texts, padding=True, truncation=True, max_length=longest, return_tensors="pt"
        )
        # If the model cannot generate text, this fails now. The random state does not change.
        with torch.random.fork_rng():
            inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
            model.generate(**inputs, do_sample=True, max_new_tokens=1)
        return Seq2Seq(model, tokenizer)

    model, tokenizer = load_hugging_face("seq2seq model", name, load)
    return Seq2Seq(model.to("cuda" if torch.cuda.is_available() else "cpu").eval(), tokenizer)

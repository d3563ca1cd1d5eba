"""Sample queries for texts with a sequence-to-sequence model, as docT5query does."""

from __future__ import annotations

from dataclasses import dataclass

TOP_K = 10


@dataclass(frozen=True)
class Sampling:
    """How queries are sampled.

    per_doc: queries per document.
    max_length: largest number of tokens of a document that the model reads.
    max_new_tokens: largest number of tokens in a query.
    batch_size: documents per batch.
    seed: seed of the random numbers; for each shard, the number of the shard is added.
    shard_size: documents per shard; the queries of a shard are saved together.
    """

    per_doc: int = 40
    max_length: int = 512
    max_new_tokens: int = 64
    batch_size: int = 8
    seed: int = 0
    shard_size: int = 500


class QueryGenerator:
    """A sequence-to-sequence model that predicts queries; it runs on a GPU if there is one.

    ``name`` is the folder of the model or its name at Hugging Face.
    """

    def __init__(self, name: str, sampling: Sampling) -> None:
        from spade_pyserini.models.seq2seq import load_seq2seq

        self.sampling = sampling
        self._model, self._tokenizer = load_seq2seq(name)

    @property
    def fingerprint(self) -> str:
        """Digest of the weights."""
        from spade_pyserini.models.fingerprint import weights_fingerprint

        return weights_fingerprint(self._model)

    def generate(self, texts: list[str], seed: int) -> list[list[str]]:
        """Sample the queries of each text. Empty queries are left out; repeated queries are kept.

        An empty text has no queries. The caller's random state is not changed.
        """
        import torch

        queries: list[list[str]] = [[] for _ in texts]
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        order = [index for index in order if texts[index]]
        size = self.sampling.batch_size
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            for start in range(0, len(order), size):
                batch = order[start : start + size]
                samples = self._sample([texts[index] for index in batch])
                for index, sampled in zip(batch, samples, strict=True):
                    queries[index] = [query for query in sampled if query]
        return queries

    def _sample(self, texts: list[str]) -> list[list[str]]:
        """Sample ``per_doc`` queries for each text of a batch."""
        longest = min(self.sampling.max_length, self._tokenizer.model_max_length)
        batch = self._tokenizer(
            texts, truncation=True, max_length=longest, padding=True, return_tensors="pt"
        ).to(self._model.device)
        count = self.sampling.per_doc
        output = self._model.generate(
            input_ids=batch["input_ids"],
            attention_mask=batch["attention_mask"],
            do_sample=True,
            num_beams=1,
            top_k=TOP_K,
            num_return_sequences=count,
            max_new_tokens=self.sampling.max_new_tokens,
        )
        decoded = self._tokenizer.batch_decode(output, skip_special_tokens=True)
        queries = [" ".join(query.split()) for query in decoded]
        return [queries[start : start + count] for start in range(0, len(queries), count)]

"""Queries that documents may answer, as docT5query has them.

Queries are sampled shard by shard into a folder beside the output, then joined. The seed is set
anew for each shard, so a run that was killed and the same call again give the same bytes.
"""

from __future__ import annotations

import itertools
import json
import logging
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spade_pyserini.errors import (
    InputError,
    OutputExistsError,
    SpadeError,
    describe_differences,
)
from spade_pyserini.formats.files import (
    atomic_write,
    lock,
    read_sealed,
    refuse_existing,
    remove,
    sha256,
    sibling,
    write_sealed,
)
from spade_pyserini.progress import progress_bar
from spade_pyserini.records import Document

if TYPE_CHECKING:
    from spade_pyserini.corpora import Corpus

FORMAT = "spade_pyserini.expansions/1"
TOP_K = 10
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Sampling:
    """All that decides the queries, beside model and documents.

    max_length: tokens of a document that are read; max_new_tokens: of a query, at most.
    """

    per_doc: int = 40
    max_length: int = 512
    max_new_tokens: int = 64
    batch_size: int = 8
    seed: int = 0
    shard_size: int = 500


class QueryGenerator:
    """A seq2seq model by folder or hub name, safetensors only, on a GPU if there is one."""

    def __init__(self, name: str, sampling: Sampling) -> None:
        from spade_pyserini.models.seq2seq import load_seq2seq

        self.sampling = sampling
        self._model, self._tokenizer = load_seq2seq(name)

    @property
    def fingerprint(self) -> str:
        from spade_pyserini.models.fingerprint import weights_fingerprint

        return weights_fingerprint(self._model)

    def generate(self, texts: list[str], seed: int) -> list[list[str]]:
        """The queries of each text; empty ones are left out, repeated ones are not."""
        import torch

        queries: list[list[str]] = [[] for _ in texts]
        # Batches of similar length; nothing can be asked about an empty text.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        order = [place for place in order if texts[place]]
        size = self.sampling.batch_size
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            for start in range(0, len(order), size):
                places = order[start : start + size]
                sampled = self._sample([texts[place] for place in places])
                for place, found in zip(places, sampled, strict=True):
                    queries[place] = [query for query in found if query]
        return queries

    def _sample(self, texts: list[str]) -> list[list[str]]:
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
        found = self._tokenizer.batch_decode(output, skip_special_tokens=True)
        plain = [" ".join(query.split()) for query in found]
        return [plain[start : start + count] for start in range(0, len(plain), count)]


def expand_corpus(
    corpus: Corpus,
    model_name: str,
    output: str | Path,
    sampling: Sampling | None = None,
    overwrite: bool = False,
) -> int:
    """Write the queries of ``corpus`` to ``output``; return how many documents have some.

    An output that the same call left unfinished is completed; one with other settings, or a
    finished one, is refused unless ``overwrite``.
    """
    output, sampling = Path(output), sampling or Sampling()
    refuse_existing(output, overwrite)
    with lock(output):
        generator = QueryGenerator(model_name, sampling)
        settings = {
            "corpus": corpus.name,
            "model": model_name,
            "model_fingerprint": generator.fingerprint,
            "top_k": TOP_K,
            **asdict(sampling),
        }
        folder = sibling(output, "shards")
        _start(folder, settings, overwrite)
        documents = iter(progress_bar(corpus, "expanding", "documents"))
        shards: list[Path] = []
        while batch := list(itertools.islice(documents, sampling.shard_size)):
            shards.append(_complete_shard(folder, len(shards), batch, generator))
        if not shards:
            raise InputError("the corpus is empty", corpus.source)
        with atomic_write(output) as stream:
            for shard in shards:
                with shard.open("rb") as lines:
                    shutil.copyfileobj(lines, stream)
        with output.open("rb") as stream:
            count = sum(1 for _ in stream)
        values = {"settings": settings, "documents": count, "sha256": sha256(output)}
        write_sealed(sibling(output, "manifest.json"), {"format": FORMAT, **values})
        remove(folder)
        remove(sibling(folder, "json"))
    return count


def _start(folder: Path, settings: dict[str, Any], overwrite: bool) -> None:
    """See that shards of an earlier call are those of this one, or may be replaced."""
    path = sibling(folder, "json")
    if folder.exists() and not path.exists():
        raise OutputExistsError(f"{folder} is there and not of our making; choose another --output")
    try:
        old = read_sealed(path, FORMAT) if path.exists() else {}
    except SpadeError:
        if not overwrite:
            raise
        old = {}
    changed = describe_differences(old, settings)
    if old and changed and not overwrite:
        message = f"{folder} has queries with other settings ({changed})"
        raise OutputExistsError(f"{message}; choose another --output, or pass --overwrite")
    if changed:
        remove(folder)
        write_sealed(path, {"format": FORMAT, **settings})


def _complete_shard(
    folder: Path, number: int, documents: list[Document], generator: QueryGenerator
) -> Path:
    """Write a shard, unless it is there: its name tells the documents that it is of."""
    from spade_pyserini.encode.shard import input_digest

    path = folder / f"docs{number:04d}.{input_digest(documents)[:16]}.jsonl"
    if path.exists():
        return path
    texts = [document.contents for document in documents]
    queries = generator.generate(texts, generator.sampling.seed + number)
    if without := sum(not found for found in queries):
        logger.warning("%s: %d documents got no query and are left out", path.name, without)
    with atomic_write(path) as stream:
        for document, found in zip(documents, queries, strict=True):
            line = {"id": document.docid, "predicted_queries": found}
            if found:
                stream.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
    return path

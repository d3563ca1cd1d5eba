"""The inputs of `finetune`, and the checks that need no model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.corpora.fields import FieldChoice
from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.corpora.topics import read_topics
from spade_pyserini.errors import NotFoundError, UsageError
from spade_pyserini.formats.similar import no_such
from spade_pyserini.models.config import SpadeConfig
from spade_pyserini.models.hub import resolve_model
from spade_pyserini.train.documents import CorpusSource
from spade_pyserini.train.pairs import split_pairs
from spade_pyserini.train.samples import DataDir

PAIRS = "pairs"  # folder for the queries, judgements and documents that are made from pairs


@dataclass(frozen=True)
class FinetuneOptions:
    """The model to fine-tune, and the data.

    corpus, queries, qrels: names or paths of documents, topics and relevance judgements.
    dev_queries, dev_qrels: topics and judgements for validation; by default, a part of the queries
        is held out.
    model: name or folder of the model to start from.
    steps: number of steps; by default, four passes over the pairs, at least 40 and at most 600.
    seed: seed of the order of the pairs.
    precision: fp32 or bf16; by default bf16 if that is faster on this machine, else fp32.
    pairs: instead of queries and qrels, a table of pairs, see `spade_pyserini.train.pairs`.
        Without a corpus, the texts of the pairs are the documents.
    query_field: the column of the queries in the pairs.
    id_field, title_field, text_fields: columns of the corpus; without a corpus, of the pairs.
    """

    corpus: str | None = None
    queries: str | None = None
    qrels: str | None = None
    dev_queries: str | None = None
    dev_qrels: str | None = None
    model: str = "spade-mini"
    steps: int | None = None
    seed: int = 0
    precision: str | None = None
    pairs: str | None = None
    query_field: str | None = None
    id_field: str | None = None
    title_field: str | None = None
    text_fields: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.pairs and (self.queries or self.qrels):
            raise UsageError("give either pairs, or queries and qrels")
        if not self.pairs and not (self.corpus and self.queries and self.qrels):
            raise UsageError("give corpus, queries and qrels, or pairs of queries and texts")
        if self.query_field and not self.pairs:
            raise UsageError("query_field applies only with pairs")
        if bool(self.dev_queries) != bool(self.dev_qrels):
            raise UsageError("give both dev_queries and dev_qrels, or neither")
        if self.steps is not None and self.steps < 1:
            raise UsageError(f"steps must be 1 or more, not {self.steps}")
        if self.precision not in (None, "fp32", "bf16"):
            raise UsageError(f"precision must be fp32 or bf16, not {self.precision}")


class FinetuneInputs(NamedTuple):
    """Names or paths of documents, queries and judgements, and the settings of the model."""

    corpus: CorpusSource
    queries: str
    qrels: str
    config: SpadeConfig


def dev_files(options: FinetuneOptions, inputs: FinetuneInputs, folder: Path) -> tuple[str, str]:
    """Return the names of the queries and of the judgements for validation.

    Without judgements of the user, they are the held-out judgements in ``folder``.
    """
    if options.dev_queries and options.dev_qrels:
        return options.dev_queries, options.dev_qrels
    return inputs.queries, str(folder / "dev.qrels.txt")


def prepare_inputs(
    options: FinetuneOptions, folder: Path, data_dir: DataDir = None
) -> FinetuneInputs:
    """Check the inputs; divide pairs into queries, judgements and documents, in ``folder``.

    Loads no model, so that a wrong path or column is reported at once.
    """
    config = SpadeConfig.load(resolve_model(options.model))
    if not config.trained:
        raise UsageError(f"{options.model} is untrained; use a recipe of `spade train`")
    columns = options.id_field, options.title_field, options.text_fields
    source = CorpusSource(options.corpus or "", *columns)
    corpus = source.open(data_dir) if options.corpus else None
    for name in (options.queries, options.dev_queries):
        if name:
            read_topics(name, data_dir=data_dir)
    for name in (options.qrels, options.dev_qrels):
        if name:
            read_qrels(name, data_dir=data_dir)
    if not options.pairs:
        return FinetuneInputs(source, options.queries or "", options.qrels or "", config)
    if not Path(options.pairs).exists():
        raise NotFoundError(no_such(options.pairs, "file or folder"))
    files = split_pairs(
        Path(options.pairs),
        folder / PAIRS,
        options.query_field,
        FieldChoice(*columns),
        corpus=corpus,
    )
    if files.corpus:
        source = CorpusSource(str(files.corpus))
    return FinetuneInputs(source, str(files.queries), str(files.qrels), config)

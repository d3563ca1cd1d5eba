"""The inputs of `finetune`, and the checks that need no model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.corpora.fields import FieldChoice
from spade_pyserini.corpora.qrels_tables import QrelsColumns
from spade_pyserini.corpora.tables import refuse_columns
from spade_pyserini.corpora.topic_tables import TopicColumns
from spade_pyserini.errors import NotFoundError, UsageError
from spade_pyserini.formats.similar import no_such
from spade_pyserini.models.config import SpadeConfig
from spade_pyserini.models.hub import resolve_model
from spade_pyserini.train.documents import CorpusSource
from spade_pyserini.train.judged_queries import JudgedQueries, judged_queries, present_columns
from spade_pyserini.train.pairs import PairFields, split_pairs
from spade_pyserini.train.samples import DataDir
from spade_pyserini.train.written_inputs import write_inputs

PAIRS = "pairs"  # folder for the queries, judgements and documents that are made from pairs
INPUTS = "inputs"  # folder for the queries and judgements that are made from chosen columns


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
    query_id_field, query_field: columns of the queries, if these are a table; query_field is also
        the column of the queries in the pairs.
    qrels_query_field, qrels_doc_field, qrels_grade_field: columns of the qrels, if these are a
        table. The last two are also the columns of document ids and of grades in the pairs.
    id_field, title_field, text_fields: columns of the corpus; without a corpus, columns of the
        pairs.
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
    query_id_field: str | None = None
    query_field: str | None = None
    qrels_query_field: str | None = None
    qrels_doc_field: str | None = None
    qrels_grade_field: str | None = None
    id_field: str | None = None
    title_field: str | None = None
    text_fields: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.pairs and (self.queries or self.qrels):
            raise UsageError("give either pairs, or queries and qrels")
        if not self.pairs and not (self.corpus and self.queries and self.qrels):
            raise UsageError("give corpus, queries and qrels, or pairs of queries and texts")
        if self.pairs:
            ids = {name: getattr(self, name) for name in ("query_id_field", "qrels_query_field")}
            refuse_columns(ids, "pairs have no column of query ids")
        if bool(self.dev_queries) != bool(self.dev_qrels):
            raise UsageError("give both dev_queries and dev_qrels, or neither")
        if self.steps is not None and self.steps < 1:
            raise UsageError(f"steps must be 1 or more, not {self.steps}")
        if self.precision not in (None, "fp32", "bf16"):
            raise UsageError(f"precision must be fp32 or bf16, not {self.precision}")

    @property
    def topic_columns(self) -> TopicColumns:
        """The columns of queries and dev_queries."""
        return TopicColumns(self.query_id_field, self.query_field)

    @property
    def qrels_columns(self) -> QrelsColumns:
        """The columns of qrels and dev_qrels."""
        return QrelsColumns(self.qrels_query_field, self.qrels_doc_field, self.qrels_grade_field)

    @property
    def pair_fields(self) -> PairFields:
        """The columns of the pairs."""
        return PairFields(self.query_field, self.qrels_doc_field, self.qrels_grade_field)


class FinetuneInputs(NamedTuple):
    """Documents, queries with judgements, and the settings of the model.

    train: the queries to train on. If ``dev`` is None, a part of these queries is held out for
    validation.
    """

    corpus: CorpusSource
    train: JudgedQueries
    dev: JudgedQueries | None
    config: SpadeConfig


def dev_files(inputs: FinetuneInputs, folder: Path) -> tuple[str, str]:
    """Return the names of the queries and of the judgements for validation.

    If the user gives none, these are the queries of ``inputs.train`` and the held-out judgements in
    ``folder``.
    """
    if inputs.dev is not None:
        return inputs.dev.queries, inputs.dev.qrels
    return inputs.train.queries, str(folder / "dev.qrels.txt")


def prepare_inputs(
    options: FinetuneOptions, folder: Path, data_dir: DataDir = None
) -> FinetuneInputs:
    """Check the inputs; divide pairs into queries, judgements and documents, in ``folder``.

    Queries and judgements from tables whose columns the user names are written to ``folder``, too,
    in a format that training can read. Loads no model, so that a wrong path or column is reported
    at once.
    """
    config = SpadeConfig.load(resolve_model(options.model))
    if not config.trained:
        raise UsageError(f"{options.model} is untrained; use a recipe of `spade train`")
    columns = options.id_field, options.title_field, options.text_fields
    source = CorpusSource(options.corpus or "", *columns)
    corpus = source.open(data_dir) if options.corpus else None
    train, dev = _judged_queries(options, folder, data_dir)
    if train is not None:
        return FinetuneInputs(source, train, dev, config)
    assert options.pairs is not None
    if not Path(options.pairs).exists():
        raise NotFoundError(no_such(options.pairs, "file or folder"))
    files = split_pairs(
        Path(options.pairs),
        folder / PAIRS,
        options.pair_fields,
        FieldChoice(*columns),
        corpus=corpus,
    )
    if files.corpus:
        source = CorpusSource(str(files.corpus))
    return FinetuneInputs(source, JudgedQueries(str(files.queries), str(files.qrels)), dev, config)


def _judged_queries(
    options: FinetuneOptions, folder: Path, data_dir: DataDir
) -> tuple[JudgedQueries | None, JudgedQueries | None]:
    """Check the inputs; return the training queries and the validation queries, with judgements.

    None stands for queries that the user does not give.
    """
    columns = options.topic_columns, options.qrels_columns
    train = dev = None
    if options.queries and options.qrels:
        train = judged_queries(options.queries, options.qrels, columns, folder / INPUTS, data_dir)
    if options.dev_queries and options.dev_qrels:
        names = options.dev_queries, options.dev_qrels
        present = present_columns(*names, columns, data_dir)
        dev = judged_queries(*names, present, folder / INPUTS / "dev", data_dir)
    write_inputs({**(train.contents if train else {}), **(dev.contents if dev else {})}, folder)
    return train, dev

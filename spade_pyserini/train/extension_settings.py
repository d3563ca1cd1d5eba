"""The sections of a recipe that are not in the paper: teachers, and weights of terms.

With the defaults, training is that of the paper.
"""

from __future__ import annotations

from dataclasses import dataclass

from spade_pyserini.train.settings import check, check_not_negative, check_positive


@dataclass(frozen=True)
class Teacher:
    """A stronger model whose scores are learned in training: a table ``[[teaching.teachers]]``.

    model: the folder of the model, which may hold an ONNX model, or its Hugging Face name.
    kind: ``cross-encoder`` or ``bi-encoder``.
    weight: factor of the teacher's scores. The scores of a bi-encoder are cosines. The scores of a
        cross-encoder are the outputs of the model.
    max_length: number of tokens that the model reads of a text, or of a pair of texts.
    pooling, query_prefix: only for a bi-encoder, see
        `spade_pyserini.models.bi_encoder.open_bi_encoder`.
    """

    model: str = ""
    kind: str = "cross-encoder"
    weight: float = 1.0
    max_length: int = 256
    pooling: str = "mean"
    query_prefix: str = ""

    def __post_init__(self) -> None:
        kinds = ("cross-encoder", "bi-encoder")
        check("kind must be cross-encoder or bi-encoder", self.kind in kinds)
        check_not_negative(self, ("weight",))
        check_positive(self, ("max_length",))


@dataclass(frozen=True)
class TeachingSettings:
    """Settings of the stage ``teach``, beyond the paper, see `spade_pyserini.train.beyond.teach`.

    teachers: the models that score candidates.
    candidates: number of documents that are scored for each query.
    """

    teachers: tuple[Teacher, ...] = ()
    candidates: int = 8

    def __post_init__(self) -> None:
        check("candidates must be 2 or more", self.candidates >= 2)


@dataclass(frozen=True)
class DistillationSettings:
    """Beyond the paper: learning from the scores of a stronger model.

    teacher: a TREC run with a teacher's score of every document of every sample. The stage
        ``teach`` writes such runs.
    dense_teacher: a bi-encoder that scores every query with every document of its batch. It can be
        used with or without ``teacher``. The value is a sentence-transformers model, ``minilm``, or
        the ``model`` of a table ``[[teaching.teachers]]``. In the last case, the settings
        max_length, pooling and query_prefix of this table apply.
    teacher_scale: factor of the dense teacher's cosines.
    teacher_bm25: factor of BM25's scores, which are added to the dense teacher's scores; 0 adds no
        BM25 scores.
    loss: ``kl`` or ``margin_mse``.
    distillation_weight: weight of this loss.
    dense_weight: a further factor of the dense teacher's loss.
    pool_queries: number of queries from a pool that each document of a batch is compared with: the
        nearest queries, see `spade_pyserini.train.beyond.query_pool`. 0 means that there is no
        pool. The teachers are the bi-encoders of the tables ``[[teaching.teachers]]``.
    pool: names or paths of topics for the pool, in addition to the training queries.
    pool_weight: weight of the loss of the pool.
    """

    teacher: str | None = None
    dense_teacher: str | None = None
    teacher_scale: float = 20.0
    teacher_bm25: float = 0.0
    loss: str = "kl"
    distillation_weight: float = 1.0
    dense_weight: float = 1.0
    pool_queries: int = 0
    pool: tuple[str, ...] = ()
    pool_weight: float = 1.0

    def __post_init__(self) -> None:
        check("distillation.loss must be kl or margin_mse", self.loss in ("kl", "margin_mse"))
        check_not_negative(self, ("distillation_weight", "dense_weight", "teacher_bm25"))
        check_not_negative(self, ("pool_queries", "pool_weight"))
        needless = self.teacher_bm25 and not (self.dense_teacher or self.pool_queries)
        message = "teacher_bm25 needs a dense_teacher or a pool; add dense_teacher=NAME"
        check(f"{message}, or pool_queries=12", not needless)
        usable = self.pool_queries > 0 or not self.pool
        check("pool needs pool_queries; add pool_queries=12", usable)


@dataclass(frozen=True)
class TermWeightSettings:
    """Beyond the paper: weights of query terms, and of terms in documents.

    idf: how the weights of query terms are set. ``none``: they are not changed. ``counted``: they
        are computed from the idf in the training documents. ``learned``: they start with these
        values and are trained.
    idf_rate: learning rate of the weights of query terms.
    corpus_idf, saturate, forms: as in `SpadeConfig`; None means the value of ``init``. Each
        collection has its own idf. ``saturate`` applies to each encoder separately in training, and
        to the aggregated vector in encoding. ``forms`` is for English only.
    whole_word_forms: as in `SpadeConfig`; None means the value of ``init``. Training uses this
        setting, too.
    prune_ratio, corpus_gamma, corpus_few: as in `SpadeConfig`; None means the value of ``init``.
        The model is saved with these settings, for encoding. Validation uses ``prune_ratio``, but
        not ``corpus_gamma``, which is for entire corpora. Training uses none of the three.
    template_share: share of the queries that are put into a template ("find papers about ...").
        A dense teacher gets these queries without the template. The stage ``templates`` uses this
        setting, too.
    """

    idf: str = "none"
    idf_rate: float = 1e-3
    corpus_idf: float | None = None
    saturate: bool | None = None
    forms: float | None = None
    whole_word_forms: bool | None = None
    prune_ratio: float | None = None
    corpus_gamma: float | None = None
    corpus_few: float | None = None
    template_share: float = 0.0

    def __post_init__(self) -> None:
        check("idf must be none, counted or learned", self.idf in ("none", "counted", "learned"))
        check("template_share must be from 0 to 1", 0 <= self.template_share <= 1)
        check_not_negative(self, ("idf_rate",))

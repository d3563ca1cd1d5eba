"""Fine-tune a trained model on pairs of queries and relevant documents, with few options.

    spade finetune --corpus notes.csv --queries queries.tsv --qrels qrels.txt --output my-model
    spade finetune --pairs questions-and-answers.csv --output my-model

Hard negatives come from BM25. Without dev judgements, a part of the queries is held out. The
architecture of the model is kept, and the number of steps follows from the number of pairs. BM25,
the model before training, and the model after training are measured on the same documents.

::

    my-model/best/              the fine-tuned model
    my-model/dev.qrels.txt      judgements of the held-out queries
    my-model/train.qrels.txt    judgements of the other queries
    my-model/pairs/             with --pairs, the queries, judgements and documents of the pairs
    my-model/inputs/            queries and judgements from tables whose columns the user names
    my-model/mined/             BM25's index and runs
    my-model/dev.scores.json    MRR@10 of each held-out query with the fine-tuned model
    my-model/results.json       the measures and the test; `spade train` describes the other files
"""

from __future__ import annotations

import logging
import math
import time
from pathlib import Path
from typing import NamedTuple

import torch
from ir_measures import RR, nDCG

from spade_pyserini.errors import NotFoundError
from spade_pyserini.evaluate import evaluate_run
from spade_pyserini.evaluate.significance import PairedTest, paired_t_test
from spade_pyserini.formats.json_files import read_json_file, write_json
from spade_pyserini.formats.runs import read_run
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.precision import check_precision, fastest_precision
from spade_pyserini.train.dev_set import DevSet
from spade_pyserini.train.finetune_options import (
    FinetuneInputs,
    FinetuneOptions,
    prepare_inputs,
)
from spade_pyserini.train.held_out import QuerySplit, split_queries
from spade_pyserini.train.initial_model import SHAPE
from spade_pyserini.train.log import read_log
from spade_pyserini.train.loop import STAGE, train
from spade_pyserini.train.mine import mine_negatives, negatives_file, pool_file
from spade_pyserini.train.recipe import Recipe, make_recipe
from spade_pyserini.train.run import Run
from spade_pyserini.train.samples import DataDir
from spade_pyserini.train.selection import QUERY_SCORES
from spade_pyserini.train.time_left import TimeLeft, Work
from spade_pyserini.train.validate import validate

__all__ = ["FinetuneOptions", "FinetuneResult", "Row", "finetune"]
logger = logging.getLogger(__name__)
POOL = 20  # validation searches the judged documents and this many BM25 hits of each query
EPOCHS = 4
BATCH = 16
LEAST_STEPS, MOST_STEPS = 40, 600
VALIDATIONS = 4
RESULTS = "results.json"
CALIBRATION = 200  # documents from which the scale of quantization is computed, as in `encode`


class Row(NamedTuple):
    """The measures of one system on the dev queries."""

    system: str
    mrr: float
    ndcg: float


class FinetuneResult(NamedTuple):
    """The folder of the model, the measures, and the numbers of dev queries and of documents.

    ``test`` compares MRR@10 after and before training. It is None for runs of earlier versions.
    """

    model: Path
    rows: list[Row]
    queries: int
    documents: int
    test: PairedTest | None

    @property
    def gain(self) -> float:
        """The difference in MRR@10 between the fine-tuned model and the model before training."""
        return self.rows[-1].mrr - self.rows[-2].mrr


def finetune(
    options: FinetuneOptions,
    output: str | Path,
    *,
    resume: bool = False,
    data_dir: DataDir = None,
    inputs: FinetuneInputs | None = None,
) -> FinetuneResult:
    """Fine-tune a model; returns its folder and the measures before and after.

    The result of a finished run is read from its file. ``inputs`` is the result of
    `prepare_inputs`. If None, `prepare_inputs` is called.
    """
    start = time.perf_counter()
    folder = Path(output)
    inputs = inputs or prepare_inputs(options, folder, data_dir)
    queries = split_queries(options, inputs, folder, data_dir)
    mined = _mined(folder, inputs.corpus.open(data_dir).name)
    recipe = _recipe(options, inputs, queries).change(**mined)
    # Report errors before mining, which takes long.
    run = Run(STAGE, recipe, folder, data_dir)
    same = run.check_recipe()
    queries.write(folder)
    if same and run.has_ended and (finished := _read_result(folder)):
        logger.info("%s is finished; the measures are those of %s", folder, RESULTS)
        return finished
    mine_negatives(recipe, folder / "mined", data_dir=data_dir)
    before = _before(recipe, options.model, queries.pairs, data_dir)
    time_left = TimeLeft(
        Work(
            steps=recipe.optimization.steps,
            validate_every=recipe.validation.validate_every,
            validation_seconds=before.seconds,
            spent=time.perf_counter() - start,
        )
    )
    best = train(recipe, folder, resume=resume, data_dir=data_dir, after_step=time_left)
    rows = [*before.rows, _after(folder)]
    test = _test(before.by_query, folder)
    result = FinetuneResult(best, rows, before.queries, before.documents, test)
    _write_result(result, folder)
    return result


def _write_result(result: FinetuneResult, folder: Path) -> None:
    values = {
        "queries": result.queries,
        "documents": result.documents,
        "systems": [row._asdict() for row in result.rows],
        "test": result.test._asdict() if result.test else None,
    }
    write_json(folder / RESULTS, values)


def _read_result(folder: Path) -> FinetuneResult | None:
    """Return the result of a finished run; None if its file is missing or incomplete."""
    path = folder / RESULTS
    if not path.is_file():
        return None
    values = read_json_file(path)
    test = values.get("test")
    try:
        rows = [Row(**row) for row in values["systems"]]
        tested = PairedTest(**test) if test else None
        return FinetuneResult(folder / "best", rows, values["queries"], values["documents"], tested)
    except (KeyError, TypeError):
        return None


def _recipe(options: FinetuneOptions, inputs: FinetuneInputs, queries: QuerySplit) -> Recipe:
    """Return a recipe with the model's architecture, small learning rates and a dense teacher."""
    config, source = inputs.config, inputs.corpus
    steps = options.steps or math.ceil(queries.pairs * EPOCHS / BATCH)
    if options.steps is None:
        steps = max(LEAST_STEPS, min(MOST_STEPS, steps))
    return make_recipe(
        init=options.model,
        **{name: getattr(config, name) for name in SHAPE},
        k=config.k,
        pooling=config.pooling,
        max_length=min(128, config.max_length),
        encode_length=config.max_length,
        dropout=0.0,
        half=config.adapter_rank > 0,
        calibration_sample=CALIBRATION,
        **source._asdict(),
        queries=queries.train[0],
        qrels=queries.train[1],
        dev_queries=queries.dev[0],
        dev_qrels=queries.dev[1],
        dev_depth=POOL,
        warmup_steps=0,
        steps=steps,
        batch_size=BATCH,
        micro_batch=2 * BATCH,
        weighting_rate=2e-4,
        expansion_rate=2e-4,
        schedule="linear",
        rate_warmup=min(10, steps // 4),
        max_grad_norm=1.0,
        lambda_=0.005,
        flops=0.01,
        gammas=(),
        tau=75.0,
        block=22,
        dense_teacher="minilm",
        teacher_bm25=0.15,
        validate_every=max(10, math.ceil(steps / VALIDATIONS)),
        patience=2,
        seed=options.seed,
        precision=_precision(options),
    )


def _precision(options: FinetuneOptions) -> str:
    """Return the precision as accelerate names it: ``bf16``, or ``no`` for fp32."""
    # accelerate chooses the same device.
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if options.precision:
        check_precision(options.precision, device)
    precision = options.precision or fastest_precision(device)
    return "no" if precision == "fp32" else precision


def _mined(folder: Path, corpus: str) -> dict[str, str]:
    """Return the paths of the BM25 runs that will be mined, keyed by recipe setting."""
    files = {"negatives": negatives_file(corpus), "dev_pool": pool_file(corpus)}
    return {setting: str(folder / "mined" / file) for setting, file in files.items()}


class _Before(NamedTuple):
    """The measures before training, and the estimated seconds of a validation.

    by_query: the model's MRR@10 of each dev query.
    """

    rows: list[Row]
    queries: int
    documents: int
    seconds: float
    by_query: dict[str, float]


def _before(recipe: Recipe, name: str, pairs: int, data_dir: DataDir) -> _Before:
    """Measure BM25 and the model before training; measure also the time of a validation."""
    model = SpadeModel.from_pretrained(name).with_settings(max_length=recipe.model.max_length)
    (collection,) = recipe.dev_collections
    dev = DevSet(collection, model.wordpieces, data_dir)
    start = time.perf_counter()
    figures = validate(model, [dev], precision=recipe.optimization.precision)
    seconds = time.perf_counter() - start
    # If the model is the best so far, a validation also calibrates the scale, on longer texts. A
    # pair has two training documents: the relevant document and a hard negative.
    calibrated = min(CALIBRATION, 2 * pairs)
    length = recipe.model.encode_length / recipe.model.max_length
    seconds += seconds / len(dev.texts) * calibrated * length
    run = [ranking for ranking in read_run(collection.pool or "") if ranking.qid in dev.qrels]
    if not run:
        raise NotFoundError(
            "BM25 finds no document for any dev query; check the topics and the corpus"
        )
    measures = evaluate_run(dev.qrels, run, [RR @ 10, nDCG @ 10])
    rows = [
        Row("BM25", measures[RR @ 10], measures[nDCG @ 10]),
        Row(f"{name}, before", figures.mrr, figures.ndcg),
    ]
    return _Before(rows, len(dev.topics), len(dev.texts), seconds, figures.by_query)


def _test(before: dict[str, float], run: Path) -> PairedTest | None:
    """Compare MRR@10 of the dev queries before training with those of the best validation.

    Returns None if these scores are missing, as in runs of earlier versions, or if they are those
    of other queries.
    """
    path = run / QUERY_SCORES
    after = read_json_file(path) if path.is_file() else {}
    return paired_t_test(before, after) if before.keys() == after.keys() else None


def _after(run: Path) -> Row:
    """Return the measures of the best validation."""
    best = max(read_log(run, "validation"), key=lambda line: float(line["mrr"]))
    return Row("fine-tuned", best["mrr"], best["ndcg"])

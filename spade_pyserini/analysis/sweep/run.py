"""Every setting of a grid on a real index: vectors, Anserini, Lucene, measures."""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from ir_measures import Measure

from spade_pyserini.analysis.sweep.figures import draw_figures
from spade_pyserini.analysis.sweep.results import Results, Row
from spade_pyserini.analysis.sweep.setting import Components
from spade_pyserini.corpora import Corpus
from spade_pyserini.corpora.qrels import Qrels
from spade_pyserini.encode import EncodeOptions, encode_corpus
from spade_pyserini.errors import ArtifactError, NoCommonTopicError, UsageError
from spade_pyserini.evaluate import DEFAULT_MEASURES, evaluate_run
from spade_pyserini.evaluate.measures import at_level, measure_name
from spade_pyserini.formats.files import folder_bytes, lock, remove
from spade_pyserini.formats.vectors import VectorManifest, verify
from spade_pyserini.index import build_impact_index
from spade_pyserini.models import SpadeEncoder
from spade_pyserini.records import Ranking, Topic
from spade_pyserini.search import ImpactSearcher, write_run
from spade_pyserini.sharding.reader import input_digest

logger = logging.getLogger(__name__)
ALPHAS = tuple(step / 10 for step in range(11))  # the paper's grid
HITS = 1000
WARM_UP = 5000  # queries before the first setting, until the JVM has compiled; then one pass each
MEASURED = 500  # queries at least, or all topics once


def sweep(
    source: str | Path,
    topics: list[Topic],
    qrels: Qrels,
    output: str | Path,
    *,
    alphas: Sequence[float] = ALPHAS,
    gammas: Sequence[float] = (1.0,),
    ks: Sequence[int] = (),
    measures: Sequence[Measure] = DEFAULT_MEASURES,
    level: int = 1,
    corpus: Corpus | None = None,
    model: SpadeEncoder | None = None,
    overwrite: bool = False,
) -> Results:
    """Run all settings that ``output/sweep.csv`` lacks, and draw the figures of all it has.

    Each leaves its run beside the table, for `breakdown`, `compare` and significance tests.
    ``source`` is a folder of vectors that were encoded with their components. A k that is not
    theirs needs the ``corpus`` and the ``model`` to encode again. ``level`` is
    the lowest grade that binary measures take for relevant.
    """
    source, output = Path(source), Path(output)
    manifest = verify(source)
    for name, values in (("alpha", alphas), ("gamma", gammas)):
        if wrong := [value for value in values if not 0 <= value <= 1]:
            raise UsageError(f"{name} is a share from 0 to 1, not {wrong[0]}")
    if not any(topic.qid in qrels for topic in topics):
        raise NoCommonTopicError("the topics and the qrels have no topic in common")
    ks = ks or [manifest.settings.k]
    if any(k != manifest.settings.k for k in ks):
        _check_origin(manifest, corpus, model)
    names = {measure_name(measure): at_level(measure, level) for measure in measures}
    work = output / "sweep.unfinished"
    warm_up = -(-WARM_UP // len(topics))
    with lock(output):
        origin = _origin(manifest, topics, qrels, level)
        results = Results(output, origin, list(names), overwrite)
        if overwrite:
            for path in (work, *output.glob("run.alpha-*.gamma-*.k-*.txt")):
                remove(path)
        for k in dict.fromkeys(ks):
            grid = itertools.product(dict.fromkeys(gammas), dict.fromkeys(alphas))
            missing = [(alpha, gamma) for gamma, alpha in grid if (alpha, gamma, k) not in results]
            if not missing:
                continue
            folder = source
            if k != manifest.settings.k:
                folder = work / f"k{k}"
                _encode(folder, k, manifest, corpus, model)
            components = Components(folder, [alpha for alpha, _ in missing])
            for alpha, gamma in missing:
                with _temporary(work / "setting") as folder:
                    costs = _index(components, alpha, gamma, folder)
                    rankings, latency = _search(folder / "index", topics, warm_up)
                warm_up = 1
                write_run(rankings, run_path(output, alpha, gamma, k), overwrite=True)
                found = evaluate_run(qrels, rankings, list(names.values()))
                row = {"alpha": alpha, "gamma": gamma, "k": k, "ms per query": round(latency, 3)}
                row |= {name: round(found[measure], 4) for name, measure in names.items()} | costs
                results.add(row)
                logger.info("%s", ", ".join(f"{name} {value:g}" for name, value in row.items()))
        remove(work)
        draw_figures(results.rows, next(iter(names)), output)
    return results


def run_path(folder: Path, alpha: float, gamma: float, k: int) -> Path:
    return folder / f"run.alpha-{alpha:g}.gamma-{gamma:g}.k-{k}.txt"


@contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    remove(folder)  # of a run that was killed
    try:
        yield folder
    finally:
        remove(folder)


def _index(components: Components, alpha: float, gamma: float, work: Path) -> Row:
    """Build the index of one setting; returns how large all is."""
    removed = components.frequent(gamma)
    scale = components.scale(alpha, removed)
    vectors = components.write_vectors(work / "vectors", alpha, removed, scale)
    build_impact_index(work / "vectors", work / "index", optimize=True)
    return {
        "index MB": round(folder_bytes(work / "index") / 1e6, 3),
        "terms per document": round(vectors.terms_per_document, 2),
        "documents": vectors.documents,
        "removed terms": len(removed),
    }


def _search(index: Path, topics: list[Topic], warm_up: int) -> tuple[list[Ranking], float]:
    """All hits, and milliseconds a query: one after the other, once all is warm.

    Of few topics the best of several passes counts: one alone is at the mercy of the machine.
    """
    passes = []
    with ImpactSearcher(index) as searcher:
        for _ in range(warm_up + -(-MEASURED // len(topics))):
            start = time.perf_counter()
            rankings = [Ranking(one.qid, searcher.search(one.text, HITS)) for one in topics]
            passes.append(time.perf_counter() - start)
    return rankings, min(passes[warm_up:]) / len(topics) * 1000


def _check_origin(
    manifest: VectorManifest, corpus: Corpus | None, model: SpadeEncoder | None
) -> None:
    """Another k is comparable only for the same documents and the same model."""
    settings = manifest.settings
    if corpus is None or model is None:
        raise UsageError(f"the components have k {settings.k}; another needs a corpus and a model")
    if _configured(model, manifest, settings.k).fingerprint != settings.model_fingerprint:
        raise ArtifactError("the components were made by another model; give theirs as --model")
    documents = iter(corpus)
    digests = []
    while shard := list(itertools.islice(documents, settings.shard_size)):
        digests.append(input_digest(shard))
    if digests != [shard.input_sha256 for shard in manifest.shards]:
        raise ArtifactError("the components are of other documents; give theirs as --corpus")


def _configured(model: SpadeEncoder, manifest: VectorManifest, k: int) -> SpadeEncoder:
    """Return the encoder with the settings of the vectors, but this ``k``."""
    settings = manifest.settings
    return model.with_settings(alpha=settings.alpha, max_length=settings.max_length, k=k)


def _encode(
    folder: Path,
    k: int,
    manifest: VectorManifest,
    corpus: Corpus | None,
    model: SpadeEncoder | None,
) -> None:
    assert corpus is not None and model is not None
    settings = manifest.settings
    options = EncodeOptions(
        model_name=settings.model,
        shard_size=settings.shard_size,
        batch_tokens=settings.batch_tokens,
        components=True,
    )
    encode_corpus(corpus, _configured(model, manifest, k), folder, options)


def _origin(
    manifest: VectorManifest, topics: list[Topic], qrels: Qrels, level: int
) -> dict[str, str]:
    """What the figures of a sweep depend on, beside the settings."""
    parts = {
        "components": [manifest.corpus_fingerprint, asdict(manifest.settings)],
        "topics": topics,
        "judgements": [qrels, level],
    }
    return {name: _digest(value) for name, value in parts.items()}


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()

"""A sweep: measure every setting of a grid of alpha, gamma, k and prune_ratio."""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
from pathlib import Path

from spade_pyserini.analysis.sweep.components import Components
from spade_pyserini.analysis.sweep.figures import draw_figures
from spade_pyserini.analysis.sweep.measure import measure_setting
from spade_pyserini.analysis.sweep.options import Origin, Setting, SweepOptions
from spade_pyserini.analysis.sweep.reencode import check_origin, encode_components
from spade_pyserini.analysis.sweep.results import Results, Row
from spade_pyserini.errors import NoCommonTopicError
from spade_pyserini.evaluate import evaluate_run
from spade_pyserini.evaluate.measures import at_level, measure_name
from spade_pyserini.formats.locks import lock
from spade_pyserini.formats.paths import remove
from spade_pyserini.formats.qrels import Qrels
from spade_pyserini.formats.runs import write_run
from spade_pyserini.formats.vector_manifest import VectorManifest
from spade_pyserini.formats.vectors import verify
from spade_pyserini.records import Ranking, Topic

logger = logging.getLogger(__name__)
WARM_UP = 5000  # queries before the first setting is timed; meanwhile the JVM compiles the code


def sweep(
    components: str | Path,
    topics: list[Topic],
    qrels: Qrels,
    output: str | Path,
    options: SweepOptions | None = None,
    origin: Origin | None = None,
) -> Results:
    """Measure all settings that ``output/sweep.csv`` does not have yet, and draw the figures.

    ``components`` is a folder of vectors that were encoded with their components. For other values
    of k, the documents are encoded again, which needs ``origin``. The run of each setting is saved
    next to the table, for `breakdown`, `compare` and significance tests.
    """
    source, output, options = Path(components), Path(output), options or SweepOptions()
    manifest = verify(source)
    if not any(topic.qid in qrels for topic in topics):
        raise NoCommonTopicError(
            "the topics and the qrels have no topic in common; give qrels of these topics"
        )
    ks = dict.fromkeys(options.k or [manifest.settings.k])
    if any(k != manifest.settings.k for k in ks):
        check_origin(manifest, origin)
    names = list(dict.fromkeys(map(measure_name, options.measures)))
    work, scratch = output / "sweep.unfinished", output / "sweep.unfinished" / "setting"
    with lock(output):
        digests = _digests(manifest, topics, qrels, options.level)
        results = Results(output, digests, names, options.overwrite)
        if options.overwrite:
            _remove_runs(output)
            remove(work)
        warm_up = -(-WARM_UP // len(topics))
        for k in ks:
            grid = _grid(options, k, manifest.settings.prune_ratio)
            missing = [setting for setting in grid if setting not in results]
            if not missing:
                continue
            folder = source
            if k != manifest.settings.k and origin is not None:
                folder = work / f"k{k}"
                encode_components(folder, k, manifest, origin)
            vectors = Components(folder, [setting.alpha for setting in missing])
            for setting in missing:
                rankings, costs = measure_setting(
                    vectors, setting, topics, scratch, warm_up, options.queries
                )
                warm_up = 1
                write_run(rankings, run_path(output, setting), overwrite=True)
                row = {**setting._asdict(), **_scores(qrels, rankings, options), **costs}
                results.add(row)
                logger.info("%s", ", ".join(f"{name} {value:g}" for name, value in row.items()))
        remove(work)
        draw_figures(results.rows, names[0], output)
    return results


def _remove_runs(folder: Path) -> None:
    # The pattern matches names with and without ".prune-RATIO".
    for path in folder.glob("run.alpha-*.gamma-*.k-*.txt"):
        remove(path)


def run_path(folder: Path, setting: Setting) -> Path:
    """Return the path of a setting's run in the folder of a sweep."""
    alpha, gamma, k, ratio = setting
    # Older versions had no prune_ratio. For a ratio of 0, the file name is that of older versions.
    pruned = f".prune-{ratio:g}" if ratio else ""
    return folder / f"run.alpha-{alpha:g}.gamma-{gamma:g}.k-{k}{pruned}.txt"


def _grid(options: SweepOptions, k: int, prune_ratio: float) -> list[Setting]:
    axes = (options.prune_ratio or [prune_ratio], options.gamma, options.alpha)
    settings = itertools.product(*map(dict.fromkeys, axes))
    return [Setting(alpha, gamma, k, ratio) for ratio, gamma, alpha in settings]


def _scores(qrels: Qrels, rankings: list[Ranking], options: SweepOptions) -> Row:
    """Return the measures of a run by their column names in the table."""
    measures = {measure_name(m): at_level(m, options.level) for m in options.measures}
    scores = evaluate_run(qrels, rankings, list(measures.values()))
    return {name: round(scores[measure], 4) for name, measure in measures.items()}


def _digests(
    manifest: VectorManifest, topics: list[Topic], qrels: Qrels, level: int
) -> dict[str, str]:
    """Return digests of the inputs of a sweep: components, topics and judgements."""
    inputs = {
        "components": [manifest.corpus_fingerprint, manifest.settings.recorded()],
        "topics": topics,
        "judgements": [qrels, level],
    }
    return {
        name: hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
        for name, value in inputs.items()
    }

"""``python -m spade_pyserini.rerank``: the top of a run, put in order by a cross-encoder."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path

from spade_pyserini.cli import command
from spade_pyserini.errors import ArtifactError, InputError, NotFoundError, UsageError
from spade_pyserini.progress import progress_bar
from spade_pyserini.records import Hit, Ranking, Topic

MODULE = "spade_pyserini.rerank"
EXAMPLE = """python -m spade_pyserini.rerank --run runs/run.pydoc.bm25.pydoc-test.txt \\
      --corpus pydoc --topics pydoc/test --qrels pydoc/test \\
      --model cross-encoder/ms-marco-MiniLM-L6-v2"""
DEPTHS = (10, 20, 50, 100)
Score = Callable[[list[tuple[str, str]]], Sequence[float]]


def rerank(
    run: list[Ranking],
    topics: list[Topic],
    documents: dict[str, str],
    score: Score,
    depths: Sequence[int] = DEPTHS,
) -> dict[int, list[Ranking]]:
    """The run re-ranked to each depth. Pairs are scored once, to the largest depth.

    The hits below a depth follow in their old order, and hits of the same score keep theirs.
    ``documents`` are texts by docid, ``score`` takes pairs of query and text.
    """
    deepest = max(depths)
    queries = {topic.qid: topic.text for topic in topics}
    _refuse_missing((ranking.qid for ranking in run), queries, "topics")
    _refuse_missing(top_docids(run, deepest), documents, "corpus")
    reranked: dict[int, list[Ranking]] = {depth: [] for depth in sorted(set(depths))}
    for qid, hits in progress_bar(run, "re-ranking", "topics", len(run)):
        pairs = [(queries[qid], documents[hit.docid]) for hit in hits[:deepest]]
        scores = [float(value) for value in score(pairs)] if pairs else []
        if not all(map(math.isfinite, scores)):
            message = f"a score of topic {qid} is not finite; the weights of the model are damaged"
            raise ArtifactError(message)
        for depth, rankings in reranked.items():
            rankings.append(Ranking(qid, _reordered(hits, scores, depth)))
    return reranked


def top_docids(run: list[Ranking], depth: int) -> list[str]:
    """The documents in the first ``depth`` hits of any topic, each once."""
    return list(dict.fromkeys(hit.docid for ranking in run for hit in ranking.hits[:depth]))


def _reordered(hits: list[Hit], scores: list[float], depth: int) -> list[Hit]:
    scored = [Hit(hit.docid, score) for hit, score in zip(hits[:depth], scores, strict=False)]
    scored.sort(key=lambda hit: hit.score, reverse=True)
    rest = enumerate(hits[depth:], start=1)
    return scored + [Hit(hit.docid, scored[-1].score - place) for place, hit in rest]


def _refuse_missing(ids: Iterable[str], known: Container[str], what: str) -> None:
    if missing := [one for one in ids if one not in known]:
        shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
        message = f"{len(missing)} ids of the run are not in the {what}: {shown}"
        raise NotFoundError(f"{message}; give the {what} that the run was made with")


def load_cross_encoder(name: str, max_length: int | None = None, batch_size: int = 32) -> Score:
    """A cross-encoder by folder or hub name, safetensors only, as a function of pairs.

    Its scores are the raw outputs: after a sigmoid, the best pairs would all be 1.
    """
    from sentence_transformers import CrossEncoder
    from torch.nn import Identity

    from spade_pyserini.models.backbone import quiet

    try:
        with quiet():
            model = CrossEncoder(
                name, max_length=max_length, model_kwargs={"use_safetensors": True}
            )
    except Exception as error:  # the hub's errors, transformers' and safetensors' own
        reason = str(error).strip().splitlines()[0]
        raise NotFoundError(f"the cross-encoder {name!r} cannot be loaded: {reason}") from error
    config = model.config
    made = type(model.model).__name__
    if config.architectures and made not in config.architectures:
        # transformers would add a head of random weights.
        message = f"{name!r} is no cross-encoder but a {config.architectures[0]}"
        raise UsageError(f"{message}; its scores would be random")
    if model.num_labels != 1:
        message = f"the cross-encoder {name!r} gives {model.num_labels} values a pair"
        raise UsageError(f"{message}; a re-ranker gives one")
    longest = getattr(config, "max_position_embeddings", None)
    if max_length and longest and max_length > longest:
        raise UsageError(f"--max-length is {max_length}, the model reads {longest} tokens at most")

    def score(pairs: list[tuple[str, str]]) -> Sequence[float]:
        values: Sequence[float] = model.predict(
            pairs, batch_size=batch_size, show_progress_bar=False, activation_fn=Identity()
        ).tolist()
        return values

    return score


def main(arguments: list[str]) -> None:
    parser = command.parser(MODULE, "Re-rank a TREC run with a cross-encoder.", EXAMPLE)
    add = parser.add_argument
    add("--run", required=True, metavar="FILE", help="the first stage, a TREC run")
    add("--topics", required=True, metavar="NAME|FILE", help="the topics of the run")
    add("--corpus", required=True, metavar="NAME|PATH", help="the corpus of the run")
    add("--model", required=True, metavar="NAME|DIR", help="a cross-encoder: hub name or folder")
    add(
        "--depth",
        type=command.positive,
        nargs="+",
        default=DEPTHS,
        metavar="N",
        help="hits re-ranked",
    )
    add(
        "--output-prefix",
        metavar="PATH",
        help="runs are PATH.rerank-N.txt (default: the run's path without .txt)",
    )
    add("--qrels", metavar="NAME|FILE", help="print MRR@10 by depth on these judgements")
    add("--max-length", type=command.positive, metavar="N", help="tokens of a pair (default: all)")
    add("--batch-size", type=command.positive, default=32, metavar="N", help="pairs per batch")
    add("--overwrite", action="store_true", help="replace existing runs")
    command.add_data_dir(parser)
    options = parser.parse_args(arguments)
    command.log_to_stderr(options.verbose)

    from spade_pyserini.corpora import open_corpus
    from spade_pyserini.corpora.topics import read_topics
    from spade_pyserini.formats.files import file_name, refuse_existing
    from spade_pyserini.search import read_run, write_run

    prefix = options.output_prefix or options.run.removesuffix(".gz").removesuffix(".txt")
    outputs = {depth: Path(f"{prefix}.rerank-{depth}.txt") for depth in options.depth}
    for output in outputs.values():
        refuse_existing(output, options.overwrite)
    run = read_run(options.run)
    if not run:
        raise InputError("the run is empty", options.run)
    if options.qrels:
        _table(options.qrels, {"first stage": run})  # judgements that do not fit fail here
    topics = read_topics(options.topics)
    score = load_cross_encoder(options.model, options.max_length, options.batch_size)
    corpus = progress_bar(open_corpus(options.corpus), "reading", "documents")
    wanted = set(top_docids(run, max(options.depth)))
    documents = {one.docid: one.contents for one in corpus if one.docid in wanted}
    reranked = rerank(run, topics, documents, score, options.depth)
    for depth, rankings in reranked.items():
        write_run(rankings, outputs[depth], file_name(options.model), options.overwrite)
        print(outputs[depth])
    if options.qrels:
        names = {f"rerank-{depth}": rankings for depth, rankings in reranked.items()}
        print(_table(options.qrels, {"first stage": run, **names}))


def _table(name: str, runs: dict[str, list[Ranking]]) -> str:
    """MRR@10 by depth, as in the paper's Table 4."""
    from spade_pyserini.corpora.qrels import read_qrels, relevance_level
    from spade_pyserini.evaluate import compare_runs, parse_measures
    from spade_pyserini.evaluate.conventions import conventions
    from spade_pyserini.formats.tables import render

    qrels, level = read_qrels(name), relevance_level(name)
    found = compare_runs(qrels, runs, parse_measures(["MRR@10"]), level=level)
    first = dict([next(iter(runs.items()))])
    return f"{render(found.header(), found.rows())}\n{conventions(qrels, first, level=level)}"


if __name__ == "__main__":
    command.run(main)

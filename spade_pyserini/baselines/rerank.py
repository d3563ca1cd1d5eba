"""The top of a run, put in order by a cross-encoder."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Sequence

from spade_pyserini.errors import ArtifactError, NotFoundError, UsageError
from spade_pyserini.progress import progress_bar
from spade_pyserini.records import Hit, Ranking, Topic

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

"""Re-rank the top of a run with a cross-encoder."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING

from spade_pyserini.errors import ArtifactError, NotFoundError
from spade_pyserini.progress import progress_bar
from spade_pyserini.records import Hit, Ranking, Topic

if TYPE_CHECKING:
    from spade_pyserini.models.cross_encoder import Score

DEPTHS = (10, 20, 50, 100)


def rerank(
    run: list[Ranking],
    topics: list[Topic],
    documents: dict[str, str],
    score: Score,
    depths: Sequence[int] = DEPTHS,
) -> dict[int, list[Ranking]]:
    """Re-rank the first hits of a run, for several depths; return the new run of each depth.

    The cross-encoder scores each of the first ``max(depths)`` hits once. The hits after the first
    ``depth`` hits follow in their old order, and hits with equal scores keep their order.
    ``documents`` has texts by docid; ``score`` takes (query, text) pairs and returns their scores.
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
            message = f"a score of topic {qid} is not finite: the weights of the model are damaged"
            raise ArtifactError(f"{message}; download or train the model again")
        for depth, rankings in reranked.items():
            rankings.append(Ranking(qid, _reordered(hits, scores, depth)))
    return reranked


def top_docids(run: list[Ranking], depth: int) -> list[str]:
    """The distinct documents among the first ``depth`` hits of all topics."""
    return list(dict.fromkeys(hit.docid for ranking in run for hit in ranking.hits[:depth]))


def _reordered(hits: list[Hit], scores: list[float], depth: int) -> list[Hit]:
    """The first ``depth`` hits by their new scores, then the other hits, which get lower scores."""
    scored = [Hit(hit.docid, score) for hit, score in zip(hits[:depth], scores, strict=False)]
    scored.sort(key=lambda hit: hit.score, reverse=True)
    rest = enumerate(hits[depth:], start=1)
    return scored + [Hit(hit.docid, scored[-1].score - rank) for rank, hit in rest]


def _refuse_missing(ids: Iterable[str], known: Container[str], source: str) -> None:
    """Raise `NotFoundError` if an id of the run is not in ``known``."""
    if missing := [identifier for identifier in ids if identifier not in known]:
        shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
        message = f"{len(missing)} ids of the run are not in the {source}: {shown}"
        raise NotFoundError(f"{message}; give the {source} that the run was made with")

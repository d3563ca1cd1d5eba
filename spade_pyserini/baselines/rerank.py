"""The top of a run, put in order by a cross-encoder."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence

from spade_pyserini.errors import ArtifactError, NotFoundError
from spade_pyserini.models.cross_encoder import Score
from spade_pyserini.progress import progress_bar
from spade_pyserini.records import Hit, Ranking, Topic

DEPTHS = (10, 20, 50, 100)


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

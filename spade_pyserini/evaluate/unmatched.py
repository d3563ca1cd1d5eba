"""Describe runs whose topics or documents are not those of the judgements.

Often, the cause is that the ids are spelled differently.
"""

from __future__ import annotations

from spade_pyserini.formats.qrels import Qrels
from spade_pyserini.records import Ranking


def other_topics(qrels: Qrels, run: list[Ranking]) -> str:
    """Return the end of an error message: example topic ids of the run and of the judgements."""
    if not run or not qrels:
        return "give the qrels for the topics of the run"
    judged = next(iter(qrels))
    message = f"the topic ids of the run look like {run[0].qid!r}"
    message = f"{message}, those of the judgements like {judged!r}"
    if " " in judged.strip():
        cure = "give judgements with the ids of the topics, not with their texts"
        return f"{message}, which looks like the text of a query; {cure}"
    return f"{message}; give the qrels for the topics of the run"


def unmatched_warnings(qrels: Qrels, runs: dict[str, list[Ranking]], level: int = 1) -> list[str]:
    """Return a warning for each run that has none of the relevant documents of any topic.

    ``level`` is the lowest grade of a relevant document.
    """
    relevant = {
        docid: None
        for grades in qrels.values()
        for docid, grade in grades.items()
        if grade >= level
    }
    if not relevant:
        return []
    missing = f"none of the {len(relevant)} relevant documents is in this run"
    if len(relevant) == 1:
        missing = "the only relevant document is not in this run"
    warnings = []
    for name, run in runs.items():
        docids = [hit.docid for ranking in run for hit in ranking.hits]
        if docids and relevant.keys().isdisjoint(docids):
            warnings.append(
                f"{name}: {missing}; its document ids look like {docids[0]!r}, "
                f"those of the judgements like {next(iter(relevant))!r}"
            )
    return warnings

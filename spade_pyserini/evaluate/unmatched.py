"""Describe runs whose topics or documents are not those of the judgements.

Often, the cause is that the ids are spelled differently.
"""

from __future__ import annotations

import re

from spade_pyserini.formats.qrels import Qrels
from spade_pyserini.records import Ranking

ROW_NUMBER = re.compile("[1-9][0-9]{0,11}")


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
    other = "give the qrels for the topics of the run"
    if _are_row_numbers([ranking.qid for ranking in run]):
        cause = "`spade search` has probably numbered the topics by row, because it did not know "
        cause = f"{cause}their column of ids"
        cure = "search again with `spade search --query-id-field COLUMN --overwrite`"
        return f"{message}; {cause}; {cure}, or {other}"
    return f"{message}; {other}"


def _are_row_numbers(qids: list[str]) -> bool:
    """Whether the ids are numbers from 1, of which at most half are missing (topics without hits).

    The ids of a known collection, such as MS MARCO, are not: most of their numbers are large.
    """
    return all(ROW_NUMBER.fullmatch(qid) and int(qid) <= 2 * len(qids) for qid in qids)


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

"""The section of a report that shows the documents that runs retrieve for a topic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from textwrap import shorten

from spade_pyserini.analysis.html import elements
from spade_pyserini.formats.qrels import Qrels
from spade_pyserini.records import Document, FindDocuments, Ranking

DEPTH = 5  # documents to show of each run
RELEVANT = 5  # relevant documents to show of each topic
WIDTH = 200  # characters to show of each text


class ShownTopics:
    """The topics of a report, each with an anchor; ``texts`` are their queries by id."""

    def __init__(self, qids: Sequence[str], texts: Mapping[str, str]) -> None:
        self.anchors = {qid: f"topic-{number}" for number, qid in enumerate(qids, start=1)}
        self._texts = texts

    @property
    def links(self) -> dict[str, str]:
        """The anchor of each topic by its label, for tables."""
        return {self.label(qid): anchor for qid, anchor in self.anchors.items()}

    def label(self, qid: str) -> str:
        """Return the label of a topic: its id and its text."""
        return f"{qid} {self._texts.get(qid, '')}".strip()

    def documents_section(
        self,
        qrels: Qrels,
        runs: Mapping[str, list[Ranking]],
        find: FindDocuments | None = None,
        level: int = 1,
    ) -> str:
        """Return a section with the first documents of each run for each topic.

        Documents with a grade of ``level`` or more are listed as relevant.
        """
        ranked = {
            name: {ranking.qid: [hit.docid for hit in ranking.hits[:DEPTH]] for ranking in run}
            for name, run in runs.items()
        }
        relevant = {qid: _relevant(qrels.get(qid, {}), level) for qid in self.anchors}
        documents: Mapping[str, Document] = {}
        if find:
            docids = {docid for docids in relevant.values() for docid in docids}
            docids |= {
                docid
                for lists in ranked.values()
                for qid in self.anchors
                for docid in lists.get(qid, [])
            }
            documents = find(docids)
        topics = []
        for qid, anchor in self.anchors.items():
            lists = {name: by_topic.get(qid, []) for name, by_topic in ranked.items()}
            lists["judged relevant"] = relevant[qid]
            boxes = elements.side_by_side(
                f"<h3>{escape(name)}</h3>{_table(docids, qrels.get(qid, {}), documents)}"
                for name, docids in lists.items()
            )
            heading = f"<h3>{escape(self.label(qid))}</h3>"
            topics.append(f'<div class="topic" id="{anchor}">{heading}{boxes}</div>')
        note = f"The first {DEPTH} documents of each run, with the grades of the judgements."
        return elements.section("Documents", elements.paragraph(note), *topics)


def _relevant(judged: Mapping[str, int], level: int) -> list[str]:
    """Return at most `RELEVANT` documents with a grade of ``level`` or more, the highest first."""
    docids = sorted((docid for docid in judged if judged[docid] >= level), key=lambda d: -judged[d])
    return docids[:RELEVANT]


def _table(docids: list[str], judged: Mapping[str, int], documents: Mapping[str, Document]) -> str:
    if not docids:
        return elements.paragraph("none")
    rows = [
        [docid, str(judged[docid]) if docid in judged else "not judged"]
        + ([_text(documents.get(docid))] if documents else [])
        for docid in docids
    ]
    return elements.table(["document", "grade", *(["text"] if documents else [])], rows)


def _text(document: Document | None) -> str:
    if document is None:
        return "not in the corpus"
    return shorten(document.contents, WIDTH, placeholder=" ...")

"""Find queries that are documents of the corpus themselves, as in ArguAna.

A query counts as a document of the corpus if both the ids and the texts agree. Equal ids alone are
not enough, because many collections number both topics and documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from spade_pyserini.corpora import Corpus, open_corpus
from spade_pyserini.corpora.catalogue import find_split
from spade_pyserini.corpora.checks import raise_error
from spade_pyserini.corpora.data_directory import collection_folder, find_file, is_collection
from spade_pyserini.corpora.recorded import open_local
from spade_pyserini.corpora.topics import read_topics
from spade_pyserini.errors import SpadeError
from spade_pyserini.records import Ranking

LEAST = 0.5  # a query must have at least this share of the characters of the document


def own_documents(
    runs: Iterable[list[Ranking]], split: str | Path, *, data_dir: str | Path | None = None
) -> frozenset[str]:
    """Return the ids of topics that are documents and retrieve themselves in one of the runs.

    Topics and corpus are those of the ``split`` that the judgements belong to. Nothing is
    downloaded: if the texts are not on this machine, the result is empty.
    """
    candidates = {
        ranking.qid
        for run in runs
        for ranking in run
        if any(hit.docid == ranking.qid for hit in ranking.hits)
    }
    corpus = _corpus(split, data_dir) if candidates else None
    if corpus is None:
        return frozenset()
    try:
        queries = {topic.qid: topic.text for topic in read_topics(split, data_dir=data_dir)}
        documents = corpus.documents(raise_error)
        return frozenset(
            document.docid
            for document in documents
            if document.docid in candidates
            and agree(queries.get(document.docid, ""), document.contents)
        )
    except (SpadeError, OSError):  # not reported: the result is used only for a note
        return frozenset()


def agree(query: str, contents: str) -> bool:
    """Whether a query is a contiguous part of a document's text, at least half as long as it."""
    words, own = _words(query), _words(contents)
    return bool(words) and words in own and len(words) >= LEAST * len(own)


def _words(text: str) -> str:
    """The words of a text in lower case, with spaces between, before and after them."""
    words = re.findall(r"[^\W_]+", text.lower())
    return f" {' '.join(words)} " if words else ""


def _corpus(split: str | Path, data_dir: str | Path | None) -> Corpus | None:
    """The corpus that a split belongs to; None if it is not on this machine."""
    if find_file(split, data_dir):
        return None
    if match := find_split(str(split)):
        return open_local(match[0].name, data_dir)
    parent = Path(split).parent
    folder = collection_folder(str(parent), data_dir) or parent
    return open_corpus(str(folder)) if is_collection(folder) else None

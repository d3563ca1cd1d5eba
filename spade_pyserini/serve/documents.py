"""Answers about a document or a term: vectors, heat maps, postings. No model is needed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from spade_pyserini.analysis.explain import words_with_impacts
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.records import Document, FindDocuments
from spade_pyserini.search import ImpactSearcher
from spade_pyserini.serve.limits import RefusedError
from spade_pyserini.serve.records import (
    DocumentAnswer,
    DocumentTerm,
    ExplainAnswer,
    MatchedTerm,
    Piece,
    TermAnswer,
    TermHit,
)


def describe_document(searcher: ImpactSearcher, find: FindDocuments, docid: str) -> DocumentAnswer:
    """Return a document and its vector."""
    terms, document = _document(searcher, find, docid)
    title, text = (document.title, document.text) if document else (None, None)
    return DocumentAnswer(docid, title, text, terms)


def explain_document(
    searcher: ImpactSearcher, find: FindDocuments, docid: str, query: str, most: int
) -> ExplainAnswer:
    """Explain the score of a document for a query; return up to ``most`` characters of its text."""
    terms, document = _document(searcher, find, docid)
    impacts = {term.term: term for term in terms}
    query_terms = searcher.query_terms(query)
    score = sum(impacts[term].impact for term in query_terms if term in impacts)
    matched = [
        MatchedTerm(term.term, term.impact, round(term.impact / max(1, score), 4), term.in_text)
        for term in terms
        if term.term in query_terms
    ]
    text = document.text if document else ""
    own = {term.term: term.impact for term in terms if term.in_text}
    return ExplainAnswer(
        docid,
        document.title if document else None,
        score,
        matched,
        [term for term in query_terms if term not in impacts],
        text_pieces(text[:most], own, searcher.wordpieces, query_terms),
        [term for term in terms if term.in_text is False],
        len(terms),
        len(text) > most,
    )


def text_pieces(
    text: str,
    impacts: Mapping[str, int],
    wordpieces: WordPieces,
    query_terms: Collection[str] = (),
) -> list[Piece]:
    """Divide a text into words with an impact and the pieces between such words (impact 0)."""
    wanted = frozenset(query_terms)
    pieces: list[Piece] = []
    between = ""
    for piece, impact in words_with_impacts(text, impacts, wordpieces):
        if impact == 0:
            between += piece
            continue
        if between:
            pieces.append(Piece(between, 0, False))
            between = ""
        matches = bool(wanted) and not wanted.isdisjoint(wordpieces.query_terms(piece))
        pieces.append(Piece(piece, impact, matches))
    return [*pieces, Piece(between, 0, False)] if between else pieces


def describe_term(searcher: ImpactSearcher, find: FindDocuments, term: str, k: int) -> TermAnswer:
    """Return the documents in which a term has the largest impacts."""
    # Terms are passed to Java separated by spaces. Terms of the vocabulary never contain a space.
    if term not in searcher.wordpieces.term_ids:
        raise RefusedError(404, f"{term!r} is not a WordPiece of the vocabulary")
    frequency = searcher.document_frequencies([term])[term]
    hits = searcher.search_terms([term], k)
    documents = find([hit.docid for hit in hits]) if hits else {}
    described = []
    for hit in hits:
        document = documents.get(hit.docid)
        in_text = None
        if document is not None:
            in_text = term in searcher.query_terms(document.contents)
        title = document.title if document else None
        described.append(TermHit(hit.docid, int(hit.score), title, in_text))
    return TermAnswer(term, frequency, searcher.manifest.documents, described)


def _document(
    searcher: ImpactSearcher, find: FindDocuments, docid: str
) -> tuple[list[DocumentTerm], Document | None]:
    """Return the terms of a document and, if available, the document with its text.

    The term with the largest impact is first.
    """
    impacts = searcher.doc(docid)
    if impacts is None:
        raise RefusedError(404, f"the index has no document {docid!r}")
    document = find([docid]).get(docid)
    own = None if document is None else frozenset(searcher.query_terms(document.contents))
    return list(_terms(impacts, own)), document


def _terms(impacts: Mapping[str, int], own: Collection[str] | None) -> Iterable[DocumentTerm]:
    for term, impact in sorted(impacts.items(), key=lambda item: -item[1]):
        yield DocumentTerm(term, impact, None if own is None else term in own)

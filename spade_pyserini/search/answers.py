"""Answers: the hits of a query with titles, snippets, and the terms that make up the scores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from spade_pyserini.errors import ArtifactError, UsageError
from spade_pyserini.formats.unicode import printable
from spade_pyserini.models.wordpieces import without_punctuation
from spade_pyserini.records import Document, FindDocuments, Hit
from spade_pyserini.search.batch import search_documents
from spade_pyserini.search.bm25 import Bm25Searcher
from spade_pyserini.search.impact import ImpactSearcher
from spade_pyserini.search.snippets import MatchedTermsOfWord, Snippet, best_snippet, mark_words

Searcher = ImpactSearcher | Bm25Searcher

BOLD, FAINT, RESET = "\033[1;33m", "\033[2m", "\033[0m"
INDENT = " " * 6
NOTE = "* not in the text: the model added it"
NO_HITS = "no document has any of these terms"


class MatchedTerm(NamedTuple):
    """A term of the query that a document has.

    weight: how much the term adds to the score.
    share: the weight divided by the score.
    in_text: whether the text of the document contains the term; None if the text is not known.
    """

    term: str
    weight: float
    share: float
    in_text: bool | None


class Answer(NamedTuple):
    """A hit with title, snippet and matched terms.

    Title and snippet are None if the text of the document is not known.
    """

    rank: int
    docid: str
    score: float
    title: Snippet | None
    snippet: Snippet | None
    matched: tuple[MatchedTerm, ...]


class Answers(NamedTuple):
    """The hits of a query, best first.

    terms: the terms that were searched.
    ignored: words of the query that are not in the vocabulary.
    unmatched: those of ``terms`` that no document has.
    """

    query: str
    terms: tuple[str, ...]
    ignored: tuple[str, ...]
    unmatched: tuple[str, ...]
    hits: tuple[Answer, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the answers as values for JSON; ``marks`` has the positions of matched words."""
        return {
            "query": self.query,
            "terms": list(self.terms),
            "ignored": list(self.ignored),
            "unmatched": list(self.unmatched),
            "hits": [
                {
                    **answer._asdict(),
                    "title": _as_json(answer.title),
                    "snippet": _as_json(answer.snippet),
                    "matched": [term._asdict() for term in answer.matched],
                }
                for answer in self.hits
            ],
        }

    def as_text(self, *, color: bool = False) -> str:
        """Return the answers for a terminal; with ``color``, matched words are bold."""
        lines = [f"query: {printable(' '.join(self.terms))}"]
        if ignored := without_punctuation(self.ignored):
            lines.append(f"ignored, not in the vocabulary: {printable(' '.join(ignored))}")
        unmatched = without_punctuation(self.unmatched)
        if unmatched and self.hits:  # without hits, `NO_HITS` says it of all terms
            lines.append(f"in no document: {printable(' '.join(unmatched))}")
        for answer in self.hits:
            lines += _lines(answer, color)
        if any(term.in_text is False for answer in self.hits for term in answer.matched):
            lines.append(_faint(NOTE, color))
        return "\n".join(lines if self.hits else [*lines, NO_HITS])


def answer_query(
    searcher: Searcher,
    query: str,
    k: int,
    find: FindDocuments | None = None,
    delimiter: str | None = None,
) -> Answers:
    """Search ``query`` and describe the ``k`` best hits; ``find`` returns documents by id.

    With a ``delimiter``, hits are passages; the id of a passage consists of a docid, the delimiter
    and a number. Only the best passage of each document is described.
    """
    hits: list[Hit]
    if delimiter is None:
        hits = searcher.search(query, k)
    else:
        hits = search_documents(searcher, query, k, delimiter)
    described = describe_hits(searcher, hits, partial(matched_terms, searcher, query), find)
    ignored = (
        searcher.wordpieces.unknown_words(query) if isinstance(searcher, ImpactSearcher) else []
    )
    terms, unmatched = searcher.query_terms(query), searcher.unknown_terms(query)
    return Answers(query, tuple(terms), tuple(ignored), tuple(unmatched), described)


def describe_hits(
    searcher: Searcher,
    hits: Sequence[Hit],
    weights_of: Callable[[str], Mapping[str, float]],
    find: FindDocuments | None = None,
) -> tuple[Answer, ...]:
    """Describe hits; ``weights_of(docid)`` returns the weights of the terms that match."""
    documents = find([hit.docid for hit in hits]) if find and hits else {}
    return tuple(
        _describe(searcher, rank, hit, weights_of(hit.docid), documents.get(hit.docid))
        for rank, hit in enumerate(hits, start=1)
    )


def _describe(
    searcher: Searcher,
    rank: int,
    hit: Hit,
    weights: Mapping[str, float],
    document: Document | None,
) -> Answer:
    in_text = _terms_in_text(searcher, weights, document)
    matched = tuple(
        MatchedTerm(
            term,
            weight,
            round(weight / hit.score, 4) if hit.score else 0.0,
            None if in_text is None else term in in_text,
        )
        for term, weight in weights.items()
    )
    if document is None:
        return Answer(rank, hit.docid, hit.score, None, None, matched)
    of_word = _matched_terms_of_word(searcher, weights)
    return Answer(
        rank,
        hit.docid,
        hit.score,
        mark_words(document.title, of_word),
        best_snippet(document.text, of_word, weights),
        matched,
    )


def _terms_in_text(
    searcher: Searcher, matched: Mapping[str, float], document: Document | None
) -> Collection[str] | None:
    """Return the terms of a document's text; None if the text is unknown.

    For BM25, only the matched terms are returned.
    """
    if document is None:
        return None
    if isinstance(searcher, Bm25Searcher):  # BM25 matches only terms of the text
        return matched
    return frozenset(searcher.text_terms(document.contents))


def matched_terms(searcher: Searcher, query: str, docid: str) -> Mapping[str, float]:
    """Return the terms of the query that a hit has, and how much each term adds to the score.

    Raises `ArtifactError` if the index has no document with the id of the hit.
    """
    try:
        return searcher.matched_terms(query, docid)
    except UsageError:
        message = f"{searcher.index} is damaged: it has no document {docid!r}, which a search found"
        cure = "check the index with `spade index --verify`, or build it again"
        raise ArtifactError(f"{message}; {cure}") from None


def _matched_terms_of_word(searcher: Searcher, weights: Mapping[str, float]) -> MatchedTermsOfWord:
    """Return a function that maps a word to its matched terms.

    If the matched terms cover less than half of the characters of the word, the function returns no
    term.
    """

    @cache
    def of_word(word: str) -> frozenset[str]:
        lengths = {term: len(term.removeprefix("##")) for term in searcher.text_terms(word)}
        matched = frozenset(lengths.keys() & weights.keys())
        covered = sum(lengths[term] for term in matched)
        return matched if 2 * covered >= sum(lengths.values()) else frozenset()

    return of_word


def _as_json(snippet: Snippet | None) -> dict[str, Any] | None:
    return None if snippet is None else snippet._asdict()


def _lines(answer: Answer, color: bool) -> list[str]:
    """Return the lines of a hit: rank, id, score and title; the snippet; the matched terms."""
    begin, end = (BOLD, RESET) if color else ("", "")
    title = answer.title.marked(begin, end) if answer.title else ""
    head = f"{answer.rank:4}. {printable(answer.docid)}  ({answer.score:.6g})"
    lines = [f"{head}  {title}".rstrip()]
    if answer.snippet and answer.snippet.text:
        lines.append(f"{INDENT}{answer.snippet.marked(begin, end)}")
    terms = "  ".join(map(_term, answer.matched))
    return [*lines, _faint(f"{INDENT}{terms}", color)]


def _term(matched: MatchedTerm) -> str:
    mark = "*" if matched.in_text is False else ""
    return f"{printable(matched.term)}{mark} {matched.weight:.4g} ({matched.share:.0%})"


def _faint(text: str, color: bool) -> str:
    return f"{FAINT}{text}{RESET}" if color else text

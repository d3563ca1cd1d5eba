"""The service behind the HTTP routes: opens indexes, answers requests, reloads changed indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from spade_pyserini import __version__
from spade_pyserini.formats.index_manifest import IndexManifest
from spade_pyserini.index.opening import index_state
from spade_pyserini.search import Bm25Searcher, ImpactSearcher
from spade_pyserini.search.texts import Texts
from spade_pyserini.serve.answering import Engines
from spade_pyserini.serve.documents import describe_document, describe_term, explain_document
from spade_pyserini.serve.expansion import Expander
from spade_pyserini.serve.judgements import Judgements
from spade_pyserini.serve.limits import Limits, RefusedError
from spade_pyserini.serve.query import SearchRequest
from spade_pyserini.serve.records import (
    DocumentAnswer,
    ExpandAnswer,
    ExplainAnswer,
    Hits,
    IndexStats,
    SearchAnswer,
    StatsAnswer,
    TermAnswer,
)
from spade_pyserini.serve.reloading import Reloading, Watcher
from spade_pyserini.serve.texts import LoadedTexts

# A new index replaces the old index as soon as its texts are read, but at the latest after this
# time.
RELOAD_SECONDS = 60.0

OpenTexts = Callable[[IndexManifest], Texts]
"""A function that opens the texts of an index; it raises `SpadeError` if that fails."""


@dataclass(frozen=True)
class ServeOptions:
    """The indexes, texts, judgements and model to serve.

    - ``index``: an impact index. ``tokenizer``: its tokenizer, if another tool built the index.
    - ``bm25``: a BM25 index of the same documents, for comparison.
    - ``open_texts``: a function that opens the texts of the documents.
    - ``model``, ``counts``: the model that expands texts, and its counts file; see `Expander`.
    """

    index: Path
    open_texts: OpenTexts
    bm25: Path | None = None
    tokenizer: str | None = None
    model: str | None = None
    counts: Path | None = None
    judgements: Judgements = field(default_factory=Judgements)
    limits: Limits = field(default_factory=Limits)


class OpenSpade(NamedTuple):
    """An open impact index with the texts of its documents."""

    searcher: ImpactSearcher
    texts: LoadedTexts

    def close(self) -> None:
        """Close the index."""
        self.searcher.close()


class Service:
    """Answers requests from any thread. Close a service only when no request is running."""

    def __init__(self, options: ServeOptions) -> None:
        self.limits = options.limits
        self._judgements = options.judgements
        self._expander = Expander(options.model, options.counts) if options.model else None
        self._spade = Reloading(
            partial(_open_spade, options),
            partial(index_state, options.index),
            prepare=lambda spade: spade.texts.wait(RELOAD_SECONDS),
        )
        self._bm25: Reloading[Bm25Searcher] | None = None
        if options.bm25 is not None:
            try:
                self._bm25 = Reloading(
                    partial(Bm25Searcher, options.bm25), partial(index_state, options.bm25)
                )
            except BaseException:
                self._spade.close()
                raise
        self._watcher = Watcher([self._spade, *([self._bm25] if self._bm25 else [])])

    def search(self, request: SearchRequest) -> SearchAnswer:
        """Answer ``/search``."""
        with self._engines() as engines:
            return engines.answer(request)

    def hits(self, request: SearchRequest) -> Hits:
        """Answer ``/search`` with ``brief=true``."""
        with self._engines() as engines:
            return engines.hits(request)

    def document(self, docid: str) -> DocumentAnswer:
        """Answer ``/doc``."""
        with self._spade.use() as spade:
            return describe_document(spade.searcher, spade.texts.find, docid)

    def explain(self, docid: str, query: str) -> ExplainAnswer:
        """Answer ``/explain``."""
        with self._spade.use() as spade:
            find = spade.texts.find
            return explain_document(spade.searcher, find, docid, query, self.limits.text)

    def term(self, term: str, k: int) -> TermAnswer:
        """Answer ``/terms``."""
        with self._spade.use() as spade:
            return describe_term(spade.searcher, spade.texts.find, term, k)

    def expand(self, text: str) -> ExpandAnswer:
        """Answer ``/expand``."""
        if self._expander is None:
            message = "the server has no model"
            raise RefusedError(404, f"{message}; start it with --model NAME to expand texts")
        return self._expander.expand(text)

    def stats(self) -> StatsAnswer:
        """Answer ``/stats``."""
        with self._spade.use() as spade, ExitStack() as stack:
            bm25 = stack.enter_context(self._bm25.use()) if self._bm25 else None
            return StatsAnswer(
                __version__,
                _index_stats(spade.searcher),
                _index_stats(bm25) if bm25 else None,
                spade.texts.state,
                spade.texts.problem,
                len(self._judgements),
                self._judgements.examples(),
                self._expander.model if self._expander else None,
                asdict(self.limits),
            )

    @contextmanager
    def _engines(self) -> Iterator[Engines]:
        with self._spade.use() as spade, ExitStack() as stack:
            bm25 = stack.enter_context(self._bm25.use()) if self._bm25 else None
            yield Engines(spade.searcher, bm25, spade.texts.find, self._judgements)

    def close(self) -> None:
        """Stop watching and close the indexes."""
        self._watcher.close()
        self._spade.close()
        if self._bm25 is not None:
            self._bm25.close()


def _open_spade(options: ServeOptions) -> OpenSpade:
    searcher = ImpactSearcher(options.index, options.tokenizer)
    return OpenSpade(searcher, LoadedTexts(partial(options.open_texts, searcher.manifest)))


def _index_stats(searcher: ImpactSearcher | Bm25Searcher) -> IndexStats:
    manifest = searcher.manifest
    return IndexStats(
        searcher.index.name,
        manifest.kind,
        manifest.corpus,
        manifest.model,
        manifest.documents,
        manifest.postings,
    )

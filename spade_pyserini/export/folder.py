"""Exports that are a folder with the files of an engine and the tokenizer for queries.

The export is written to a temporary folder, which is renamed when it is complete. Until then, an
existing export is not changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.errors import UsageError
from spade_pyserini.export.vocabulary import vectors_in_vocabulary
from spade_pyserini.formats.exchange import exchange
from spade_pyserini.formats.locks import lock
from spade_pyserini.formats.outputs import refuse_link
from spade_pyserini.formats.query_side import WORDS, QuerySide, load_side, load_weights, save_side
from spade_pyserini.formats.temporary import temporary_folder
from spade_pyserini.index.opening import index_tokenizer, locate, open_postings
from spade_pyserini.index.postings import Postings
from spade_pyserini.index.staging import check_replaceable
from spade_pyserini.models.queries import QueryEncoder, check_queries, open_queries
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.records import ImpactVector

TOKENIZER = "tokenizer.json"
# Start of the name of the file spade.queries.json, which describes how queries are encoded.
QUERIES = "spade"
OWN_FILES = (TOKENIZER, f"{QUERIES}.queries.json")


class ExportSource(NamedTuple):
    """The index to export.

    lucene: the folder of the index. postings: its open postings. wordpieces: its tokenizer.
    side: how its queries are encoded.
    """

    lucene: Path
    postings: Postings
    wordpieces: WordPieces
    side: QuerySide

    def vectors(self) -> Iterator[ImpactVector]:
        """Yield all vectors; raise `ArtifactError` at a term that is not in the vocabulary."""
        return vectors_in_vocabulary(self.postings, self.wordpieces, self.side)


class FolderEngine(NamedTuple):
    """An engine whose index is a folder.

    ``files`` matches the names of the engine's files and folders. ``write`` writes them to a
    folder, which contains the tokenizer already.
    ``numbers``: the engine identifies terms by numbers, so the terms must be WordPieces.
    """

    name: str
    files: re.Pattern[str]
    write: Callable[[ExportSource, Path], None]
    numbers: bool


def write_folder(
    engine: FolderEngine,
    index: str | Path,
    output: str | Path,
    tokenizer: str | Path | None = None,
    *,
    overwrite: bool = False,
) -> int:
    """Convert an impact index to the folder ``output``; return the number of documents.

    ``tokenizer`` is necessary only if the index was built without one.
    """
    source, folder = Path(index), Path(output)
    if folder.resolve() == source.resolve():
        raise UsageError(f"{folder} is the Lucene index itself; choose another output")
    refuse_link(folder)
    if folder.exists():
        names = re.compile("|".join((engine.files.pattern, *map(re.escape, OWN_FILES))))
        check_replaceable(folder, names, overwrite)
    wordpieces = index_tokenizer(source, tokenizer)
    side = locate(source, foreign=True).manifest.query
    if engine.numbers and side.kind == WORDS:
        message = f"{index}: its terms are words, but {engine.name} needs the ids of WordPieces"
        raise UsageError(f"{message}; export the index to PISA, BMP, OpenSearch or CIFF")
    weights = load_weights(source, side)
    with lock(folder), temporary_folder(folder) as temporary, open_postings(source) as postings:
        staging = temporary / "export"
        staging.mkdir()
        wordpieces.save(staging / TOKENIZER)
        engine.write(ExportSource(source, postings, wordpieces, side), staging)
        save_side(staging / QUERIES, side, weights)
        if folder.exists():  # swap both folders, so that there is an export at every moment
            exchange(staging, folder)
        else:
            staging.replace(folder)
        return len(postings.documents())


def folder_queries(folder: str | Path, queries: QueryEncoder | None = None) -> QueryEncoder:
    """Return the query encoder of an export.

    If queries need a neural model, ``queries`` must be the query encoder of this model. Otherwise,
    ``queries`` can be None.
    """
    wordpieces = WordPieces.load(Path(folder, TOKENIZER))
    side, weights = load_side(Path(folder, QUERIES))
    if queries is None:
        queries = open_queries(side, wordpieces, weights, folder)
    check_queries(side, queries, folder)
    return queries

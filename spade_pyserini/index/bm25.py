"""Build a BM25 index of a corpus, for comparison with impact indexes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.corpora import Corpus
from spade_pyserini.corpora.recorded import record_source
from spade_pyserini.errors import InputError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.index_manifest import IndexManifest
from spade_pyserini.formats.paths import sibling
from spade_pyserini.formats.temporary import temporary_folder
from spade_pyserini.index.anserini import AnseriniInput, run_index_collection
from spade_pyserini.index.counts import check_lucene_counts
from spade_pyserini.index.options import ANSERINI
from spade_pyserini.index.staging import build_in_staging, index_lock, log_path
from spade_pyserini.lucene.runtime import anserini_jar, find_java
from spade_pyserini.records import Document

# Length of the longest text that Anserini's JSON parser accepts, in UTF-16 code units.
MOST_CHARACTERS = 20_000_000
# The characters that Java's trim() removes. Anserini skips a document that has no other character.
JAVA_BLANKS = "".join(map(chr, range(33)))


def build_bm25_index(
    corpus: Corpus,
    output: str | Path,
    *,
    threads: int = 1,
    optimize: bool = False,
    overwrite: bool = False,
) -> IndexManifest:
    """Build a BM25 index of the texts of a corpus with Anserini's IndexCollection.

    ``optimize`` merges all segments into one. ``overwrite`` replaces an existing index.
    """
    output = Path(output)
    find_java()  # if Java is missing, fail before the corpus is read
    with index_lock(output), temporary_folder(sibling(output, "bm25-input")) as folder:
        documents = folder / "documents"
        texts = _write_texts(corpus, documents / "docs.jsonl")
        flags = ("--optimize",) if optimize else ()
        source = AnseriniInput("JsonCollection", documents, texts.documents, flags)
        expected = IndexManifest(
            kind="bm25",
            corpus=corpus.name,
            model="bm25",
            documents=texts.documents - texts.empty,
            empty_documents=texts.empty,
            postings=0,
            impacts=0,
            source_sha256=texts.digest,
            tokenizer_fingerprint=None,
            optimized=optimize,
            builder=ANSERINI,
            anserini=anserini_jar().stem,
            sources=[record_source(corpus)],
        )

        def build(staging: Path) -> IndexManifest:
            run_index_collection(source, staging, threads=threads, log=log_path(output))
            counts = check_lucene_counts(staging, expected)
            return replace(expected, postings=counts.postings, impacts=counts.impacts)

        return build_in_staging(output, expected, build, overwrite)


def _check_length(document: Document, corpus: Corpus) -> None:
    """Raise `InputError` if Anserini would leave out a document because of its length."""
    text = document.contents
    if 2 * len(text) <= MOST_CHARACTERS:
        return
    if (length := len(text.encode("utf-16-le", "surrogatepass")) // 2) > MOST_CHARACTERS:
        message = f"the document {document.docid!r} has {length:,} characters, and Anserini reads"
        cure = "divide it into passages with segment=WORDS:STRIDE, or remove it"
        raise InputError(f"{message} at most {MOST_CHARACTERS:,}; {cure}", corpus.source)


class _Texts(NamedTuple):
    documents: int
    empty: int
    digest: str


def _write_texts(corpus: Corpus, path: Path) -> _Texts:
    """Write the texts for Anserini's JsonCollection; return their counts and digest."""
    documents = empty = 0
    digest = hashlib.sha256()
    # The temporary file is outside the folder, because Anserini indexes every file in the folder.
    with atomic_write(path, near=path.parent) as stream:
        for document in corpus:
            documents += 1
            _check_length(document, corpus)
            empty += not document.contents.strip(JAVA_BLANKS)
            line = json.dumps({"id": document.docid, "contents": document.contents}).encode()
            digest.update(line)
            stream.write(line + b"\n")
    if not documents:
        raise InputError("the corpus is empty; give a corpus with documents", corpus.source)
    return _Texts(documents, empty, digest.hexdigest())

"""Train, encode, index and search the rows of a table. Finished work is not repeated."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.analysis.tables.latency import HITS, has_pisa, milliseconds, pisa_milliseconds
from spade_pyserini.analysis.tables.recipes import Budget, row_recipe, with_expansions
from spade_pyserini.analysis.tables.spec import Collection, Row, Table
from spade_pyserini.baselines.expand import expand_corpus
from spade_pyserini.baselines.query_generator import Sampling
from spade_pyserini.corpora import Corpus, apply_transforms, open_corpus
from spade_pyserini.corpora.topics import read_topics
from spade_pyserini.encode import EncodeOptions, encode_corpus
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.json_files import read_json_file, write_json
from spade_pyserini.formats.paths import folder_bytes
from spade_pyserini.formats.runs import write_run
from spade_pyserini.index import IndexOptions, build_bm25_index, build_impact_index
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.digests import DIGESTS
from spade_pyserini.models.precision import fastest_precision
from spade_pyserini.models.systems.loading import load_encoder
from spade_pyserini.records import Ranking, Topic
from spade_pyserini.search import Bm25Searcher, ImpactSearcher
from spade_pyserini.search.query_models import pre_encoded_queries
from spade_pyserini.train import fit_term_vectors, mine_negatives, train
from spade_pyserini.train.recipe import Recipe, load_recipe

logger = logging.getLogger(__name__)
# How TILDE expands documents: with 200 terms per document, as in the TILDEv2 paper.
EXPANSION = Sampling(per_doc=200, max_length=128, batch_size=32)


class Costs(NamedTuple):
    """The size and latency of the index of a row.

    terms: mean number of terms per document. megabytes: size of the index. lucene, pisa:
    milliseconds per query; ``pisa`` is None for BM25, or if PISA is not installed.
    """

    documents: int
    terms: float
    megabytes: float
    lucene: float
    pisa: float | None = None


class Bench(NamedTuple):
    """A table and the training budget of its systems. All files are written below ``folder``."""

    table: Table
    budget: Budget
    folder: Path
    data_dir: str | Path | None = None

    # Paths

    def model(self, row: Row) -> Path:
        """The folder of the training run of a row."""
        return self.folder / row.name / "train"

    def run(self, row: Row, collection: Collection) -> Path:
        """The file with the run of a row on a collection."""
        return self.folder / row.name / f"run.{collection.name}.txt"

    def costs(self, row: Row, collection: Collection) -> Costs:
        """The costs of a finished row on a collection."""
        return Costs(**read_json_file(self._figures(row, collection)))

    def is_finished(self, row: Row, collection: Collection) -> bool:
        """Whether the row was searched and measured on the collection."""
        return self._figures(row, collection).is_file()

    def _figures(self, row: Row, collection: Collection) -> Path:
        return self.folder / row.name / f"costs.{collection.name}.json"

    # Steps

    def steps(self) -> Iterator[str]:
        """Run all steps that are not finished; yield a line of progress before each."""
        left = [row for row in self.table.rows if self._left(row)]
        if not left:
            return
        recipe = load_recipe(self.table.recipe)
        if missing := _missing(recipe):
            yield f"BM25 negatives and validation pools, in {missing[0].parent}"
            mine_negatives(recipe, missing[0].parent, data_dir=self.data_dir)
        bench = self
        if self.table.start and self.budget.start is None:
            yield "the model that all systems start from"
            bench = self._replace(budget=replace(self.budget, start=str(self._start())))
        for row in left:
            yield from bench._finish(row)

    def _start(self) -> Path:
        """Train the model that all systems start from, set its query weights to 1, and save it."""
        recipe = load_recipe(self.table.start).change(seed=self.budget.seed)
        fitted = fit_term_vectors(recipe, self.folder / "start", data_dir=self.data_dir)
        boolean = self.folder / "start.boolean"
        if not (boolean / DIGESTS).is_file():  # save_pretrained writes this file last
            model = SpadeModel.from_pretrained(fitted, merge=False)
            model.query_weights.data.fill_(1)
            model.save_pretrained(boolean)
        return boolean

    def _left(self, row: Row) -> list[Collection]:
        return [x for x in self.table.collections if not self.is_finished(row, x)]

    def _finish(self, row: Row) -> Iterator[str]:
        if row.recipe:
            yield f"{row.name}: training"
            train(self._recipe(row), self.model(row), data_dir=self.data_dir)
        for collection in self._left(row):
            yield f"{row.name}: {collection.name}"
            costs = self._search(row, collection) if row.recipe else self._bm25(row, collection)
            write_json(self._figures(row, collection), costs._asdict())

    def _recipe(self, row: Row) -> Recipe:
        recipe = row_recipe(self.table, row, self.budget)
        if not row.expander:
            return recipe
        names = {collection.corpus: None for collection in recipe.training_collections}
        names |= {collection.corpus: None for collection in recipe.dev_collections}
        return with_expansions(recipe, {name: self._expansions(row, name) for name in names})

    def _expansions(self, row: Row, corpus: str, documents: Corpus | None = None) -> Path:
        """The file with the terms that a row's expander predicts for a corpus.

        The file is written if it does not exist.

        documents: the documents to expand, if they are not the complete corpus.
        """
        others = {other.name: other for other in self.table.rows}
        if row.expander not in others:
            raise UsageError(f"{row.name} needs the row {row.expander}; add it to the table")
        documents = documents or open_corpus(corpus, data_dir=self.data_dir)
        file = self.folder / row.name / f"expansions.{documents.name}.jsonl"
        if not file.is_file():
            file.parent.mkdir(parents=True, exist_ok=True)
            model = self.model(others[row.expander]) / "best"
            expand_corpus(documents, str(model), file, EXPANSION)
        return file

    # Search

    def _documents(self, collection: Collection) -> Corpus:
        """The documents of a collection that are searched: all of them, or a pool."""
        corpus = open_corpus(collection.corpus, data_dir=self.data_dir)
        if not collection.pool:
            return corpus
        run = self.folder / "pools" / f"{collection.name}.txt"
        if not run.is_file():
            index = self.folder / "pools" / f"bm25.{collection.name}"
            build_bm25_index(corpus, index)
            with Bm25Searcher(index) as searcher:
                write_run(searcher.batch_search(self._topics(collection), HITS), run, "bm25")
        sources = [f"{run}:{collection.pool}", collection.judgements]
        return apply_transforms(corpus, pool=sources, data_dir=self.data_dir)

    def _topics(self, collection: Collection) -> list[Topic]:
        return read_topics(collection.topics, data_dir=self.data_dir)

    def _bm25(self, row: Row, collection: Collection) -> Costs:
        index, topics = self._index(row, collection), self._topics(collection)
        manifest = build_bm25_index(self._documents(collection), index, optimize=True)
        with Bm25Searcher(index) as searcher:
            self._write(row, collection, searcher.batch_search(topics, HITS))
            lucene = milliseconds(lambda topic: searcher.search(topic.text, HITS), topics)
        terms = (manifest.postings or 0) / max(1, manifest.documents)
        return Costs(manifest.documents, round(terms, 1), _megabytes(index), lucene)

    def _search(self, row: Row, collection: Collection) -> Costs:
        documents = self._documents(collection)
        if row.expander:
            file = str(self._expansions(row, collection.corpus, documents))
            documents = apply_transforms(documents, expansions=file)
        encoder = load_encoder(self.model(row) / "best")
        encoder = encoder.with_precision(fastest_precision(encoder.device))
        vectors = self.folder / row.name / f"encode.{collection.name}"
        manifest = encode_corpus(documents, encoder, vectors, EncodeOptions(model_name=row.name))
        index, topics = self._index(row, collection), self._topics(collection)
        build_impact_index(vectors, index, IndexOptions(optimize=True))
        texts = [topic.text for topic in topics]
        qids = [topic.qid for topic in topics]
        queries = dict(zip(qids, encoder.queries.encode(texts), strict=True))
        named = [Topic(qid, qid) for qid in qids]  # `pre_encoded_queries` looks queries up by id
        with ImpactSearcher(index, queries=pre_encoded_queries(queries)) as searcher:
            self._write(row, collection, searcher.batch_search(named, HITS))
            lucene = milliseconds(lambda topic: searcher.search(topic.text, HITS), named)
        pisa = None
        if has_pisa():
            folder = self.folder / row.name / f"pisa.{collection.name}"
            pisa = pisa_milliseconds(index, folder, queries)
        terms = manifest.terms_per_document
        return Costs(manifest.documents, round(terms, 1), _megabytes(index), lucene, pisa)

    def _index(self, row: Row, collection: Collection) -> Path:
        return self.folder / row.name / f"index.{collection.name}"

    def _write(self, row: Row, collection: Collection, rankings: list[Ranking]) -> None:
        write_run(rankings, self.run(row, collection), row.name, overwrite=True)


def _missing(recipe: Recipe) -> list[Path]:
    """The BM25 runs that a recipe names but whose files do not exist."""
    names = [collection.negatives for collection in recipe.training_collections]
    names += [collection.pool for collection in recipe.dev_collections]
    return [Path(name) for name in names if name and not Path(name).is_file()]


def _megabytes(index: Path) -> float:
    return round(folder_bytes(index) / 1e6, 3)

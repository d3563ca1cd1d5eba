"""The rows and collections of the tables, with the results in the paper."""

from __future__ import annotations

from dataclasses import dataclass

BASE = "mini"  # the recipe that the recipes of all systems are based on


@dataclass(frozen=True)
class Row:
    """A system.

    name: its name in the table, and the name of its folder. recipe: the recipe that trains it;
    empty for BM25. expander: the name of the row whose model expands the documents of this system
    (`spade expand`); empty for plain documents.
    """

    name: str
    recipe: str = ""
    expander: str = ""


@dataclass(frozen=True)
class Collection:
    """Documents and topics to search.

    pool: if above 0, only a pool is searched: the documents judged relevant, and BM25's first
    ``pool`` documents for each topic. qrels: the name of the judgements; empty if the topics have
    the same name.
    """

    name: str
    corpus: str
    topics: str
    pool: int = 0
    qrels: str = ""

    @property
    def judgements(self) -> str:
        """The name or file of the judgements."""
        return self.qrels or self.topics


@dataclass(frozen=True)
class Table:
    """A table: rows, collections and measures.

    recipe: the recipe with the training data and SpaDE's settings. start: a recipe for the stage
    ``term-vectors``, which makes the model that all systems start from. If it is empty, all systems
    start from the backbone with new heads. baseline: the row that others are compared with.
    columns: the columns of the paper's table. paper: the paper's results by row. costs: whether to
    show terms per document, index size and latency on the first collection.
    """

    title: str
    recipe: str
    rows: tuple[Row, ...]
    collections: tuple[Collection, ...]
    measures: tuple[str, ...]
    columns: tuple[str, ...]
    paper: dict[str, tuple[float, ...]]
    start: str = ""
    baseline: str = "SpaDE"
    costs: bool = True


# The paper's Table 1: MS MARCO dev, TREC DL 2019 and 2020, latency in PISA, index size.
MARCO = ("MRR@10", "R@1k", "DL19 nDCG@10", "DL19 MAP", "DL20 nDCG@10", "DL20 MAP", "ms", "GB")
MARCO_FIGURES: dict[str, tuple[float, ...]] = {
    "BM25": (0.187, 0.859, 0.500, 0.293, 0.490, 0.289, 14, 0.8),
    "SparTerm": (0.279, 0.925),
    "uniCOIL": (0.352, 0.958, 0.702, 0.461, 0.673, 0.439, 64, 1.4),
    "SPLADE-max": (0.340, 0.965, 0.682, 0.431, 0.671, 0.451, 412, 2.0),
    "DistilSPLADE-max": (0.369, 0.979, 0.728, 0.485, 0.710, 0.490, 1606, 4.6),
    "DeepCT": (0.246, 0.911, 0.550, 0.339, 0.553, 0.344, 12, 0.8),
    "DeepImpact": (0.327, 0.948, 0.696, 0.457, 0.652, 0.426, 24, 1.6),
    "SPLADE-doc": (0.325, 0.939, 0.671, 0.406, 0.611, 0.399, 108, 2.1),
    "TILDEv2": (0.333, 0.958, 0.652, 0.408, 0.648, 0.432, 31, 2.0),
    "SpaDE": (0.352, 0.968, 0.678, 0.437, 0.665, 0.454, 49, 3.6),  # k = 10
}
# The paper's Table 2: nDCG@10 on each collection.
BEIR = ("NFCorpus", "SciFact")
BEIR_FIGURES: dict[str, tuple[float, ...]] = {
    "BM25": (0.325, 0.665),
    "DeepCT": (0.283, 0.630),
    "SPLADE-doc": (0.310, 0.649),
    "SpaDE": (0.327, 0.676),
}
ROWS = (
    Row("BM25"),
    Row("SparTerm", "sparterm"),
    Row("uniCOIL", "unicoil"),
    Row("SPLADE-max", "splade-max"),
    Row("DistilSPLADE-max", "distilsplade-max"),
    Row("DeepCT", "deepct"),
    Row("DeepImpact", "deepimpact"),
    Row("SPLADE-doc", "splade-doc"),
    Row("TILDE", "tilde"),
    Row("TILDEv2", "tildev2", expander="TILDE"),
    Row("SpaDE", BASE),
)
NFCORPUS = Collection("NFCorpus", "nfcorpus", "nfcorpus/test")
TABLES = {
    "table1": Table(
        title="Table 1 of the paper at a small scale: all systems trained on MiniLM",
        recipe="table1",
        start="table1-start",
        rows=ROWS,
        collections=(
            Collection("DL19+20", "msmarco-dl19-20-pool", "msmarco-dl19-20-pool/test", 20),
            Collection("InsuranceQA", "insuranceqa", "insuranceqa/test", 2),
            NFCORPUS,
        ),
        measures=("MRR@10", "R@1000", "nDCG@10", "MAP"),
        columns=MARCO,
        paper=MARCO_FIGURES,
    ),
    "table2": Table(
        title="Table 2 of the paper at a small scale: zero-shot on BEIR",
        recipe="table1",
        start="table1-start",
        rows=tuple(row for row in ROWS if row.name in BEIR_FIGURES),
        collections=(NFCORPUS, Collection("SciFact", "scifact", "scifact/test")),
        measures=("nDCG@10",),
        columns=BEIR,
        paper=BEIR_FIGURES,
        costs=False,
    ),
}

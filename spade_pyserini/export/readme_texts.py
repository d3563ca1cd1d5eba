"""Templates of the READMEs of exports; `string.Template` fills in names such as ``$engine``."""

from __future__ import annotations

from spade_pyserini.formats.query_side import BOOLEAN_KIND, NEURAL, TABLE, WORDS, QuerySide

# The last part of the file name of queries, by engine.
QUERY_SUFFIXES = {"ciff": "tsv", "pisa": "jsonl", "opensearch": "ndjson", "milvus": "jsonl"}

NO_TOKENIZER = """\
The index was built without a tokenizer. To make queries, name the model that encoded the documents:
`spade topics --tokenizer MODEL --to $engine`.
"""

_MAKE_QUERIES = """\
    spade topics --topics TOPICS $encoding --to $engine --output $queries
"""

TOPICS = {
    "ciff": """\
    spade topics --topics TOPICS $encoding --output $queries

writes a line `qid <tab> term term ...` for each topic of the file TOPICS. A term of weight n is
written n times.
""",
    "pisa": _MAKE_QUERIES
    + """
writes the queries of the file TOPICS for PyTerrier. A search needs nothing else from this package:

```python
import pandas
from pyterrier_pisa import PisaIndex

queries = pandas.read_json("$queries", lines=True, dtype={"qid": str})
engine = PisaIndex($name_literal, stemmer="none").quantized(num_results=1000, toks_scale=1.0)
print(engine(queries)[["qid", "docno", "score"]])
```
""",
    "opensearch": _MAKE_QUERIES.replace(" --output", " --field $field$text_flag --output")
    + """
writes the queries of the file TOPICS. One call searches all of them, and the n-th response belongs
to the n-th topic:

    curl -sS -XPOST "$$HOST/$collection/_msearch" -H 'Content-Type: application/x-ndjson' \\
        --data-binary @$queries
""",
    "milvus": _MAKE_QUERIES
    + """
writes the queries of the file TOPICS for pymilvus. A search needs nothing else from this package:

```python
import json
from pymilvus import MilvusClient

client = MilvusClient($uri_literal)
client.load_collection("$collection")
for line in open("$queries"):
    query = json.loads(line)
    vector = {int(term): weight for term, weight in query["vector"].items()}
    (hits,) = client.search("$collection", data=[vector], anns_field="impacts", limit=10)
    print(query["qid"], [(hit["id"], hit["distance"]) for hit in hits])
```
""",
}

_INTRODUCTION = """\
$documents documents of $corpus, encoded by $model.
"""

_SCORES = {
    BOOLEAN_KIND: """\
The terms are WordPieces. A query is the set of its WordPieces, and the score of a document is the
sum of their impacts.
""",
    WORDS: """\
The terms are words, in lower case. A query is the set of its words, and the score of a document is
the sum of their impacts.
""",
    TABLE: """\
The terms are WordPieces. The file `$side` next to this file lists the weights of WordPieces in
queries. Each distinct WordPiece of a query counts once; a WordPiece that is not in the list is
ignored. The score of a document is the sum of weight times impact.
""",
    NEURAL: """\
The terms are WordPieces. The model `$query_model` encodes a query: it returns terms with
weights, including terms that the query does not have. The score of a document is the sum of weight
times impact. In the calls below, `$query_model` stands for the name or the folder of this model.
""",
}

_PROMPT = """\
The text `$prompt` is put before each query.
"""


def introduction(side: QuerySide) -> str:
    """Return the first paragraph of a README: the terms, the queries and the scores."""
    return _INTRODUCTION + _SCORES[side.kind] + (_PROMPT if side.prompt else "")


# Parts of a README that are empty unless a neural model encodes the queries of the export.
NEURAL_PARTS = {
    "example_note": """\
In this example both terms have weight 1; the model would give them other weights. """,
    "neural_import": "from spade_pyserini.search.query_models import neural_queries\n",
    "pisa_import": """\
from spade_pyserini.export.queries import read_queries
from spade_pyserini.search.query_models import neural_queries
""",
    "pisa_queries": ", queries=read_queries($query_arguments)",
}

TEXTS = {
    "ciff": "# $name\n\n"
    + """\
$introduction
The file is in CIFF, the Common Index File Format. Impacts are stored as term frequencies, so the
engine must sum the frequencies of the query terms, each times its weight, without BM25 and length
normalization. It must not change the terms: no stemming, no stop words.

Search the file from Python (the complete file is read into memory, so it must be small).
${example_note}The query is written as its terms with their weights:

```python
from spade_pyserini.export.ciff import read_ciff

vectors = read_ciff($name_literal).vectors
query = $example_weights
scores = {
    docid: sum(weight * vector.get(term, 0) for term, weight in query.items())
    for docid, vector in vectors.items()
}
print(sorted(scores.items(), key=lambda item: -item[1])[:10])
```

## Queries

$topics""",
    "pisa": "# $name for PISA\n\n"
    + """\
$introduction
PISA needs `pip install 'spade_pyserini[pisa]'`. Run these lines in the folder of this file:

```python
from spade_pyserini.export.pisa import PisaSearcher
$pisa_import
searcher = PisaSearcher($name_literal$pisa_queries)
for hit in searcher.search("$example"):
    print(hit.docid, hit.score)
```

## Queries from a file

$topics""",
    "opensearch": "# $name for OpenSearch and Elasticsearch\n\n"
    + """\
$introduction
Run these commands in the folder of this file. If the server needs a password, use its https address
and add `-u USER:PASSWORD` to each call of curl.

    HOST=http://localhost:9200

Create the index, with its mapping:

    curl -sS -XPUT "$$HOST/$collection" -H 'Content-Type: application/json' \\
        --data-binary @$file.mapping.json

Load the documents; `"errors":false` means that all documents of a file were stored:

    for part in $file.bulk-*.ndjson; do
        curl -sS -XPOST "$$HOST/$collection/_bulk?refresh=true&filter_path=errors,items.*.error" \\
            -H 'Content-Type: application/x-ndjson' --data-binary "@$$part"
    done

${example_note}Search for the two terms that add most to the score of a document:

    curl -sS -XPOST "$$HOST/$collection/_search?pretty" -H 'Content-Type: application/json' \\
        --data-binary @$file.query.json

## Queries from a file

$topics""",
    "milvus": "# $collection in Milvus\n\n"
    + """\
$introduction
Milvus needs `pip install 'spade_pyserini[milvus]'`. A dimension of the field `impacts` is the id of
a WordPiece. Run these lines in the folder of this file:

```python
from spade_pyserini.export.milvus import MilvusSearcher
from spade_pyserini.export.queries import read_queries
$neural_import
queries = read_queries($query_arguments)
searcher = MilvusSearcher($uri_literal, "$collection", queries)
for hit in searcher.search("$example"):
    print(hit.docid, hit.score)
searcher.close()
```

## Queries from a file

$topics""",
}

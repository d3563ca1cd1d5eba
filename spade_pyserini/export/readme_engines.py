"""README templates of all engines: those in `readme_texts`, and one for all folder exports."""

from spade_pyserini.export import readme_texts

# Engines whose export is a folder: the name of the engine, and a paragraph about its search.
FOLDERS = {
    "qdrant": (
        "Qdrant",
        "The folder `shard` is a shard of Qdrant Edge, which runs in your process. A dimension of "
        "the sparse\nvector `impacts` is the id of a WordPiece, and the payload `id` is the "
        "id of a document.\nScores are exact inner products.",
    ),
    "seismic": (
        "Seismic",
        "The index is held in memory, and a component is the id of a WordPiece. The search is\n"
        "approximate: the scores of the hits are inner products, but hits may be missing. With "
        "a smaller\n`heap_factor`, `SeismicSearcher` misses fewer hits, but takes longer.",
    ),
    "bmp": (
        "BMP",
        "The index is held in memory. Scores are exact inner products. BMP computes an upper bound "
        "of the\nscores in each block of documents, and BMP 0.2.8 never scores the block with the "
        "lowest bound.\nHits may therefore be missing in a small index, or if nearly all matching "
        "documents are requested.",
    ),
}

_SEARCH = """\
TITLE needs `pip install 'spade_pyserini[$engine]'`. ABOUT
Run these lines in the folder of this file:

```python
from spade_pyserini.export.$engine import SEARCHER
$pisa_import
searcher = SEARCHER($name_literal$pisa_queries)
for hit in searcher.search("$example"):
    print(hit.docid, hit.score)
```

## Queries from a file

$topics"""

_TOPICS = """\
```python
from spade_pyserini.corpora.topics import read_topics
from spade_pyserini.export.$engine import SEARCHER
$pisa_import
searcher = SEARCHER($name_literal$pisa_queries)
for topic in read_topics("TOPICS"):
    for hit in searcher.search(topic.text, 1000):
        print(topic.qid, hit.docid, hit.score)
```
"""


def _fill(template: str, engine: str) -> str:
    title, about = FOLDERS[engine]
    searcher = f"{engine.capitalize()}Searcher"
    return template.replace("SEARCHER", searcher).replace("TITLE", title).replace("ABOUT", about)


def _text(engine: str) -> str:
    title = FOLDERS[engine][0]
    return f"# $name for {title}\n\n$introduction\n{_fill(_SEARCH, engine)}"


TEXTS = readme_texts.TEXTS | {engine: _text(engine) for engine in FOLDERS}
TOPICS = readme_texts.TOPICS | {engine: _fill(_TOPICS, engine) for engine in FOLDERS}
QUERY_SUFFIXES = readme_texts.QUERY_SUFFIXES | dict.fromkeys(FOLDERS, "tsv")

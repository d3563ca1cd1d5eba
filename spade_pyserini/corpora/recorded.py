"""Record in a manifest how a corpus was opened, and open the corpus again to show its texts.

A record has the arguments of `open_corpus` and of `Segmentation.parse`; ``text_fields`` is a JSON
list. For example::

    {"corpus": "/data/texts.csv", "id_field": "sku", "segment": "250:125"}
"""

from __future__ import annotations

import json
from pathlib import Path

from spade_pyserini.corpora.catalogue import find_collection
from spade_pyserini.corpora.corpus import Corpus, open_corpus
from spade_pyserini.corpora.segment import Segmentation, segmented
from spade_pyserini.errors import NotFoundError


def record_source(corpus: Corpus) -> dict[str, str]:
    """Return the record with which `open_recorded` opens the corpus again.

    A local path in the record is absolute, and has no ``..``.
    """
    is_local = corpus.in_files and "://" not in corpus.source
    recorded = {"corpus": str(_absolute(Path(corpus.source))) if is_local else corpus.source}
    choice = corpus.choice
    for name, value in (("id_field", choice.id_field), ("title_field", choice.title_field)):
        if value is not None:
            recorded[name] = value
    if choice.text_fields:
        recorded["text_fields"] = json.dumps(choice.text_fields)
    return recorded | ({"segment": corpus.segment} if corpus.segment else {})


def _absolute(path: Path) -> Path:
    """Return an absolute path without ``..``; links are followed only if the path has ``..``.

    After a link, ``..`` is not the folder of the link, so it cannot simply be removed.
    """
    return path.resolve() if ".." in path.parts else path.absolute()


def open_recorded(recorded: dict[str, str]) -> Corpus:
    """Open a recorded corpus; raise `NotFoundError` if its files no longer exist."""
    name = recorded.get("corpus", "")
    if Path(name).is_absolute() and not Path(name).exists():
        raise NotFoundError(f"{name}: the corpus of this index is no longer there")
    corpus = open_corpus(
        name,
        id_field=recorded.get("id_field"),
        title_field=recorded.get("title_field"),
        text_fields=json.loads(recorded.get("text_fields", "[]")),
    )
    segment = recorded.get("segment")
    return segmented(corpus, Segmentation.parse(segment)) if segment else corpus


def open_local(name: str, data_dir: str | Path | None = None) -> Corpus | None:
    """Open a collection of the catalogue that is on this machine.

    Returns None if the collection is unknown, or if it must be downloaded first.
    """
    collection = find_collection(name)
    if collection is None or not (collection.name == "pydoc" or collection.folder(data_dir)):
        return None
    return open_corpus(name, data_dir=data_dir)

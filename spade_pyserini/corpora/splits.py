"""Find the topics and judgements of a collection by the name of a split.

``scifact/test`` is a split of the catalogue; the names that Pyserini and ir_datasets use for it
work, too.
``NAME/test`` is a split of a folder in the data directory. ``FOLDER/test`` is a split of any folder
in BEIR format: the files ``queries.jsonl`` and ``qrels/test.tsv``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spade_pyserini.corpora import irdatasets, pydoc
from spade_pyserini.corpora.catalogue import Collection, catalogue, find_split
from spade_pyserini.corpora.data_directory import (
    collection_folder,
    is_collection,
    local_collections,
)
from spade_pyserini.errors import NotFoundError

PASSAGE_LEVEL = 2  # TREC DL passages: grade 1 ("related") is not relevant in binary measures


@dataclass(frozen=True)
class Split:
    """Where the topics and judgements of a split are: in files, or in ir_datasets.

    name: used in file names, such as ``scifact-test``.
    queries: files of topics.
    qrels: files of judgements.
    dataset: ir_datasets' id, instead of files.
    relevance_level: the lowest grade that counts as relevant in binary measures.
    """

    name: str
    queries: tuple[Path, ...] = ()
    qrels: tuple[Path, ...] = ()
    dataset: str | None = None
    relevance_level: int = 1


def resolve_split(name: str | Path, *, data_dir: str | Path | None = None) -> Split | None:
    """Return the split called ``name``, or None if there is none.

    Raises `NotFoundError` if a collection's folder exists, but the split is not in it.
    """
    text = str(name)
    if text == "pydoc":
        return _pydoc_split(text, pydoc.SPLITS)
    if match := find_split(text):
        return _catalogue_split(*match, data_dir)
    parent, split = Path(text).parent, Path(text).name
    folder = collection_folder(str(parent), data_dir) or parent
    if is_collection(folder) and (folder / "qrels").is_dir():
        plain = f"{folder.resolve().name}-{split}"
        return _folder_split(folder, split, plain, _level(plain, split))
    if irdatasets.is_known(text):
        return Split(text.replace("/", "-"), dataset=text, relevance_level=_level(text, text))
    return None


def split_names(data_dir: str | Path | None = None) -> Iterator[str]:
    """Yield the names of all splits in the catalogue and in the data directory."""
    for collection in catalogue().values():
        for split in collection.splits:
            yield from collection.split_names(split)
    for name, folder in local_collections(data_dir).items():
        yield from (f"{name}/{path.stem}" for path in sorted((folder / "qrels").glob("*.tsv")))


def _level(collection: str, split: str) -> int:
    """The lowest grade that counts as relevant: 2 for the passages of TREC DL tracks, else 1."""
    is_passage = "msmarco" in collection and "doc" not in collection
    is_track = any(track in split for track in ("dl19", "dl20", "trec-dl-20"))
    return PASSAGE_LEVEL if is_passage and is_track else 1


def _catalogue_split(collection: Collection, split: str, data_dir: str | Path | None) -> Split:
    plain = f"{collection.name}-{split}"
    if collection.name == "pydoc":
        return _pydoc_split(plain, (split,))
    level = _level(collection.name, split)
    if folder := collection.folder(data_dir):
        return _folder_split(folder, split, plain, level)
    return Split(plain, dataset=collection.splits[split][0], relevance_level=level)


def _pydoc_split(name: str, splits: tuple[str, ...]) -> Split:
    return Split(
        name,
        tuple(pydoc.DATA / f"topics.pydoc-{split}.tsv" for split in splits),
        tuple(pydoc.DATA / f"qrels.pydoc-{split}.txt" for split in splits),
    )


def _folder_split(folder: Path, split: str, name: str, level: int) -> Split:
    qrels = folder / "qrels" / f"{split}.tsv"
    if not qrels.is_file():
        known = sorted(path.stem for path in (folder / "qrels").glob("*.tsv"))
        raise NotFoundError(f"{folder} has no split {split!r}; it has {', '.join(known) or 'none'}")
    for suffix in ("", ".gz"):
        queries = folder / f"queries.jsonl{suffix}"
        if queries.is_file():
            return Split(name, (queries,), (qrels,), relevance_level=level)
    raise NotFoundError(f"{folder} has neither queries.jsonl nor queries.jsonl.gz; add one of them")

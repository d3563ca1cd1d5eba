"""Write the files of queries, judgements and documents that `finetune` makes from tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from spade_pyserini.errors import OutputExistsError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.qrels import Qrels
from spade_pyserini.records import Topic

RESULTS = ("best", "checkpoint", "checkpoint.old", "finished")  # files of a run that trained


def write_inputs(contents: Mapping[Path, str], run: Path) -> None:
    """Write files into the folder of a run; ``contents`` has the text of each file by its path.

    Raises `OutputExistsError` if the run has results that were trained with other contents.
    """
    changed = [
        path
        for path, text in contents.items()
        if path.exists() and path.read_bytes() != text.encode()
    ]
    if changed and any((run / name).exists() for name in RESULTS):
        message = f"{run} was trained with other data: {changed[0]} would change"
        raise OutputExistsError(f"{message}; choose another output")
    for path, text in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as stream:
            stream.write(text.encode())


def topic_lines(topics: Iterable[Topic]) -> str:
    """Return lines ``id <tab> text``; line breaks and tabs in a text become spaces."""
    return "".join(f"{topic.qid}\t{' '.join(topic.text.split())}\n" for topic in topics)


def qrels_lines(qrels: Qrels) -> str:
    """Return lines in TREC's format: ``qid 0 docid grade``."""
    return "".join(
        f"{qid} 0 {docid} {grade}\n" for qid in qrels for docid, grade in qrels[qid].items()
    )

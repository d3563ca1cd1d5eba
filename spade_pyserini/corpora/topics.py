"""Reading topics in Pyserini's forms, plain or ``.gz``.

===================  =====================================================================
``.tsv``, ``.txt``   ``id <tab> text``
``.jsonl``           BEIR's ``{"_id": ..., "text": ...}`` or Anserini's ``{"qid", "query"}``
``.json``            ``{id: {"title": text}, ...}``
``.trec``            ``<top> <num> Number: 1 <title> text ... </top>``
===================  =====================================================================
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from spade_pyserini.corpora import irdatasets
from spade_pyserini.corpora.catalogue import nearest
from spade_pyserini.corpora.data_directory import find_file
from spade_pyserini.corpora.splits import resolve_split, split_names
from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.formats.files import (
    is_valid_unicode,
    read_json_file,
    read_json_object,
    read_lines,
)
from spade_pyserini.records import Topic

logger = logging.getLogger(__name__)


def read_topics(name: str | Path, *, data_dir: str | Path | None = None) -> list[Topic]:
    """The topics called ``name``, or those of a file, in their order.

    Names are those of splits, see `spade_pyserini.corpora.splits`: of a collection's queries, the
    ones with judgements. Ids that repeat or that a run cannot carry, and files without topics, are
    errors.
    """
    if path := find_file(name, data_dir):
        return list(_read_files([path]).values())
    split = resolve_split(name, data_dir=data_dir)
    if split is None:
        message = f"no topics or file is called {str(name)!r}"
        raise NotFoundError(f"{message}; {nearest(str(name), split_names(data_dir))}")
    if split.dataset:
        return list(irdatasets.topics(split.dataset))
    from spade_pyserini.corpora.qrels import read_qrels  # costs seconds, and files need it not

    topics = _read_files(list(split.queries))
    judged = read_qrels(name, data_dir=data_dir)
    found = [topic for topic in topics.values() if topic.qid in judged]
    if not found:
        raise InputError(f"no topic has judgements in {name}", split.queries[0])
    if missing := len(judged) - len(found):
        logger.warning("%s: %d of %d judged topics have no query", name, missing, len(judged))
    return found


def _read_files(files: list[Path]) -> dict[str, Topic]:
    topics: dict[str, Topic] = {}
    for path in files:
        for line, topic in _reader(path)(path):
            if not topic.qid or topic.qid.split() != [topic.qid] or not topic.qid.isprintable():
                raise InputError(f"the topic id {topic.qid!r} is not one word", path, line)
            if not is_valid_unicode(topic.text):
                message = "the text holds half of a surrogate pair (\\ud800 to \\udfff); repair it"
                raise InputError(message, path, line)
            if topic.qid in topics:
                message = f"the topic id {topic.qid!r} was used before; ids must be unique"
                raise InputError(message, path, line)
            topics[topic.qid] = topic
        if not topics:
            raise InputError("the file holds no topic", path)
    return topics


Reader = Callable[[Path], Iterator[tuple[int, Topic]]]


def topics_name(name: str | Path, *, data_dir: str | Path | None = None) -> str:
    """``dir/topics.dl19-passage.tsv.gz`` is called ``dl19-passage`` in the name of a run."""
    if not find_file(name, data_dir) and (split := resolve_split(name, data_dir=data_dir)):
        return split.name
    plain = Path(name).name
    for suffix in (".gz", ".tsv", ".txt", ".jsonl", ".json", ".trec"):
        plain = plain.removesuffix(suffix)
    return plain.removeprefix("topics.")


def _reader(path: Path) -> Reader:
    readers: dict[str, Reader] = {
        ".tsv": _read_tsv,
        ".txt": _read_tsv,
        ".jsonl": _read_jsonl,
        ".json": _read_json,
        ".trec": _read_trec,
    }
    suffix = Path(path.name.removesuffix(".gz")).suffix
    if suffix not in readers:
        known = ", ".join(readers)
        raise InputError(f"the name does not tell the form of topics; expected {known}", path)
    return readers[suffix]


def _read_tsv(path: Path) -> Iterator[tuple[int, Topic]]:
    for number, line in read_lines(path):
        if not line.strip():
            continue
        qid, tab, text = line.partition("\t")
        if not tab:
            raise InputError("expected `id <tab> text`, found no tab", path, number)
        yield number, Topic(qid.strip(), text.strip())


def _read_jsonl(path: Path) -> Iterator[tuple[int, Topic]]:
    for number, line in read_lines(path):
        if not line.strip():
            continue
        fields = read_json_object(line, path, number)
        qid = next((fields[key] for key in ("_id", "qid", "id") if key in fields), None)
        text = next((fields[key] for key in ("text", "query", "title") if key in fields), None)
        if not isinstance(qid, str | int) or isinstance(qid, bool) or not isinstance(text, str):
            message = "a topic needs its id in `_id` or `qid` and its text in `text` or `query`"
            raise InputError(message, path, number)
        yield number, Topic(str(qid), text.strip())


def _read_json(path: Path) -> Iterator[tuple[int, Topic]]:
    for number, (qid, fields) in enumerate(read_json_file(path).items(), start=1):
        text = fields.get("title") if isinstance(fields, dict) else None
        if not isinstance(text, str):
            raise InputError(f"topic {qid!r} has no `title`", path)
        yield number, Topic(qid, text.strip())


def _read_trec(path: Path) -> Iterator[tuple[int, Topic]]:
    """TREC's own: tags need not be closed, the title ends where the next tag begins."""
    whole = "\n".join(line for _, line in read_lines(path))
    for top in re.finditer(r"<top>(.*?)(</top>|(?=<top>)|\Z)", whole, flags=re.DOTALL):
        line = whole.count("\n", 0, top.start()) + 1
        if not top[2]:
            raise InputError("this <top> has no </top>", path, line)
        qid = re.search(r"<num>\s*(?:Number:)?\s*([^\s<]+)", top[1])
        title = re.search(r"<title>\s*(?:Topic:)?(.*?)(?=</?[A-Za-z]|\Z)", top[1], re.DOTALL)
        if not qid or not title:
            raise InputError("a topic needs <num> and <title>", path, line)
        yield line, Topic(qid[1], " ".join(title[1].split()))

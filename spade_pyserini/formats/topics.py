"""Read files of topics in usual formats, plain or compressed.

===================  =====================================================================
``.tsv``, ``.txt``   ``id <tab> text``
``.jsonl``           BEIR's ``{"_id": ..., "text": ...}`` or Anserini's ``{"qid", "query"}``
``.json``            ``{id: {"title": text}, ...}``
``.trec``            ``<top> <num> Number: 1 <title> text ... </top>``
===================  =====================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from spade_pyserini.errors import InputError
from spade_pyserini.formats.ids import id_problem
from spade_pyserini.formats.json_files import read_json_file, read_json_object
from spade_pyserini.formats.lines import PACKED, read_lines, unpacked_name
from spade_pyserini.formats.unicode import SURROGATE, is_valid_unicode
from spade_pyserini.records import Topic

TABLES = (".csv", ".parquet")  # read by `spade_pyserini.corpora.topic_tables`
Reader = Callable[[Path], Iterator[tuple[int | None, Topic]]]
"""A function that reads a file and yields a pair for each topic: (line number or None, topic)."""


def read_topic_files(paths: Iterable[Path], read: Reader | None = None) -> list[Topic]:
    """Check the ids and texts of the topics in all files; return the topics in their order.

    ``read`` is the function that reads a file. By default, the suffix of the file name determines
    how the file is read.
    """
    topics: dict[str, Topic] = {}
    for path in paths:
        before = len(topics)
        for line, topic in (read or _reader(path))(path):
            if problem := id_problem(topic.qid):
                raise InputError(f"topic: {problem}", path, line)
            if not is_valid_unicode(topic.text):
                raise InputError(f"topic {topic.qid!r} contains {SURROGATE}", path, line)
            if topic.qid in topics:
                message = f"the topic id {topic.qid!r} was used before; ids must be unique"
                raise InputError(message, path, line)
            topics[topic.qid] = topic
        if len(topics) == before:
            raise InputError("the file contains no topic", path)
    return list(topics.values())


def topic_file_stem(path: Path) -> str:
    """Return a short name: ``dir/topics.dl19-passage.tsv.gz`` gives ``dl19-passage``."""
    stem = unpacked_name(path)
    for suffix in (*READERS, *TABLES):
        stem = stem.removesuffix(suffix)
    return stem.removeprefix("topics.")


def _reader(path: Path) -> Reader:
    suffix = Path(unpacked_name(path)).suffix
    if suffix not in READERS:
        known = ", ".join((*READERS, *TABLES))
        message = f"unknown format of topics: the file name must end in {known}"
        raise InputError(f"{message}, plain or compressed ({', '.join(PACKED)})", path)
    return READERS[suffix]


def _read_tsv(path: Path) -> Iterator[tuple[int, Topic]]:
    for number, line in read_lines(path):
        if not line.strip():
            continue
        qid, tab, text = line.partition("\t")
        if not tab:
            cure = "for queries without ids, use a .csv file whose first line is `query`"
            raise InputError(f"expected `id <tab> text`, found no tab; {cure}", path, number)
        yield number, Topic(qid.strip(), text.strip())


def _read_jsonl(path: Path) -> Iterator[tuple[int, Topic]]:
    for number, line in read_lines(path):
        if not line.strip():
            continue
        fields = read_json_object(line, path, number)
        qid = next((fields[key] for key in ("_id", "qid", "query_id", "id") if key in fields), None)
        keys = ("text", "query", "question", "title")
        text = next((fields[key] for key in keys if key in fields), None)
        if not isinstance(qid, str | int) or isinstance(qid, bool) or not isinstance(text, str):
            message = "a topic needs its id in `_id` or `qid` and its text in `text` or `query`"
            raise InputError(message, path, number)
        yield number, Topic(str(qid), text.strip())


def _read_json(path: Path) -> Iterator[tuple[None, Topic]]:
    for qid, fields in read_json_file(path).items():
        text = fields.get("title") if isinstance(fields, dict) else None
        if not isinstance(text, str):
            raise InputError(f"topic {qid!r} has no `title`", path)
        yield None, Topic(qid, text.strip())


def _read_trec(path: Path) -> Iterator[tuple[int, Topic]]:
    """Read TREC's format: tags in <top> need not be closed; the title ends at the next tag."""
    contents = "\n".join(line for _, line in read_lines(path))
    for top in re.finditer(r"<top>(.*?)(</top>|(?=<top>)|\Z)", contents, flags=re.DOTALL):
        line = contents.count("\n", 0, top.start()) + 1
        if not top[2]:
            raise InputError("this <top> has no </top>", path, line)
        qid = re.search(r"<num>\s*(?:Number:)?\s*([^\s<]+)", top[1])
        title = re.search(r"<title>\s*(?:Topic:)?(.*?)(?=</?[A-Za-z]|\Z)", top[1], re.DOTALL)
        if not qid or not title:
            raise InputError("a topic needs <num> and <title>", path, line)
        yield line, Topic(qid[1], " ".join(title[1].split()))


READERS: dict[str, Reader] = {
    ".tsv": _read_tsv,
    ".txt": _read_tsv,
    ".jsonl": _read_jsonl,
    ".json": _read_json,
    ".trec": _read_trec,
}
